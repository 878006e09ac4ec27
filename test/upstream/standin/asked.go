package standin

import (
	"encoding/json"
	"strings"
)

// asked has the parts of a request that count, in the words of all three APIs.
type asked struct {
	Model    string    `json:"model"`
	Stream   bool      `json:"stream"`
	Messages []message `json:"messages"` // Messages, Chat
	Input    any       `json:"input"`    // Responses: a text, or a list
	Choice   any       `json:"tool_choice"`
	Options  struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type message struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

// order is what the last message of the user says; result is what the last tool gave back, if that came last.
type order struct {
	text, result string
	isResult     bool
}

func lastMessage(a asked) order {
	for i := len(a.Messages) - 1; i >= 0; i-- {
		switch m := a.Messages[i]; m.Role {
		case "user":
			return orderOf(m.Content)
		case "tool":
			return order{result: textOf(m.Content), isResult: true}
		}
	}
	return order{}
}

func lastInput(a asked) order {
	items, ok := a.Input.([]any)
	if !ok {
		return orderOf(a.Input)
	}
	for i := len(items) - 1; i >= 0; i-- {
		item, _ := items[i].(map[string]any)
		switch kind, _ := item["type"].(string); {
		case kind == "function_call_output" || kind == "custom_tool_call_output":
			return order{result: textOf(item["output"]), isResult: true}
		case item["role"] == "user":
			return orderOf(item["content"])
		}
	}
	return order{}
}

// orderOf reads content: a text, or blocks. Of blocks the last one counts.
func orderOf(content any) order {
	blocks, ok := content.([]any)
	if !ok {
		return order{text: textOf(content)}
	}
	for i := len(blocks) - 1; i >= 0; i-- {
		block, _ := blocks[i].(map[string]any)
		if block["type"] == "tool_result" {
			return order{result: textOf(block["content"]), isResult: true}
		}
		if text, ok := block["text"].(string); ok && !strings.HasPrefix(text, "<") { // agents add notes in angle brackets
			return order{text: text}
		}
	}
	return order{}
}

func textOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case []any:
		var all []string
		for _, part := range v {
			if block, ok := part.(map[string]any); ok {
				all = append(all, textOf(block["text"]))
			}
		}
		return strings.Join(all, "")
	}
	raw, _ := json.Marshal(v)
	return string(raw)
}

// mayCall says whether the request allows the model a tool.
func (a asked) mayCall() bool {
	if choice, ok := a.Choice.(map[string]any); ok {
		return choice["type"] != "none"
	}
	return a.Choice != "none"
}
