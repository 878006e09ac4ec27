package route

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestToolsOfTheUpstream: those that run elsewhere are taken out, wherever a request has tools, and stay where the route's reach
// names them.
func TestToolsOfTheUpstream(t *testing.T) {
	for name, test := range map[string]struct {
		preset, target, sent, leaves string
		dropped                      []string
	}{
		"no tool": {"anthropic", "/v1/messages", `{"model":"m","tools":[]}`, `{"model":"m","tools":[]}`, nil},
		"nothing to take": {
			"anthropic", "/v1/messages", `{ "model":"m", "tools":[{"name":"Bash"},{"type":"bash_20250124"}]}`,
			`{ "model":"m", "tools":[{"name":"Bash"},{"type":"bash_20250124"}]}`, nil,
		},
		"one of two": {
			"anthropic", "/v1/messages", `{"model":"m","tools":[{"type":"web_fetch_20250910"},{"name":"a"}],"top_p":1.50}`,
			`{"model":"m","tools":[{"name":"a"}],"top_p":1.50}`,
			[]string{"web_fetch_20250910"},
		},
		"all": {
			"anthropic", "/v1/messages", `{"model":"m","tools":[{"type":"web_search_20250305"}],"tool_choice":{"type":"any"}}`,
			`{"model":"m"}`,
			[]string{"web_search_20250305"},
		},
		"servers": {
			"anthropic", "/v1/messages", `{"model":"m","mcp_servers":[{"url":"https://evil.example"}],"tools":[{"type":"mcp_toolset"}]}`,
			`{"model":"m"}`,
			[]string{"mcp_servers", "mcp_toolset"},
		},
		"a price": {
			"anthropic", "/v1/messages", `{"service_tier":"priority","model":"m","speed":"fast"}`,
			`{"model":"m"}`,
			[]string{"service_tier", "speed"},
		},
		"the usual price": {"anthropic", "/v1/messages", `{"service_tier":"auto","model":"m"}`, `{"service_tier":"auto","model":"m"}`, nil},
		"openai":          {"openai", "/v1/responses", `{"model":"m","tools":[{"type":"function","name":"f"},{"type":"mcp","server_url":"x"}]}`, `{"model":"m","tools":[{"type":"function","name":"f"}]}`, []string{"mcp"}},
		"in a namespace": {
			"openai", "/v1/responses", `{"model":"m","tools":[{"type":"namespace","tools":[{"type":"web_search"},{"type":"function"}]}]}`,
			`{"model":"m","tools":[{"type":"namespace","tools":[{"type":"function"}]}]}`,
			[]string{"web_search"},
		},
		"among the items": {
			"openai", "/v1/responses", `{"model":"m","input":[{"type":"additional_tools","tools":[{"type":"web_search"},{"type":"custom"}]},"x"]}`,
			`{"model":"m","input":[{"type":"additional_tools","tools":[{"type":"custom"}]},"x"]}`,
			[]string{"web_search"},
		},
		"a stored prompt": {"openai", "/v1/responses", `{"prompt":{"id":"p"},"model":"m"}`, `{"model":"m"}`, []string{"prompt"}},
		"other models":    {"openrouter", "/v1/chat/completions", `{"model":"m","models":["dear"],"plugins":[{"id":"web"}]}`, `{"model":"m"}`, []string{"models", "plugins"}},
		"google": {
			"google", "/v1beta/models/m:generateContent", `{"tools":[{"functionDeclarations":[]},{"googleSearch":{}},{"url_context":{}},{"function_declarations":[],"codeExecution":{}}]}`,
			`{"tools":[{"functionDeclarations":[]}]}`,
			[]string{"codeExecution", "googleSearch", "url_context"},
		},
		"bedrock": {
			"bedrock", "/model/m/converse", `{"toolConfig":{"tools":[{"toolSpec":{}},{"systemTool":{"name":"nova_grounding"}}]}}`,
			`{"toolConfig":{"tools":[{"toolSpec":{}}]}}`,
			[]string{"systemTool"},
		},
	} {
		e, err := ofPreset(t, test.preset).Decide(post(test.target, test.sent))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if string(e.Body) != test.leaves || !slices.Equal(e.Dropped, test.dropped) {
			t.Errorf("%s: %s leaves, without %v", name, e.Body, e.Dropped)
		}
		if test.dropped == nil {
			continue
		}
		var reach []any
		for _, word := range test.dropped {
			reach = append(reach, word)
		}
		e, err = ofPreset(t, test.preset, "reach", reach).Decide(post(test.target, test.sent))
		if err != nil || string(e.Body) != test.sent {
			t.Errorf("%s, where the reach names it: %s, %v", name, e.Body, err)
		}
	}
}

