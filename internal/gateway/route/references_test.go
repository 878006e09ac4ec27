package route

import (
	"net/http"
	"testing"
)

// items are of the Responses API.
func items(all string) Request { return post("/v1/responses", `{"model":"m","input":[`+all+`]}`) }

// TestReferencesInDisguise: an item is content if it is of a type that we know, and has what that type's content
// is in. One member more, one that is null, and a key in another spelling do not make content of a reference.
func TestReferencesInDisguise(t *testing.T) {
	for name, item := range map[string]string{
		"one member more":       `{"type":"item_reference","id":"msg_1","note":"x"}`,
		"a role":                `{"type":"item_reference","id":"msg_1","role":"user","content":"x"}`,
		"another case":          `{"type":"Item_Reference","id":"msg_1","x":1}`,
		"a space":               `{"type":"item_reference ","id":"msg_1","x":1}`,
		"escaped":               `{"type":"item\u005freference","id":"msg_1","x":1}`,
		"the type null":         `{"type":null,"id":"msg_1","x":1}`,
		"without a type":        `{"id":"msg_1","x":1}`,
		"the type elsewhere":    `{"Type":"message","id":"msg_1","role":"user","content":"x"}`,
		"no text":               `{"type":["message"],"id":"msg_1","role":"user","content":"x"}`,
		"content null":          `{"id":"msg_1","role":"user","content":null}`,
		"content misspelt":      `{"id":"msg_1","role":"user","Content":"x"}`,
		"role misspelt":         `{"id":"msg_1","Role":"user","content":"x"}`,
		"a message without any": `{"type":"message","id":"msg_1","role":"assistant"}`,
		"an image without any":  `{"type":"image_generation_call","id":"ig_1","result":null}`,
		"an image, one more":    `{"type":"image_generation_call","id":"ig_1","prompt":"x"}`,
		"thoughts without any":  `{"type":"reasoning","id":"rs_1","summary":[]}`,
		"thoughts empty":        `{"type":"reasoning","id":"rs_1","content":[ ],"encrypted_content":""}`,
		"an image, empty":       `{"type":"image_generation_call","id":"ig_1","result":""}`,
		"a summary, empty":      `{"type":"compaction","id":"cmp_1","encrypted_content":""}`,
		"thoughts null":         `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":null}`,
		"one of tomorrow":       `{"type":"thread_reference","thread":"thread_1"}`,
		"its name in a part":    `{"role":"user","content":[{"type":"input_text","id":"part_1","x":1}]}`,
		"a file, another case":  `{"role":"user","content":[{"type":"input_file","FileID":"file_1"}]}`,
	} {
		if e, err := ofPreset(t, "openai").Decide(items(item)); err == nil {
			t.Errorf("%s: %s leaves", name, e.Body)
		} else if r := refusal(t, err); r.Code != CodeReach || r.Status != http.StatusBadRequest {
			t.Errorf("%s: %s %s", name, r.Code, r.Text)
		}
		e, err := ofPreset(t, "openai", "reach", []any{"stored"}).Decide(items(item))
		if err != nil || !e.Unmeasured {
			t.Errorf("%s, where the reach has it: unmeasured %v, %v", name, e.Unmeasured, err)
		}
	}
	named := ofPreset(t, "openai", "reach", []any{"thread_reference"})
	e, err := named.Decide(items(`{"type":"thread_reference","thread":"thread_1"}`))
	if err != nil || !e.Unmeasured {
		t.Errorf("a type that the reach names: unmeasured %v, %v", e.Unmeasured, err)
	}
}

// TestItemsOfAgents: what Codex and the vendor's libraries send back of a conversation is content.
func TestItemsOfAgents(t *testing.T) {
	for _, item := range []string{
		`"hello"`,
		`{"role":"user","content":"x"}`,
		`{"type":"message","role":"developer","content":[{"type":"input_text","text":"x"}]}`,
		`{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"x","annotations":[]}]}`,
		`{"type":"reasoning","id":"rs_1","summary":[],"content":null,"encrypted_content":"AA"}`,
		`{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"x"}],"encrypted_content":null}`,
		`{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}"}`,
		`{"type":"function_call_output","call_id":"c","output":"x"}`,
		`{"type":"function_call_output","id":"fco_1","call_id":"c","output":""}`,
		`{"type":"custom_tool_call","id":"ctc_1","call_id":"c","name":"f","input":"x","status":"completed"}`,
		`{"type":"custom_tool_call_output","call_id":"c","output":"x"}`,
		`{"type":"local_shell_call","id":"lsh_1","call_id":"c","action":{"type":"exec","command":["ls"]}}`,
		`{"type":"local_shell_call_output","id":"c","output":"x"}`,
		`{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"x"}}`,
		`{"type":"image_generation_call","id":"ig_1","status":"completed","result":"AA"}`,
		`{"type":"compaction","id":"cmp_1","encrypted_content":"AA"}`,
		`{"type":"context_compaction","encrypted_content":"AA"}`,
		`{"type":"compaction_trigger"}`,
		`{"type":"configuration_update","reasoning":{"effort":"high"}}`,
		`{"type":"additional_tools","role":"developer","tools":[{"type":"custom"}]}`,
		`{"type":"tool_search_call","call_id":"c","execution":"client","arguments":{}}`,
		`{"type":"tool_search_output","call_id":"c","status":"completed","execution":"client","tools":[]}`,
		`{"type":"agent_message","author":"/root","recipient":"/root/a","content":[{"type":"input_text","text":"x"}]}`,
		`{"type":"apply_patch_call","id":"apc_1","call_id":"c","operation":{"type":"delete_file","path":"a"}}`,
		`{"type":"apply_patch_call_output","call_id":"c","status":"completed"}`,
		`{"type":"computer_call","id":"cu_1","call_id":"c","action":{"type":"click"},"status":"completed"}`,
	} {
		if e, err := ofPreset(t, "openai").Decide(items(item)); err != nil || e.Unmeasured {
			t.Errorf("%s: unmeasured %v, %v", item, e.Unmeasured, err)
		}
	}
}

