package gateway

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"torno/internal/gateway/budget"
	"torno/test/upstream/standin"
)

// working is a request of an agent that has tools, and asks for an answer of so many tokens at most.
func working(path string, most int) *http.Request {
	body := map[string]any{"model": "stand-in", "stream": true}
	turn := []any{map[string]any{"role": "user", "content": `#tool work {"n":1}`}}
	tool := map[string]any{"name": "work", "input_schema": map[string]any{"type": "object"}}
	switch path {
	case responses:
		body["input"], body["store"], body["max_output_tokens"] = turn, false, most
		tool = map[string]any{"type": "function", "name": "work", "parameters": map[string]any{}}
	case chats:
		body["messages"], body["max_tokens"] = turn, most
		tool = map[string]any{"type": "function", "function": map[string]any{"name": "work"}}
	default:
		body["messages"], body["max_tokens"] = turn, most
	}
	body["tools"] = []any{tool}
	raw, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	request := ask(path, "", true)
	request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	return request
}

func do(t *testing.T, c *http.Client, request *http.Request) (status int, body string) {
	t.Helper()
	response, err := c.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(raw)
}

// TestTheLastAnswer: the request that the budget without its share does not allow becomes the last one of an agent. The model calls no
// tool in it, so the agent's loop ends with an answer. When the share is used, too, requests are refused.
func TestTheLastAnswer(t *testing.T) {
	for _, path := range []string{messages, responses, chats} {
		t.Run(path, func(t *testing.T) {
			r := newRig(t)
			c := r.open(limited("run", budget.Limits{Requests: number(2), KeepForLast: 50}))
			for i, want := range []int{200, 200, 400} {
				status, body := do(t, c, working(path, 2000))
				if status != want {
					t.Fatalf("request %d: %d: %s", i, status, body)
				}
				// Both APIs in events have the text in three parts.
				if last := strings.Contains(body, standin.WithoutTools[:10]); last != (i == 1) {
					t.Errorf("the answer of request %d is %s", i, body)
				}
				if e := r.event(int64(i) + 1); e.Last != (i == 1) {
					t.Errorf("the event of request %d is %+v", i, e)
				}
			}
			if d, err := r.g.Door("run"); err != nil || d.Last != 1 || d.Codes["budget"] != 1 {
				t.Errorf("the door has %+v, %v", d.Tally, err)
			}
			if said := string(r.up.Seen()[1].Body); !strings.Contains(said, "final answer") || !strings.Contains(said, `"tools"`) {
				t.Errorf("the last request is %s", said)
			}
		})
	}
}

// TestTheLastAnswerIsShorter: what is left does not pay for an answer as long as the client wants, so the gateway asks for a shorter answer, and
// for the longest that fits.
func TestTheLastAnswerIsShorter(t *testing.T) {
	for _, path := range []string{messages, responses, chats} {
		t.Run(path, func(t *testing.T) {
			r := newRig(t)
			c := r.open(limited("run", budget.Limits{OutputTokens: number(10000), KeepForLast: 50}))
			if status, body := do(t, c, working(path, 32000)); status != http.StatusOK {
				t.Fatalf("%d: %s", status, body)
			}
			if said := string(r.up.Seen()[0].Body); !strings.Contains(said, "tokens\":8000") {
				t.Errorf("what left is %s", said)
			}
			if e := r.event(1); !e.Last || !e.Counted || e.Cost.OutputTokens != standin.OutputTokens {
				t.Errorf("the event is %+v", e)
			}
		})
	}
}

// TestNoLastAnswer: without a share, or where another budget has none, or where an answer that fits would be too short, a request is
// refused as it was, and nothing leaves.
func TestNoLastAnswer(t *testing.T) {
	none := budget.Claim{Scope: budget.Scope{Kind: budget.OutboxDay, ID: "box"}, Limits: budget.Limits{Requests: number(0)}}
	for name, limits := range map[string]budget.Limits{
		"no share":     {OutputTokens: number(10000)},
		"too short":    {OutputTokens: number(1000), KeepForLast: 50},
		"none allowed": {Requests: number(0), KeepForLast: 50},
		"another":      {OutputTokens: number(10000), KeepForLast: 50},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			s := limited("run", limits)
			if name == "another" {
				s.Claims = append(s.Claims, none)
			}
			if status, body := do(t, r.open(s), working(messages, 32000)); status != http.StatusBadRequest || !strings.Contains(body, "is spent") {
				t.Errorf("%d: %s", status, body)
			}
			if seen := r.up.Seen(); len(seen) > 0 {
				t.Errorf("%d requests left", len(seen))
			}
			if use := r.ledger.Use(s.Claims[0].Scope); use.Open != (budget.Amount{}) || use.Spent != (budget.Amount{}) {
				t.Errorf("the ledger has %+v", use)
			}
		})
	}
}
