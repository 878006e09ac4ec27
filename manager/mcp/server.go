package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"torno/internal/version"
	"torno/manager"
)

// Options are all optional except Env.
type Options struct {
	Set     string // the set of tools; by default "torno"
	Sets    []Set  // sets of other packages that Set may choose
	Env     func(string) string
	Budgets Budgets
	Fresh   time.Duration // how old an answer about all children may be; 50 ms by default, below zero never cached
	Log     *slog.Logger
}

// Server offers one outbox to models.
type Server struct {
	m        *manager.Manager
	env      func(string) string
	log      *slog.Logger
	set      toolSet
	protocol *sdk.Server
	children children
	asked    asked
	listing  listing
	budgets  budgets
	waits    chan struct{} // one place for each running wait
	mostWait time.Duration // per call
}

// New makes a server for the outbox of a manager. The manager remains the caller's.
func New(m *manager.Manager, o Options) (*Server, error) {
	set, err := setOf(cmp.Or(o.Set, "torno"), o.Sets)
	if err != nil {
		return nil, err
	}
	s := &Server{
		m: m, env: o.Env, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)), set: set,
		budgets: newBudgets(o.Budgets), waits: make(chan struct{}, maxWaits), mostWait: MaxWait,
	}
	s.listing.fresh = cmp.Or(o.Fresh, defaultFresh)
	s.protocol = sdk.NewServer(
		&sdk.Implementation{Name: "torno", Title: "Torno", Version: version.String()},
		&sdk.ServerOptions{Instructions: set.instructions, Capabilities: &sdk.ServerCapabilities{}, Logger: s.log, SetCacheable: private},
	)
	for i := range set.tools {
		s.addTool(&set.tools[i])
	}
	s.addPrompts()
	s.addResources()
	s.protocol.AddReceivingMiddleware(s.receive)
	return s, nil
}

// private marks everything that a client may cache as private to this client.
func private(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" }

func (s *Server) addTool(t *tool) {
	s.protocol.AddTool(t.describe(), func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return t.run(withCaller(ctx, r), s, r.Params.Arguments), nil
	})
}

// Serve speaks with the client at the other end of in and out, until the client ends its input or ctx ends.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	return errors.Join(s.converse(ctx, in, out, ""), s.leave(ctx.Err() != nil))
}

// converse speaks in lines with a client, until the client ends its input or ctx ends. session distinguishes the client
// from other clients of this server.
func (s *Server) converse(ctx context.Context, in io.Reader, out io.Writer, session string) error {
	ctx, hangUp := withListening(ctx)
	l := newLines(in, out, hangUp)
	l.session = session
	err := s.protocol.Run(ctx, l)
	if errors.Is(err, context.Canceled) || errors.Is(err, io.EOF) {
		err = nil
	}
	return err
}

// receive sees each request of a client before the library does.
func (s *Server) receive(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, request sdk.Request) (sdk.Result, error) {
		session := request.GetSession().ID()
		s.forgetSessions(session)
		switch {
		case method == "notifications/cancelled":
			s.children.noteCancelled(session)
		case !strings.HasPrefix(method, "notifications/"):
			s.children.noteHeard(session)
		}
		if call, ok := request.(*sdk.CallToolRequest); ok && s.set.find(call.Params.Name) == nil {
			return s.trouble(s.set.unknown(call.Params.Name)).result(), nil
		}
		result, err := next(ctx, method, request)
		if list, ok := result.(*sdk.ListToolsResult); ok {
			return s.offered(list), err
		}
		return result, err
	}
}

// forgetSessions forgets what went out to sessions that have ended, except the session of the current request.
func (s *Server) forgetSessions(current string) {
	lives := map[string]bool{current: true}
	for session := range s.protocol.Sessions() {
		lives[session.ID()] = true
	}
	s.children.forgetSessions(func(session string) bool { return lives[session] })
}

// listeningKey is the context key for the context that ends when a client stops listening.
type listeningKey struct{}

// withListening returns a context for the calls of a client, and hangUp. hangUp ends the contexts that whileListening
// has made from it.
func withListening(ctx context.Context) (calls context.Context, hangUp func()) {
	listening, cancel := context.WithCancelCause(context.Background())
	return context.WithValue(ctx, listeningKey{}, listening), func() { cancel(errHungUp) }
}

// whileListening returns the context of a call that also ends when the client's input ends, so that no wait outlives
// its client. A call that changes something does not use it, and goes on to its end.
func whileListening(ctx context.Context) (context.Context, func()) {
	listening, _ := ctx.Value(listeningKey{}).(context.Context)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(listening, func() { cancel(context.Cause(listening)) })
	return ctx, func() { stop(); cancel(nil) }
}

// offered leaves out the tools that the watcher does not support.
func (s *Server) offered(list *sdk.ListToolsResult) *sdk.ListToolsResult {
	kept := *list
	kept.Tools = slices.DeleteFunc(slices.Clone(list.Tools), func(t *sdk.Tool) bool {
		known := s.set.find(t.Name)
		return known == nil || s.wantFeature(known) != nil
	})
	return &kept
}

// wantFeature fails if the watcher does not offer the feature that a tool needs. While no watcher serves, nobody can
// know, so wantFeature lets the tool report that itself.
func (s *Server) wantFeature(t *tool) error {
	if t.feature == "" {
		return nil
	}
	beat, nobody := s.m.Serving()
	if nobody != nil || slices.Contains(beat.Features, t.feature) {
		return nil //nolint:nilerr // the tool itself says that nobody serves
	}
	return &mistake{
		code: "not_offered", text: fmt.Sprintf("the watcher of this outbox (version %s) does not offer %s", words(beat.Watcher), t.name),
		next: "do without it, or ask the user for a newer watcher",
	}
}

// unknown returns the error for a tool that does not exist.
func (set toolSet) unknown(name string) error {
	names := make([]string, len(set.tools))
	for i := range set.tools {
		names[i] = set.tools[i].name
	}
	return &mistake{code: "no_tool", text: "there is no tool " + words(fmt.Sprintf("%.100q", name)), next: "the tools are " + strings.Join(names, ", ")}
}