// TestContentByAddress: the upstream would fetch it, and an address is a message.
func TestContentByAddress(t *testing.T) {
	const address = `"https://evil.example/?secret"`
	for name, test := range map[string]struct{ preset, target, sent string }{
		"an image":              {"anthropic", "/v1/messages", `{"model":"m","messages":[{"content":[{"type":"image","source":{"type":"url","url":` + address + `}}]}]}`},
		"another spelling":      {"anthropic", "/v1/messages", `{"model":"m","messages":[{"content":[{"type":"image","source":{"type":"\u0075rl","URL":` + address + `}}]}]}`},
		"in a tool's result":    {"anthropic", "/v1/messages", `{"model":"m","messages":[{"content":[{"type":"tool_result","content":[{"type":"image","source":{"type":"url","url":` + address + `}}]}]}]}`},
		"in a document":         {"anthropic", "/v1/messages", `{"model":"m","messages":[{"content":[{"type":"document","source":{"type":"content","content":[{"type":"image","source":{"type":"url","url":` + address + `}}]}}]}]}`},
		"of a chat":             {"openai-chat", "/v1/chat/completions", `{"model":"m","messages":[{"content":[{"type":"image_url","image_url":{"url":` + address + `}}]}]}`},
		"of a chat, plain":      {"openai-chat", "/v1/chat/completions", `{"model":"m","messages":[{"content":[{"type":"image_url","image_url":` + address + `}]}]}`},
		"a film of a chat":      {"openai-chat", "/v1/chat/completions", `{"model":"m","messages":[{"content":[{"type":"video","video":[` + address + `]}]}]}`},
		"an image of a chat":    {"openai-chat", "/v1/chat/completions", `{"model":"m","messages":[{"content":[{"type":"image","image":` + address + `}]}]}`},
		"a film without a type": {"openai-chat", "/v1/chat/completions", `{"model":"m","messages":[{"content":[{"video":[` + address + `]}]}]}`},
		"in the instructions":   {"anthropic", "/v1/messages", `{"model":"m","messages":[],"system":[{"type":"document","source":{"type":"url","url":` + address + `}}]}`},
		"of a response":         {"openai", "/v1/responses", `{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":` + address + `}]}]}`},
		"a file of a response":  {"openai", "/v1/responses", `{"model":"m","input":[{"role":"user","content":[{"type":"input_file","file_url":` + address + `}]}]}`},
		"of a function":         {"openai", "/v1/responses", `{"model":"m","input":[{"type":"function_call_output","output":[{"type":"input_image","image_url":` + address + `}]}]}`},
		"of a computer":         {"openai", "/v1/responses", `{"model":"m","input":[{"type":"computer_call_output","output":{"image_url":` + address + `}}]}`},
		"google":                {"google", "/v1beta/models/m:generateContent", `{"contents":[{"parts":[{"fileData":{"fileUri":` + address + `}}]}]}`},
		"google, one":           {"google", "/v1beta/models/m:generateContent", `{"contents":{"parts":{"file_data":{"file_uri":` + address + `}}}}`},
		"google, its system":    {"google", "/v1beta/models/m:generateContent", `{"systemInstruction":{"parts":[{"fileData":{"fileUri":` + address + `}}]}}`},
		"bedrock":               {"bedrock", "/model/m/converse", `{"messages":[{"content":[{"image":{"source":{"s3Location":{"uri":"s3://x"}}}}]}]}`},
		"bedrock's tool result": {"bedrock", "/model/m/converse", `{"messages":[{"content":[{"toolResult":{"content":[{"document":{"source":{"s3Location":{"uri":"s3://x"}}}}]}}]}]}`},
	} {
		_, err := ofPreset(t, test.preset).Decide(post(test.target, test.sent))
		if err == nil {
			t.Errorf("%s passes", name)
		} else if r := refusal(t, err); r.Code != CodeReach || r.Status != http.StatusBadRequest {
			t.Errorf("%s: %s %s", name, r.Code, r.Text)
		}
		if _, err := ofPreset(t, test.preset, "reach", []any{"urls"}).Decide(post(test.target, test.sent)); err != nil {
			t.Errorf("%s, where the reach has it: %v", name, err)
		}
	}
	for name, test := range map[string]struct{ preset, target, sent string }{
		"a tool's input": {"anthropic", "/v1/messages", `{"model":"m","messages":[{"content":[{"type":"tool_use","input":{"image_url":` + address + `,"source":{"type":"url"}}}]}]}`},
		"a citation":     {"openai", "/v1/responses", `{"model":"m","input":[{"role":"user","content":[{"type":"output_text","annotations":[{"url":` + address + `}]}]}]}`},
		"data":           {"openai-chat", "/v1/chat/completions", `{"model":"m","messages":[{"content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}]}]}`},
		"a text":         {"openai-chat", "/v1/chat/completions", `{"model":"m","messages":[{"content":` + address + `}]}`},
	} {
		if _, err := ofPreset(t, test.preset).Decide(post(test.target, test.sent)); err != nil {
			t.Errorf("%s is refused: %v", name, err)
		}
	}
}

