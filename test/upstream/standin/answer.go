package standin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// answer is one answer in the making.
type answer struct {
	u      *Upstream
	w      http.ResponseWriter
	r      *http.Request
	api    api
	asked  asked
	events int
	step   int // of several, from 0
}

// begin does what it is told.
func (a *answer) begin(o order) {
	if o.isResult {
		a.say("The tool said: " + o.result)
		return
	}
	word, rest, _ := strings.Cut(strings.TrimSpace(o.text), " ")
	if lie, ok := lies[word]; ok {
		lie(a)
		return
	}
	switch word {
	case "#tool":
		name, input, _ := strings.Cut(rest, " ")
		a.events = 0
		a.api.tool(a, name, input)
	case "#custom":
		name, input, _ := strings.Cut(rest, " ")
		customResponse(a, name, input)
	case "#think":
		a.think(rest)
	case "#status":
		status, after, _ := strings.Cut(rest, " ")
		a.refuse(status, after)
	case "#once":
		status, rest, _ := strings.Cut(rest, " ")
		after, rest, _ := strings.Cut(rest, " ")
		if a.u.isFirst(o.text) {
			a.refuse(status, after)
			return
		}
		a.begin(order{text: rest})
	default:
		a.say("You said: " + o.text)
	}
}

// refuse answers with a status and, where there is one, the seconds to wait.
func (a *answer) refuse(status, after string) {
	code, _ := strconv.Atoi(status)
	if after != "" {
		a.w.Header().Set("Retry-After", after)
	}
	a.fail(code, kindOf(code), "the stand-in was told to answer so")
}

func kindOf(status int) string {
	switch status {
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case 529:
		return "overloaded_error"
	}
	return "api_error"
}

// say answers with a text, in three parts where it streams.
func (a *answer) say(text string) {
	if !a.asked.Stream {
		writeJSON(a.w, http.StatusOK, a.api.whole(a, text))
		return
	}
	third := (len(text) + 2) / 3
	a.api.stream(a, text[:third], text[third:min(2*third, len(text))], text[min(2*third, len(text)):])
}

func (a *answer) fail(status int, kind, text string) {
	writeJSON(a.w, status, map[string]any{"type": "error", "error": map[string]any{"type": kind, "code": kind, "message": text}})
}

// event sends one event, and waits until it may.
func (a *answer) event(name string, data any) {
	if a.events == 0 {
		a.w.Header().Set("Content-Type", "text/event-stream")
	}
	if a.events > 0 && a.u.Step != nil {
		select {
		case <-a.u.Step:
		case <-a.r.Context().Done():
			a.tellGone()
		}
	}
	a.events++
	raw, ok := data.(string)
	if !ok {
		text, _ := json.Marshal(data)
		raw = string(text)
	}
	if name != "" {
		fmt.Fprintf(a.w, "event: %s\n", name)
	}
	fmt.Fprintf(a.w, "data: %s\n\n", raw)
	if http.NewResponseController(a.w).Flush() != nil {
		a.tellGone()
	}
}

// tellGone ends an answer that is not read any more.
func (a *answer) tellGone() {
	if a.u.Gone != nil {
		a.u.Gone <- struct{}{}
	}
	panic(http.ErrAbortHandler)
}
