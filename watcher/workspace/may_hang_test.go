package workspace

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"torno/internal/tree"
	"torno/sandbox"
	"torno/watcher/hang"
)

// parked is a workspace whose looks wait until they are let go.
type parked struct {
	Directory
	let    chan struct{}
	closed chan struct{}
}

func (p *parked) Artifacts(context.Context, tree.Bounds, tree.Want) (tree.Artifacts, error) {
	return tree.Artifacts{}, nil
}

func (p *parked) Inspect(context.Context, tree.Bounds, ...string) (tree.Findings, error) {
	<-p.let
	return tree.Findings{}, nil
}

func (p *parked) Close() error {
	close(p.closed)
	return p.Directory.Close()
}

// TestAHandleOutlivesTheCallThatWasLeft: a handle that were closed under a call could be another file's by the time it returns.
func TestAHandleOutlivesTheCallThatWasLeft(t *testing.T) {
	calls := hang.New(Calls, slog.New(slog.DiscardHandler))
	p := &parked{&fakeDir{}, make(chan struct{}), make(chan struct{})}
	open := func(sandbox.Spec) (Directory, error) { return p, nil }
	spec := sandbox.Spec{Mounts: []sandbox.Mount{{Source: sandbox.Source{Base: "/root", Rel: "a"}, Workspace: true}}}
	held, err := openFar(t.Context(), calls, open, spec)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := held.Inspect(ctx, tree.Bounds{}); !errors.Is(err, ErrHangs) {
		t.Fatal("it was not left:", err)
	}
	if err := held.Close(); err != nil {
		t.Error(err)
	}
	select {
	case <-p.closed:
		t.Error("it was closed under a call")
	default:
	}
	if _, err := held.Space(); !errors.Is(err, ErrClosed) {
		t.Error("it was used after its end:", err)
	}
	close(p.let)
	<-p.closed
}
