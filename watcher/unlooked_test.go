package watcher

import (
	"context"
	"sync"
	"testing"

	"torno/delegation"
	"torno/sandbox"
)

// blind is a launcher that cannot look at its sandboxes, and counts what it is told to remove.
type blind struct {
	sandbox.Launcher
	blind   bool
	removed sync.Map // by a sandbox's id
}

func (b *blind) List(ctx context.Context) ([]sandbox.Handle, error) {
	all, err := b.Launcher.List(ctx)
	for i := range all {
		if b.blind {
			all[i].State, all[i].Exit = sandbox.HandleUncertain, nil
		}
	}
	return all, err
}

func (b *blind) Remove(ctx context.Context, h sandbox.Handle) error {
	if b.blind {
		b.removed.Store(h.Sandbox, true)
	}
	return b.Launcher.Remove(ctx, h)
}

// TestWhatCannotBeLookedAtIsNeitherGoneNorRemoved: a watcher starts beside sandboxes at which its launcher cannot look. It adopts the
// run of one of them, leaves alone the other, which belongs to no run, and serves what is new.
func TestWhatCannotBeLookedAtIsNeitherGoneNorRemoved(t *testing.T) {
	d := newDesk(t, nil)
	release := d.gate()
	a := d.submit(ask{id: "s1", task: "gated"})
	d.started(a)
	d.printed("s1", "before\n")
	stray, err := d.fake.Create(t.Context(), sandbox.NewSandboxID(), sandbox.Spec{Process: sandbox.Process{Argv: []string{"gated"}}})
	d.must(err)
	d.crash()
	b := &blind{blind: true}
	d.wrap = func(l sandbox.Launcher) sandbox.Launcher { b.Launcher = l; return b }
	d.open()
	d.want(d.response(d.submit(ask{id: "s2", task: "echo"})), delegation.StatusCompleted, delegation.ReasonExited, 0)
	release()
	resp := d.response(a)
	d.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if resp.StdoutTail != "before\nafter\n" || resp.Attempt != 1 {
		t.Errorf("the response: %+v", resp)
	}
	d.onceEach()
	if _, removed := b.removed.Load(stray.Sandbox); removed {
		t.Error("what cannot be looked at was removed")
	}
	d.crash()
	b.blind = false
	d.open()
	d.empty()
}
