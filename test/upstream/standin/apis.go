package standin

import (
	"fmt"
	"net/http"
	"strings"
)

// api is how one API answers.
type api struct {
	last   func(asked) order
	whole  func(a *answer, text string) any
	stream func(a *answer, parts ...string)
	tool   func(a *answer, name, input string)
}

type object = map[string]any

var apis = map[string]api{
	"/v1/messages":         {lastMessage, wholeMessage, streamMessage, toolMessage},
	"/v1/responses":        {lastInput, wholeResponse, streamResponse, toolResponse},
	"/v1/chat/completions": {lastMessage, wholeChat, streamChat, toolChat},
}

func anthropicUsage(output int) object {
	return object{"input_tokens": InputTokens, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": output}
}

func messageOf(a *answer, stop any, output int, content ...any) object {
	if content == nil {
		content = []any{}
	}
	return object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": a.asked.Model, "content": content,
		"stop_reason": stop, "stop_sequence": nil, "usage": anthropicUsage(output),
	}
}

func wholeMessage(a *answer, text string) any {
	return messageOf(a, "end_turn", OutputTokens, object{"type": "text", "text": text})
}

func streamMessage(a *answer, parts ...string) {
	deltas := make([]any, len(parts))
	for i, part := range parts {
		deltas[i] = object{"type": "text_delta", "text": part}
	}
	a.block(object{"type": "text", "text": ""}, "end_turn", deltas)
}

// block streams a message of one block.
func (a *answer) block(begin object, stop string, deltas []any) {
	a.event("message_start", object{"type": "message_start", "message": messageOf(a, nil, 1)})
	a.blockAt(0, begin, deltas)
	a.endMessage(stop)
}

func (a *answer) blockAt(index int, begin object, deltas []any) {
	a.event("content_block_start", object{"type": "content_block_start", "index": index, "content_block": begin})
	for _, delta := range deltas {
		a.event("content_block_delta", object{"type": "content_block_delta", "index": index, "delta": delta})
	}
	a.event("content_block_stop", object{"type": "content_block_stop", "index": index})
}

func (a *answer) endMessage(stop string) {
	a.event("message_delta", object{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": object{"output_tokens": OutputTokens}})
	a.event("message_stop", object{"type": "message_stop"})
}

func toolMessage(a *answer, name, input string) {
	use := object{"type": "tool_use", "id": fmt.Sprintf("toolu_%d", a.step+1), "name": name, "input": object{}}
	if a.asked.Stream {
		a.block(use, "tool_use", []any{object{"type": "input_json_delta", "partial_json": input}})
		return
	}
	use["input"] = raw(input)
	writeJSON(a.w, http.StatusOK, messageOf(a, "tool_use", OutputTokens, use))
}

func responseOf(a *answer, status string, output ...any) object {
	r := object{"id": "resp_1", "object": "response", "model": a.asked.Model, "status": status, "output": append([]any{}, output...), "error": nil}
	if status == "completed" {
		r["usage"] = object{
			"input_tokens": InputTokens, "input_tokens_details": object{"cached_tokens": 0}, "output_tokens": OutputTokens,
			"output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": InputTokens + OutputTokens,
		}
	}
	return r
}

func spoken(text string) object {
	return object{
		"id": "item_1", "type": "message", "role": "assistant", "status": "completed",
		"content": []any{object{"type": "output_text", "text": text, "annotations": []any{}}},
	}
}

func wholeResponse(a *answer, text string) any { return responseOf(a, "completed", spoken(text)) }

func streamResponse(a *answer, parts ...string) {
	a.event("response.created", object{"type": "response.created", "response": responseOf(a, "in_progress")})
	whole := ""
	a.event("response.output_item.added", object{"type": "response.output_item.added", "output_index": 0, "item": spoken("")})
	for _, part := range parts {
		whole += part
		a.event("response.output_text.delta", object{"type": "response.output_text.delta", "item_id": "item_1", "output_index": 0, "content_index": 0, "delta": part})
	}
	a.finish(spoken(whole))
}

func (a *answer) finish(item object) {
	a.event("response.output_item.done", object{"type": "response.output_item.done", "output_index": 0, "item": item})
	a.event("response.completed", object{"type": "response.completed", "response": responseOf(a, "completed", item)})
}

func toolResponse(a *answer, name, input string) {
	call := object{
		"id": "item_1", "type": "function_call", "call_id": fmt.Sprintf("call_%d", a.step+1), "name": name, "arguments": input, "status": "completed",
	}
	if space, inIt, ok := strings.Cut(name, "/"); ok {
		call["namespace"], call["name"] = space, inIt
	}
	a.call(call)
}

func customResponse(a *answer, name, input string) {
	a.call(object{"id": "item_1", "type": "custom_tool_call", "call_id": "call_1", "name": name, "input": input, "status": "completed"})
}

// call is an answer of the Responses API that has the client do something.
func (a *answer) call(item object) {
	if !a.asked.Stream {
		writeJSON(a.w, http.StatusOK, responseOf(a, "completed", item))
		return
	}
	a.event("response.created", object{"type": "response.created", "response": responseOf(a, "in_progress")})
	a.finish(item)
}

func chatUsage() object {
	return object{"prompt_tokens": InputTokens, "completion_tokens": OutputTokens, "total_tokens": InputTokens + OutputTokens}
}

func chatOf(a *answer, kind string, choice object) object {
	return object{"id": "chat_1", "object": kind, "model": a.asked.Model, "choices": []any{choice}}
}

func wholeChat(a *answer, text string) any {
	c := chatOf(a, "chat.completion", object{"index": 0, "message": object{"role": "assistant", "content": text}, "finish_reason": "stop"})
	c["usage"] = chatUsage()
	return c
}

func streamChat(a *answer, parts ...string) {
	for _, part := range parts {
		a.event("", chatOf(a, "chat.completion.chunk", object{"index": 0, "delta": object{"role": "assistant", "content": part}}))
	}
	a.chatEnd("stop")
}

func (a *answer) chatEnd(reason string) {
	a.event("", chatOf(a, "chat.completion.chunk", object{"index": 0, "delta": object{}, "finish_reason": reason}))
	if a.asked.Options.Usage {
		a.event("", object{"id": "chat_1", "object": "chat.completion.chunk", "model": a.asked.Model, "choices": []any{}, "usage": chatUsage()})
	}
	a.event("", "[DONE]")
}

func toolChat(a *answer, name, input string) {
	calls := []any{object{"index": 0, "id": "call_1", "type": "function", "function": object{"name": name, "arguments": input}}}
	if a.asked.Stream {
		a.event("", chatOf(a, "chat.completion.chunk", object{"index": 0, "delta": object{"role": "assistant", "tool_calls": calls}}))
		a.chatEnd("tool_calls")
		return
	}
	c := chatOf(a, "chat.completion", object{"index": 0, "message": object{"role": "assistant", "content": nil, "tool_calls": calls}, "finish_reason": "tool_calls"})
	c["usage"] = chatUsage()
	writeJSON(a.w, http.StatusOK, c)
}
