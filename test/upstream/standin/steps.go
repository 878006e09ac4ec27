package standin

import "strings"

// stepsOf are the steps that a message of the user says, and how many of their tools' results came since.
func stepsOf(a asked) (steps []string, done int) {
	items, _ := a.Input.([]any)
	for _, m := range a.Messages {
		items = append(items, map[string]any{"role": m.Role, "content": m.Content})
	}
	for _, each := range items {
		item, _ := each.(map[string]any)
		if found := stepsIn(item["content"]); item["role"] == "user" && found != nil {
			steps, done = found, 0
		}
		done += resultsIn(item)
	}
	return steps, done
}

func stepsIn(content any) []string { return linesBehind(content, "#steps") }

// answerOf is what the stand-in says where a message of the user has told it all its answers.
func answerOf(a asked) (text string, told bool) {
	var answers []string
	next := 0
	for _, m := range a.Messages {
		if m.Role != "user" {
			continue
		}
		next++
		if found := linesBehind(m.Content, "#answers"); found != nil {
			answers, next = found, 0
		}
	}
	if answers == nil {
		return "", false
	}
	return answers[min(next, len(answers)-1)], true
}

// linesBehind are the lines of a message whose first line is a word.
func linesBehind(content any, word string) []string {
	blocks, ok := content.([]any)
	if !ok {
		blocks = []any{map[string]any{"text": content}}
	}
	for _, each := range blocks {
		block, _ := each.(map[string]any)
		text, _ := block["text"].(string)
		if rest, ok := strings.CutPrefix(strings.TrimSpace(text), word+"\n"); ok {
			return strings.Split(rest, "\n")
		}
	}
	return nil
}

func resultsIn(item map[string]any) (n int) {
	switch item["type"] {
	case "function_call_output", "custom_tool_call_output":
		return 1
	}
	blocks, _ := item["content"].([]any)
	for _, each := range blocks {
		if block, _ := each.(map[string]any); block["type"] == "tool_result" {
			n++
		}
	}
	return n
}