// TestWorkThatGoesOn is refused: the run's end could not end it.
func TestWorkThatGoesOn(t *testing.T) {
	for _, value := range []string{"true", `"true"`, "1", "{}"} {
		_, err := ofPreset(t, "openai").Decide(post("/v1/responses", `{"model":"m","background":`+value+`}`))
		if err == nil || refusal(t, err).Code != CodeReach {
			t.Errorf("%s: %v", value, err)
		}
	}
	if _, err := ofPreset(t, "openai").Decide(post("/v1/responses", `{"model":"m","background":false}`)); err != nil {
		t.Error(err)
	}
}

// TestOneModel: the model that is allowed is the one that runs, in every reading of the body.
func TestOneModel(t *testing.T) {
	models := []any{"good", "fine-*"}
	for name, test := range map[string]struct{ preset, target, sent string }{
		"another":               {"anthropic", "/v1/messages", `{"model":"dear"}`},
		"none":                  {"anthropic", "/v1/messages", `{}`},
		"null":                  {"anthropic", "/v1/messages", `{"model":null}`},
		"a list":                {"anthropic", "/v1/messages", `{"model":["good","dear"]}`},
		"twice":                 {"anthropic", "/v1/messages", `{"model":"good","model":"dear"}`},
		"twice, other case":     {"anthropic", "/v1/messages", `{"model":"good","Model":"dear"}`},
		"twice, with a line":    {"anthropic", "/v1/messages", `{"model":"good","_model":"dear"}`},
		"twice, escaped":        {"anthropic", "/v1/messages", `{"model":"good","m\u006fdel":"dear"}`},
		"twice, not ASCII":      {"anthropic", "/v1/messages", `{"model":"good","mo` + "\u0501" + `el":"dear"}`},
		"after the end":         {"anthropic", "/v1/messages", `{"model":"good"}{"model":"dear"}`},
		"in a comment":          {"anthropic", "/v1/messages", `{"model":"good"/*,"model":"dear"*/}`},
		"a comma too many":      {"anthropic", "/v1/messages", `{"model":"good",}`},
		"a mark of order":       {"anthropic", "/v1/messages", "\ufeff" + `{"model":"good"}`},
		"UTF-16":                {"anthropic", "/v1/messages", "\x00{\x00}"},
		"not UTF-8":             {"anthropic", "/v1/messages", `{"model":"good","x":"` + "\xff" + `"}`},
		"a list as body":        {"anthropic", "/v1/messages", `[{"model":"good"}]`},
		"nothing":               {"anthropic", "/v1/messages", ``},
		"a path":                {"openai", "/v1/responses", `{"model":"good/../dear"}`},
		"a line":                {"openai", "/v1/responses", `{"model":"good\nx"}`},
		"not of the beginning":  {"openai", "/v1/responses", `{"model":"xfine-1"}`},
		"of the path":           {"google", "/v1beta/models/dear:generateContent", `{}`},
		"of path and body":      {"google", "/v1beta/models/good:generateContent", `{"model":"models/dear"}`},
		"of path and a null":    {"google", "/v1beta/models/good:generateContent", `{"Model":null}`},
		"of bedrock, by number": {"bedrock", "/model/arn%3Aaws%3Abedrock%3Ax%2Fdear/invoke", `{}`},
		"that searches":         {"openrouter", "/v1/chat/completions", `{"model":"fine-1:online"}`},
		"that searches, first":  {"openrouter", "/v1/chat/completions", `{"model":"fine-1:Online:floor"}`},
		"of a stored preset":    {"openrouter", "/v1/chat/completions", `{"model":"fine-1@preset/dear"}`},
	} {
		if e, err := ofPreset(t, test.preset, "models", models).Decide(post(test.target, test.sent)); err == nil {
			t.Errorf("%s passes: %s", name, e.Body)
		}
	}
	for _, name := range []string{"a/../b", `a\nb`, "a b", "a?b", "", strings.Repeat("a", 300), "\u00e4", ".."} {
		if _, err := ofPreset(t, "anthropic").Decide(post("/v1/messages", `{"model":"`+name+`"}`)); err == nil {
			t.Errorf("the model %q passes where every model does", name)
		}
	}
	for _, name := range []string{"good", "fine-1"} {
		e, err := ofPreset(t, "anthropic", "models", models).Decide(post("/v1/messages", `{"model":"`+name+`"}`))
		if err != nil || e.Model != name {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestModelsAreRenamed: in the body and in the path, and all else stays as it lies.
func TestModelsAreRenamed(t *testing.T) {
	names := map[string]any{"a-*": "b/c", "a-1": "one", "*": "rest:x"}
	for sent, want := range map[string]string{"a-1": "one", "a-2": "b/c", "z": "rest:x"} {
		e, err := ofPreset(t, "openai", "models", names).Decide(post("/v1/responses", `{ "top_p": 1e5, "model" : "`+sent+`", "input":[ ]}`))
		if err != nil || string(e.Body) != `{"top_p":1e5,"model":"`+want+`","input":[ ]}` || e.Model != want {
			t.Errorf("%s: %s, %v", sent, e.Body, err)
		}
		e, err = ofPreset(t, "google", "models", names).Decide(post("/v1beta/models/"+sent+":generateContent", `{}`))
		escaped := strings.NewReplacer("/", "%2F", ":", "%3A").Replace(want)
		if err != nil || !strings.HasSuffix(e.URL.String(), "/v1beta/models/"+escaped+":generateContent") || e.Model != want {
			t.Errorf("%s: %s, %v", sent, e.URL, err)
		}
	}
}

// TestWhatABodySays: the length of an answer, whether it is a stream, whether its usage is asked for.
func TestWhatABodySays(t *testing.T) {
	for _, test := range []struct {
		preset, target, sent string
		most                 int64
		stream               bool
	}{
		{"anthropic", "/v1/messages", `{"model":"m","max_tokens":7,"stream":true}`, 7, true},
		{"openai", "/v1/responses", `{"model":"m","max_output_tokens":7}`, 7, false},
		{"openai", "/v1/responses", `{"model":"m","stream":null}`, 0, false},
		{"openai-chat", "/v1/chat/completions", `{"model":"m","max_tokens":7,"max_completion_tokens":9,"n":3}`, 27, false},
		{"openai-chat", "/v1/chat/completions", `{"model":"m","max_completion_tokens":9}`, 9, false},
		{"compatible", "/v1/chat/completions", `{"model":"m","max_completion_tokens":9}`, 0, false}, // its server may not heed it
		{"compatible", "/v1/chat/completions", `{"model":"m","max_completion_tokens":9,"max_tokens":7}`, 9, false},
		{"compatible", "/v1/chat/completions", `{"model":"m","max_completion_tokens":9,"max_tokens":0}`, 0, false}, // 0 may mean no bound
		{"google", "/v1beta/models/m:generateContent", `{"generation_config":{"max_output_tokens":7,"candidateCount":2}}`, 14, false},
		{"google", "/v1beta/models/m:streamGenerateContent?alt=sse", `{}`, 0, true},
		{"bedrock", "/model/m/converse-stream", `{"inferenceConfig":{"maxTokens":7}}`, 7, true},
		{"bedrock", "/model/anthropic.m/invoke", `{"max_tokens":7}`, 7, false},
		{"bedrock", "/model/other.m/invoke", `{"max_tokens":7}`, 0, false}, // its vendor does not heed it
	} {
		e, err := ofPreset(t, test.preset).Decide(post(test.target, test.sent))
		if err != nil || e.MaxOutput != test.most || e.Stream != test.stream {
			t.Errorf("%s %s: %d, %v, %v", test.preset, test.sent, e.MaxOutput, e.Stream, err)
		}
	}
	for _, sent := range []string{
		`"max_tokens":-1`, `"max_tokens":1.5`, `"max_tokens":1e3`, `"max_tokens":"7"`, `"max_tokens":99999999999999`, `"max_tokens":[7]`,
		`"max_tokens":1,"maxTokens":2`, `"n":1000,"max_tokens":1`, `"n":2`, `"n":"2"`, `"stream":"true"`, `"stream":1`, `"tools":{}`, `"tools":[1]`,
		`"tools":[{"type":["x"]}]`, `"stream":true,"stream_options":1`, `"messages":[{"content":[{"a":1,"A":1}]}]`,
	} {
		if e, err := ofPreset(t, "openai-chat").Decide(post("/v1/chat/completions", `{"model":"m",`+sent+`}`)); err == nil {
			t.Errorf("%s passes: %+v", sent, e)
		}
	}
	e, err := ofPreset(t, "openai-chat").Decide(post("/v1/chat/completions", `{"model":"m","stream":true,"stream_options":{"include_usage":false,"x":1}}`))
	if err != nil || !strings.Contains(string(e.Body), `{"include_usage":true,"x":1}`) {
		t.Errorf("%s, %v", e.Body, err)
	}
	e, err = ofPreset(t, "openai-chat").Decide(post("/v1/chat/completions", `{"model":"m","stream":true}`))
	if err != nil || string(e.Body) != `{"model":"m","stream":true,"stream_options":{"include_usage":true}}` {
		t.Errorf("%s, %v", e.Body, err)
	}
}

// TestBodiesWithoutAnEnd: what a child sends to make us work.
func TestBodiesWithoutAnEnd(t *testing.T) {
	r := ofPreset(t, "anthropic", "max_body", 1<<20)
	deep := strings.Repeat(`{"content":[`, 1000) + strings.Repeat(`]}`, 1000)
	for name, body := range map[string]string{
		"large":        `{"model":"m","x":"` + strings.Repeat("x", 1<<20) + `"}`,
		"many members": `{"model":"m"` + strings.Repeat(`,"x":1`, 300) + `}`,
		"deep":         `{"model":"m","messages":[` + deep + `]}`,
		"deeper":       strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000),
		"long tools":   `{"model":"m","tools":[` + strings.Repeat(`{},`, 1<<17) + `{}]}`,
		"deep tools":   `{"model":"m","tools":[` + strings.Repeat(`{"tools":[`, 20) + strings.Repeat(`]}`, 20) + `]}`,
	} {
		_, err := r.Decide(post("/v1/messages", body))
		if err == nil {
			t.Errorf("%s passes", name)
		} else if text := refusal(t, err).Text; len(text) > 300 {
			t.Errorf("%s is told in %d bytes", name, len(text))
		}
	}
}

// TestRefusalsInEachForm are what a client of the API expects.
func TestRefusalsInEachForm(t *testing.T) {
	r := Refusal{Status: 400, Code: CodeBudget, Text: `the "budget" is spent`}
	for api, path := range map[API][]string{
		Anthropic: {"error", "message"}, OpenAIResponses: {"error", "message"}, OpenAIChat: {"error", "message"}, Google: {"error", "message"},
		Bedrock: {"message"}, Plain: {"error"},
	} {
		var body any
		if err := json.Unmarshal(api.RefusalBody(r), &body); err != nil {
			t.Fatal(err)
		}
		for _, key := range path {
			body = body.(map[string]any)[key]
		}
		if body != r.Text {
			t.Errorf("%s: %s", api, api.RefusalBody(r))
		}
	}
}
