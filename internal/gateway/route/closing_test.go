package route

import (
	"net/http"
	"strings"
	"testing"
)

// closingCase gives Closing a request and a bound for its answer, and wants the body that Closing returns; "" if it must fail.
type closingCase struct {
	preset, path, body string
	most               int64
	want               string
}

// TestClosing: the model may call no tool in a closing request, is told so, and its answer is as short as it has to be. Where an API
// has no such form there is none.
func TestClosing(t *testing.T) {
	const words = `"` + lastWords + `"`
	for name, c := range map[string]closingCase{
		"messages": {
			"anthropic", "/v1/messages", `{"model":"m","max_tokens":9000,"messages":[{"role":"user","content":"x"}],"tools":[{"name":"t","input_schema":{}}],"tool_choice":{"type":"any"}}`, 4000,
			`{"model":"m","max_tokens":4000,"messages":[{"role":"user","content":"x"},{"role":"user","content":` + words + `}],"tools":[{"name":"t","input_schema":{}}],"tool_choice":{"type":"none"}}`,
		},
		"messages without tools": {
			"anthropic", "/v1/messages", `{"model":"m","max_tokens":9000,"messages":[{"role":"user","content":"x"}]}`, 0,
			`{"model":"m","max_tokens":9000,"messages":[{"role":"user","content":"x"},{"role":"user","content":` + words + `}]}`,
		},
		"a thought that is longer": {
			"anthropic", "/v1/messages", `{"model":"m","max_tokens":9000,"thinking":{"type":"enabled","budget_tokens":4000},"messages":[{"role":"user","content":"x"}]}`, 4000, "",
		},
		"no messages": {"anthropic", "/v1/messages", `{"model":"m","max_tokens":9000,"messages":[]}`, 0, ""},
		"responses": {
			"openai", "/v1/responses", `{"model":"m","input":"x","tools":[{"type":"function","name":"t"}],"store":false}`, 4000,
			`{"model":"m","input":[{"type":"message","role":"user","content":"x"},{"type":"message","role":"developer","content":[{"type":"input_text","text":` + words + `}]}],"tools":[{"type":"function","name":"t"}],"store":false,"tool_choice":"none","max_output_tokens":4000}`,
		},
		"responses with tools in the input": {
			"openai", "/v1/responses", `{"model":"m","input":[{"role":"user","content":"x"}],"tool_choice":"auto","store":false}`, 0,
			`{"model":"m","input":[{"role":"user","content":"x"},{"type":"message","role":"developer","content":[{"type":"input_text","text":` + words + `}]}],"tool_choice":"none","store":false}`,
		},
		"a conversation that is made shorter":       {"codex-login", "/v1/responses/compact", `{"model":"m","input":[{"role":"user","content":"x"}],"store":false}`, 0, ""},
		"a login that takes no length":              {"codex-login", "/v1/responses", `{"model":"m","input":[{"role":"user","content":"x"}],"store":false}`, 4000, ""},
		"chat whose server may not read the length": {"compatible", "/v1/chat/completions", `{"model":"m","max_completion_tokens":9,"messages":[{"role":"user","content":"x"}]}`, 4000, ""},
		"chat": {
			"openai-chat", "/v1/chat/completions", `{"model":"m","n":2,"max_completion_tokens":9000,"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function"}]}`, 4000,
			`{"model":"m","n":2,"max_completion_tokens":2000,"messages":[{"role":"user","content":"x"},{"role":"user","content":` + words + `}],"tools":[{"type":"function"}],"tool_choice":"none"}`,
		},
		"chat with two lengths": {
			"compatible", "/v1/chat/completions", `{"model":"m","max_tokens":9000,"max_completion_tokens":8000,"messages":[{"role":"user","content":"x"}]}`, 4000,
			`{"model":"m","max_tokens":4000,"max_completion_tokens":4000,"messages":[{"role":"user","content":"x"},{"role":"user","content":` + words + `}]}`,
		},
		"chat with a length of no tokens": {
			"compatible", "/v1/chat/completions", `{"model":"m","max_tokens":0,"max_completion_tokens":100000,"messages":[{"role":"user","content":"x"}]}`, 4000,
			`{"model":"m","max_tokens":4000,"max_completion_tokens":4000,"messages":[{"role":"user","content":"x"},{"role":"user","content":` + words + `}]}`,
		},
		"more choices than tokens": {
			"compatible", "/v1/chat/completions", `{"model":"m","n":9,"max_tokens":100,"messages":[{"role":"user","content":"x"}]}`, 8, "",
		},
		"chat without a length": {"compatible", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"x"}]}`, 4000, ""},
		"chat with functions": {
			"compatible", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"x"}],"functions":[{"name":"f"}]}`, 0,
			`{"model":"m","messages":[{"role":"user","content":"x"},{"role":"user","content":` + words + `}],"functions":[{"name":"f"}],"function_call":"none"}`,
		},
		"google": {
			"google", "/v1beta/models/m:generateContent", `{"contents":[{"role":"user","parts":[{"text":"x"}]}],"generation_config":{"maxOutputTokens":9000},"tools":[{"functionDeclarations":[]}]}`, 4000,
			`{"contents":[{"role":"user","parts":[{"text":"x"}]},{"role":"user","parts":[{"text":` + words + `}]}],"generation_config":{"maxOutputTokens":4000},"tools":[{"functionDeclarations":[]}],"toolConfig":{"functionCallingConfig":{"mode":"NONE"}}}`,
		},
		"bedrock": {
			"bedrock", "/model/anthropic.m/invoke", `{"max_tokens":9000,"messages":[{"role":"user","content":"x"}],"tools":[{"name":"t"}]}`, 4000,
			`{"max_tokens":4000,"messages":[{"role":"user","content":"x"},{"role":"user","content":` + words + `}],"tools":[{"name":"t"}],"tool_choice":{"type":"none"}}`,
		},
		"converse":       {"bedrock", "/model/anthropic.m/converse", `{"messages":[{"role":"user","content":[{"text":"x"}]}]}`, 0, ""},
		"another vendor": {"bedrock", "/model/other.m/invoke", `{"prompt":"x"}`, 0, ""},
	} {
		t.Run(name, c.check)
	}
}

func (c closingCase) check(t *testing.T) {
	r := closingRoute(t, c.preset)
	e, err := r.Decide(Request{Method: http.MethodPost, Path: c.path, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(c.body)})
	if err != nil {
		t.Fatal(err)
	}
	closing, err := r.Closing(e, c.most)
	switch {
	case c.want == "" && err == nil:
		t.Errorf("there is one: %s", closing.Body)
	case c.want == "":
	case err != nil || string(closing.Body) != c.want:
		t.Errorf("%v\n%s, want\n%s", err, closing.Body, c.want)
	case c.most > 0 && closing.MaxOutput != c.most:
		t.Errorf("its answer may have %d tokens", closing.MaxOutput)
	case len(closing.Body) > len(e.Body)+ClosingSize:
		t.Errorf("it is longer by %d bytes", len(closing.Body)-len(e.Body))
	}
	if string(e.Body) == string(closing.Body) || strings.Contains(string(e.Body), lastWords) {
		if c.want != "" {
			t.Error("the request itself was changed")
		}
	}
}

func closingRoute(t testing.TB, preset string) *Route {
	t.Helper()
	said := map[string]any{"preset": preset}
	switch preset {
	case "compatible":
		said["upstream"] = "https://models.example.com/v1"
	case "bedrock":
		said["upstream"] = "https://bedrock-runtime.us-east-1.amazonaws.com"
	}
	r, err := Parse("r", said)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
