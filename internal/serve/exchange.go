package serve

import (
	"context"
	"errors"
	"time"

	"torno/delegation"
	"torno/internal/journal"
	"torno/sandbox"
)

// A launcher belongs to the site on which it was opened. If another site answers at the launcher's socket, everything
// about the launcher must be found out anew. So the host hands its runs to a next host, as for a reload, and the next
// host opens its launchers on the new site. Runs whose sandboxes are on the earlier site are stranded then. They go on
// when a later exchange brings that site back.

// hearing is a launcher that sends on a channel when one of its calls has met another site.
type hearing struct {
	sandbox.Launcher
	exchanged chan<- struct{}
}

func (l hearing) heard(err error) error {
	if errors.Is(err, sandbox.ErrOtherSite) {
		select {
		case l.exchanged <- struct{}{}:
		default:
		}
	}
	return err
}

// Site and the methods below are the calls in which a watcher can meet another site.
func (l hearing) Site(ctx context.Context) (string, error) {
	id, err := l.Launcher.Site(ctx)
	return id, l.heard(err)
}

func (l hearing) Create(ctx context.Context, id sandbox.SandboxID, spec sandbox.Spec) (sandbox.Handle, error) {
	h, err := l.Launcher.Create(ctx, id, spec)
	return h, l.heard(err)
}

func (l hearing) Start(ctx context.Context, h sandbox.Handle) error {
	return l.heard(l.Launcher.Start(ctx, h))
}

func (l hearing) Open(ctx context.Context, h sandbox.Handle, from sandbox.Cursor) (sandbox.Attachment, error) {
	a, err := l.Launcher.Open(ctx, h, from)
	return a, l.heard(err)
}

func (l hearing) List(ctx context.Context) ([]sandbox.Handle, error) {
	all, err := l.Launcher.List(ctx)
	return all, l.heard(err)
}

func (l hearing) Remove(ctx context.Context, h sandbox.Handle) error {
	return l.heard(l.Launcher.Remove(ctx, h))
}

// isExchanged waits for some time after the news. Then it reports whether another site than ours still answers.
func (h *host) isExchanged(ctx context.Context) bool {
	select {
	case <-time.After(h.Timing.exchange()):
	case <-ctx.Done():
		return false
	}
	for name, l := range h.launchers {
		asking, cancel := context.WithTimeout(ctx, h.Timing.respond())
		_, err := l.Site(asking)
		cancel()
		if errors.Is(err, sandbox.ErrOtherSite) {
			h.Log.Warn("another site answers: the watcher opens the launchers again; runs with sandboxes on the earlier site are stranded",
				"launcher", name, "because", err)
			return true
		}
	}
	return false
}

// handlesOf returns the sandboxes of runs that have not ended, by launcher.
func handlesOf(ctx context.Context, j *journal.Journal) (map[string][]sandbox.Handle, error) {
	handles := map[string][]sandbox.Handle{}
	for after := int64(0); ; {
		page, err := j.Unfinished(ctx, after, rows)
		if err != nil || len(page) == 0 {
			return handles, err
		}
		for _, r := range page {
			if r.Handle != nil && r.State != delegation.StateEnded {
				handles[r.Handle.Launcher] = append(handles[r.Handle.Launcher], *r.Handle)
			}
			after = r.Seq
		}
	}
}
