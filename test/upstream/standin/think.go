package standin

import "net/http"

// think answers with a thought before a text, in events.
func (a *answer) think(text string) {
	switch a.r.URL.Path {
	case "/v1/messages":
		thinkMessage(a, text)
	case "/v1/responses":
		thinkResponse(a, text)
	default:
		a.fail(http.StatusBadRequest, "invalid_request_error", "this API tells no thoughts")
	}
}

func thinkMessage(a *answer, text string) {
	a.event("message_start", object{"type": "message_start", "message": messageOf(a, nil, 1)})
	a.blockAt(0, object{"type": "thinking", "thinking": "", "signature": ""}, []any{
		object{"type": "thinking_delta", "thinking": "I think: " + text}, object{"type": "signature_delta", "signature": "c2lnbmVk"},
	})
	a.blockAt(1, object{"type": "text", "text": ""}, []any{object{"type": "text_delta", "text": "You said: " + text}})
	a.endMessage("end_turn")
}

func thinkResponse(a *answer, text string) {
	a.event("response.created", object{"type": "response.created", "response": responseOf(a, "in_progress")})
	thought := object{"id": "rs_1", "type": "reasoning", "summary": []any{object{"type": "summary_text", "text": "I think: " + text}}}
	a.event("response.output_item.done", object{"type": "response.output_item.done", "output_index": 0, "item": thought})
	a.finish(spoken("You said: " + text))
}