// TestOtherReferences: the names of stored things in other APIs, with a member more or in a place where the API
// has had none.
func TestOtherReferences(t *testing.T) {
	block := func(text string) string { return `{"model":"m","messages":[{"content":[` + text + `]}]}` }
	const chat, claude = "/v1/chat/completions", "/v1/messages"
	for name, test := range map[string]struct{ preset, target, sent string }{
		"a source of tomorrow": {"anthropic", claude, block(`{"type":"document","source":{"type":"memory","id":"mem_1"}}`)},
		"a source's spelling":  {"anthropic", claude, block(`{"type":"image","source":{"type":"File","id":"file_1"}}`)},
		"an upload":            {"anthropic", claude, block(`{"type":"container_upload","File_Id":"file_1"}`)},
		"a chat's response":    {"compatible", chat, `{"model":"m","previous_response_id":"resp_1"}`},
		"a chat's thread":      {"openrouter", chat, `{"model":"m","threadId":"thread_1","x":1}`},
		"a chat's cache":       {"compatible", chat, `{"model":"m","cached_content":"cachedContents/1"}`},
		"a prompt of bedrock":  {"bedrock", "/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A1%3Aprompt%2FABC%3A1/converse", `{}`},
		"google's cache":       {"google", "/v1beta/models/m:generateContent", `{"CachedContent":"cachedContents/1"}`},
	} {
		if e, err := ofPreset(t, test.preset).Decide(post(test.target, test.sent)); err == nil {
			t.Errorf("%s: %s leaves to %s", name, e.Body, e.URL)
		} else if r := refusal(t, err); r.Code != CodeReach {
			t.Errorf("%s: %s %s", name, r.Code, r.Text)
		}
		e, err := ofPreset(t, test.preset, "reach", []any{"stored"}).Decide(post(test.target, test.sent))
		if err != nil || !e.Unmeasured {
			t.Errorf("%s, where the reach has it: unmeasured %v, %v", name, e.Unmeasured, err)
		}
	}
	sent := `{"model":"m","extra_body":{"google":{"cached_content":"cachedContents/1"}}}`
	if e, err := ofPreset(t, "compatible").Decide(post(chat, sent)); err != nil || string(e.Body) != `{"model":"m"}` {
		t.Errorf("fields in a field: %s leaves, %v", e.Body, err)
	}
}

// TestToolsInAMessage: a message may define a tool, too, and that one may run at the upstream.
func TestToolsInAMessage(t *testing.T) {
	message := func(definition string) string {
		return `{"model":"m","messages":[{"role":"system","content":[{"type":"tool_addition","tool":` +
			`{"type":"tool_definition","definition":` + definition + `}}]}]}`
	}
	for _, definition := range []string{
		`{"type":"web_search_20250305","name":"web_search"}`, `{"type":"mcp_toolset","mcp_server_name":"a"}`,
		`{"TYPE":"web_fetch_20250910","name":"a"}`,
	} {
		q := post("/v1/messages", message(definition))
		_, err := ofPreset(t, "anthropic").Decide(q)
		if err == nil || refusal(t, err).Code != CodeReach {
			t.Errorf("%s: %v", definition, err)
		}
		if _, err := ofPreset(t, "anthropic", "reach", []any{"web_*", "mcp_toolset"}).Decide(q); err != nil {
			t.Errorf("%s, where the reach has it: %v", definition, err)
		}
	}
	good := message(`{"name":"read_file","input_schema":{"type":"object","properties":{"definition":{"type":"x"}}}}`)
	if e, err := ofPreset(t, "anthropic").Decide(post("/v1/messages", good)); err != nil || string(e.Body) != good {
		t.Errorf("a tool of the client's: %s, %v", e.Body, err)
	}
}
