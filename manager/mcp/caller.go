package mcp

import (
	"context"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"torno/delegation"
)

// callerKey is for what is known of a call beside its arguments.
type callerKey struct{}

type caller struct {
	session  string
	meta     sdk.Meta                                      // what the client says
	progress func(ctx context.Context, done float64) error // nil where the client wants to hear of none
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

// aliveEvery is how often a client hears that a long call goes on. Clients give up calls of which they hear nothing for minutes.
const aliveEvery = 15 * time.Second

// keepAlive tells the client of a call that it goes on, until quiet.
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
				return // a client that cannot be told learns of the end by the answer
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// Session tells the client of a call from the others of this server, which a port and a socket have. A client that has started the server is alone, and has "".
func (d *Desk) Session(ctx context.Context) string {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c.session
}

// ParentModel is the model of the client's agent, where the client says it (_meta.model_id) and it is a name of a model; else "".
func (d *Desk) ParentModel(ctx context.Context) string {
	c, _ := ctx.Value(callerKey{}).(caller)
	name, _ := c.meta["model_id"].(string)
	var token delegation.Token
	if token.UnmarshalText([]byte(name)) != nil {
		return ""
	}
	return name
}
