package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"torno/internal/cli"
	"torno/internal/gateway"
	"torno/internal/gateway/budget"
	"torno/internal/gateway/prices"
	"torno/internal/gateway/route"
)

// alone sends one message as a child would, through a door of a gateway whose upstream is a stand-in.
func (t *trial) alone(ctx context.Context, a *app, u *gateway.Upstream, table prices.Table) error {
	example, ok := examples[u.Route.API]
	if !ok {
		return fmt.Errorf("the stand-in does not speak %s; it speaks anthropic, openai-responses and openai-chat", u.Route.API)
	}
	state, err := os.MkdirTemp("", "gateway")
	if err != nil {
		return err
	}
	defer os.RemoveAll(state)
	ledger, err := budget.Open(filepath.Join(state, "budget"), time.Now)
	if err != nil {
		return err
	}
	defer ledger.Close()
	u.Transport = standIn{example}
	u.Credential = dummy{}
	g := gateway.New(gateway.Config{Dir: state, Ledger: ledger, Scrub: func(s string) string { return s }, Log: slog.New(slog.DiscardHandler)})
	defer g.Shut(ctx)
	g.Use([]*gateway.Upstream{u}, table)
	door, err := g.Open(gateway.Spec{
		ID: "try", Lasts: gateway.Duration(tryFor), Peer: gateway.Peer{Anyone: true}, Routes: []gateway.Way{{Route: u.Route.Name}},
		Claims: []budget.Claim{{Scope: budget.Scope{Kind: budget.Run, ID: "try"}}},
	})
	if err != nil {
		return err
	}
	text, err := t.converse(ctx, door.Socket, u.Route, example)
	if err != nil {
		return err
	}
	closed, _ := g.Close("try")
	return a.answered(u.Route.Name, fmt.Sprintf("the stand-in answers %q; the budget was charged %d tokens in, %d out, %s", text, closed.Cost.InputTokens, closed.Cost.OutputTokens, closed.Cost.Money))
}

// converse sends the example's message through a door.
func (t *trial) converse(ctx context.Context, socket string, r *route.Route, e example) (string, error) {
	client := &http.Client{Timeout: tryFor, Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	defer client.CloseIdleConnections()
	model := t.model
	if model == "" {
		model = modelOf(r)
	}
	body, err := json.Marshal(e.request(model))
	if err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost"+r.Prefix+e.path, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", errors.New(cli.OneLine(string(answer)))
	}
	if !strings.Contains(string(answer), standInText) {
		return "", fmt.Errorf("the answer does not come from the stand-in: %s", cli.OneLine(string(answer)))
	}
	return standInText, nil
}

// modelOf returns a model that the route lets through.
func modelOf(r *route.Route) string {
	for _, m := range r.Models {
		return strings.TrimSuffix(m.Name, "*") + strings.Repeat("x", strings.Count(m.Name, "*"))
	}
	return "stand-in"
}

const standInText = "I am the gateway's stand-in, and no model."

// example is a conversation of one message, in the dialect of an API.
type example struct {
	path    string
	request func(model string) any
	answer  any
}

type object = map[string]any

var hello = []object{{"role": "user", "content": "hello"}}

var examples = map[route.API]example{
	route.Anthropic: {
		"/v1/messages",
		func(model string) any { return object{"model": model, "max_tokens": 100, "messages": hello} },
		object{
			"id": "msg_1", "type": "message", "role": "assistant", "content": []object{{"type": "text", "text": standInText}},
			"stop_reason": "end_turn", "usage": object{"input_tokens": 8, "output_tokens": 12},
		},
	},
	route.OpenAIResponses: {
		"/responses",
		func(model string) any { return object{"model": model, "input": hello, "store": false} },
		object{
			"id": "resp_1", "object": "response", "status": "completed",
			"output": []object{{"type": "message", "role": "assistant", "content": []object{{"type": "output_text", "text": standInText}}}},
			"usage":  object{"input_tokens": 8, "output_tokens": 12, "total_tokens": 20},
		},
	},
	route.OpenAIChat: {
		"/chat/completions",
		func(model string) any { return object{"model": model, "messages": hello} },
		object{
			"id": "chat_1", "object": "chat.completion",
			"choices": []object{{"index": 0, "message": object{"role": "assistant", "content": standInText}, "finish_reason": "stop"}},
			"usage":   object{"prompt_tokens": 8, "completion_tokens": 12, "total_tokens": 20},
		},
	},
}

// standIn is a transport that gives the same answer to every request.
type standIn struct{ example }

func (s standIn) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body) // the body is in memory, so this cannot fail
	}
	body, err := json.Marshal(s.answer)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: int64(len(body)),
		Body: io.NopCloser(bytes.NewReader(body)), Request: r,
	}, nil
}

// dummy is the credential of an upstream that needs none.
type dummy struct{}

func (dummy) Header(context.Context) (name, value string, err error) { return "", "", nil }
func (dummy) Refused(context.Context)                                {}
