package adapter

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"torno/internal/agent"
)

// hostile are lines that no agent prints.
var hostile = []string{
	"null", "0", `""`, "[]", "{}", "{", "\x00", "\xff\xfe", "NaN", `{"type":null}`, `{"type":{}}`, `{"type":["result"]}`,
	`{"type":"assistant"}`, `{"type":"assistant","message":null}`, `{"type":"assistant","message":{"content":{}}}`,
	`{"type":"assistant","message":{"content":[null,1,"",[],{"type":1},{"type":"text","text":7},{"type":"tool_use"},{"type":"tool_use","input":null}]}}`,
	`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"` + strings.Repeat(`\u0000é`, 300) + `","name":"\"","input":{"a":1e99999}}]},"parent_tool_use_id":"` + strings.Repeat(`\u0001`, 300) + `"}`,
	`{"type":"user","message":{"content":[{"type":"tool_result","content":[{"type":"text"},{"type":"` + strings.Repeat("i", 400) + `"}],"is_error":"yes"}]}}`,
	`{"type":"result"}`, `{"type":"result","is_error":null}`, `{"type":"result","is_error":true,"errors":{"a":1}}`, `{"type":"result","subtype":"success","errors":[1,"a"]}`,
	`{"type":"result","is_error":false,"model_usage_since_last_result":{"a":{"inputTokens":1e400,"outputTokens":1e300},"b":{"outputTokens":1e300}}}`,
	`{"type":"system","subtype":"init","mcp_servers":"all"}`, `{"type":"system","subtype":"api_retry","attempt":1e999999,"error_status":[]}`,
	`{"type":"item.started"}`, `{"type":"item.completed","item":[]}`, `{"type":"item.completed","item":{"type":"agent_message","text":{}}}`,
	`{"type":"item.completed","item":{"type":"command_execution","exit_code":1e30,"aggregated_output":"a\ud800b"}}`,
	`{"type":"item.completed","item":{"type":"mcp_tool_call","arguments":"text","error":"text","result":"text"}}`,
	`{"type":"assistant","message":{"content":[{"type":"tool_use","input":"` + "\xff" + `"}]}}`, `{"type":"item.started","item":{"type":"x","a":"` + "\xff" + `"}}`,
	`{"type":"turn.completed"}`, `{"type":"turn.completed","usage":{"input_tokens":-5,"output_tokens":1e300}}`, `{"type":"turn.failed","error":"text"}`,
	`{"id":null}`, `{"id":7,"method":"x"}`, `{"id":{"a":[]},"method":"item/commandExecution/requestApproval","params":7}`, `{"id":"turn-1","error":"text"}`,
	`{"id":"turn-1","result":{"turn":{"id":"` + strings.Repeat("t", 400) + `"}}}`, `{"id":"thread","result":{"thread":{"id":{}}}}`, `{"id":"say-99999999999999999999","result":7}`,
	`{"id":"thread","result":{"thread":{"id":"t"}}}`, `{"method":"turn/completed","params":{"turn":7}}`, `{"method":"item/completed","params":{"item":{"type":"userMessage","clientId":[]}}}`,
	`{"method":"item/started","params":{"item":{"type":"collabAgentToolCall","id":"c","receiverThreadIds":["a","b",7]}}}`, `{"method":"serverRequest/resolved","params":{"requestId":{}}}`,
	`{"method":"item/completed","params":{"item":{"type":"fileChange","changes":[{"path":7,"kind":"add"},7]}}}`, `{"method":"` + strings.Repeat("m", 400) + `"}`,
	`{"method":"thread/tokenUsage/updated","params":{"tokenUsage":{"total":{"inputTokens":-1e300},"last":[]}}}`, `{"method":"error","params":{"error":"text"}}`,
	`{"type":"assistant","message":{"content":[{"type":"text","text":"\ud800 \u2028 ` + "\u2029\u2028" + `"}]}}`,
}

