package mcp

import (
	"context"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"torno/delegation"
)

// callerKey is the context key for facts about a call beyond its arguments.
type callerKey struct{}

type caller struct {
	session  string
	meta     sdk.Meta                                      // sent by the client
	progress func(ctx context.Context, done float64) error // nil if the client wants no progress messages
}

func withCaller(ctx context.Context, r *sdk.CallToolRequest) context.Context {
	c := caller{session: r.Session.ID(), meta: r.Params.Meta}
	if token := r.Params.GetProgressToken(); token != nil {
		c.progress = func(ctx context.Context, done float64) error {
			return r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: done, Message: "the subagent is at work"})
		}
	}
	return context.WithValue(ctx, callerKey{}, c)
}

// aliveEvery sets how often a client hears that a long call goes on. Clients give up a call after minutes of silence.
const aliveEvery = 15 * time.Second

// keepAlive tells the client of a call that the call goes on, until quiet is called.
func (s *Server) keepAlive(ctx context.Context) (quiet func()) {
	c, _ := ctx.Value(callerKey{}).(caller)
	if c.progress == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(aliveEvery)
		defer tick.Stop()
		for n := 1.0; ; n++ {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			if c.progress(ctx, n) != nil {
				return // a client that cannot be told learns of the end from the answer
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// Session returns a name that distinguishes the client of a call from the server's other clients on a port or a socket.
// A client that has started the server is alone; its name is "".
func (d *Desk) Session(ctx context.Context) string { return sessionOf(ctx) }

func sessionOf(ctx context.Context) string {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c.session
}

// ParentModel returns the model of the client's agent. It returns "" unless the client names a valid model
// (_meta.model_id).
func (d *Desk) ParentModel(ctx context.Context) string {
	c, _ := ctx.Value(callerKey{}).(caller)
	name, _ := c.meta["model_id"].(string)
	var token delegation.Token
	if token.UnmarshalText([]byte(name)) != nil {
		return ""
	}
	return name
}