func TestHostileLines(t *testing.T) {
	for _, way := range ways {
		for _, text := range hostile {
			k := kindOfWay(way)
			holds(t, []byte(text), read(k.parser, []byte(text)))
		}
	}
}

// TestDeepNesting: Go's decoder refuses what is too deep, and what it takes is a tool's input like another.
func TestDeepNesting(t *testing.T) {
	nested := func(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }
	for depth, want := range map[int]agent.Kind{5000: agent.ToolCall, 9000: agent.ToolCall, 200_000: agent.Raw} {
		text := `{"type":"assistant","message":{"content":[{"type":"tool_use","name":"a","input":` + nested(depth) + `}]}}`
		told := read(&claude{}, []byte(text))
		holds(t, []byte(text), told)
		if len(told) == 0 || told[0].Kind != want {
			t.Errorf("%d deep: %d lines", depth, len(told))
		}
		text = `{"type":"item.started","item":{"type":"mcp_tool_call","arguments":` + nested(depth) + `}}`
		holds(t, []byte(text), read(&codex{}, []byte(text)))
	}
}

// TestInvalidBytes: a tool's input is kept as it is, but for them.
func TestInvalidBytes(t *testing.T) {
	told := read(&claude{}, []byte(`{"type":"assistant","message":{"content":[{"type":"tool_use","input":{"a":"x`+"\xff"+`"}}]}}`))
	if len(told) != 1 || string(told[0].Tool.Input) != `{"a":"x`+"\uFFFD"+`"}` {
		t.Errorf("%+v", told)
	}
}

// TestLongInput: what does not fit into a line is left out, and said to be.
func TestLongInput(t *testing.T) {
	for size, cut := range map[int]bool{100: false, agent.MaxLine - 200: false, agent.MaxLine: true, 1_000_000: true} {
		text := fmt.Sprintf(`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"i","name":"Write","input":{"a":%q}}]}}`, strings.Repeat("é", size/2))
		told := read(&claude{}, []byte(text))
		holds(t, []byte(text), told)
		if len(told) != 1 || told[0].Tool.Cut != cut || (told[0].Tool.Input == nil) != cut || told[0].Tool.Name != "Write" {
			t.Errorf("an input of %d bytes: %d lines, cut %v", size, len(told), told[0].Tool.Cut)
		}
	}
}

// TestMemoryOfALine: a long line that is made to cost as much as it can is decoded in a bounded multiple of its length.
func TestMemoryOfALine(t *testing.T) {
	const length = maxLine / 40
	fill := func(begin, element, end string) string {
		return begin + strings.Repeat(element+",", (length-len(begin)-len(end))/(len(element)+1)-1) + element + end
	}
	lines := map[string]string{
		"blocks":  fill(`{"type":"assistant","message":{"content":[`, `{}`, `]}}`),
		"parts":   fill(`{"type":"user","message":{"content":[{"type":"tool_result","content":[`, `{}`, `]}]}}`),
		"errors":  fill(`{"type":"result","errors":[`, `""`, `]}`),
		"models":  fill(`{"type":"result","modelUsage":{`, `"":{}`, `}}`),
		"fields":  fill(`{`, `"a":0`, `,"type":"result"}`),
		"input":   fill(`{"type":"assistant","message":{"content":[{"type":"tool_use","input":[`, `0`, `]}]}}`),
		"changes": fill(`{"type":"item.started","item":{"type":"file_change","changes":[`, `{}`, `]}}`),
		"text":    `{"type":"assistant","message":{"content":[{"type":"text","text":"` + strings.Repeat(`\n`, length/2-100) + `"}]}}`,
	}
	for what, text := range lines {
		for _, name := range []string{"claude", "codex"} {
			k, _ := kindOf(name, false)
			line := []byte(text)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			told := read(k.parser, line)
			runtime.ReadMemStats(&after)
			holds(t, line, told)
			if spent := after.TotalAlloc - before.TotalAlloc; spent > 20*length {
				t.Errorf("%s costs %s %d times its length", what, name, spent/length)
			}
		}
	}
}
