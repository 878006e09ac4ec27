package workspace

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"torno/internal/tree"
	"torno/sandbox"
)

const mib = 1 << 20

// TestOneLookIsNotBelieved: what was renamed during a look may have been counted twice.
func TestOneLookIsNotBelieved(t *testing.T) {
	f := &fakeDir{usages: []tree.Usage{{Bytes: 9}, {Bytes: 3}, {Bytes: 9}, {Bytes: 8}}}
	p := pace{limits: tree.Bounds{Bytes: 5}}
	h := Hold(f, nil)
	if why := p.look(t.Context(), h); why != nil {
		t.Errorf("ended by one look: %v", why)
	}
	f.space.Bytes++
	if why := p.look(t.Context(), h); why == nil {
		t.Error("two looks agree, and it is not ended")
	}
}

// TestPace: an idle workspace is not looked at, a look of a second allows the next one after a hundred, or after ten when
// the disk has lost what is left of the limit.
func TestPace(t *testing.T) {
	const left = 10 * mib
	p := pace{
		limits: tree.Bounds{Bytes: 100 * mib, Entries: 1000}, space: tree.Space{Bytes: gib, Files: 5000}, looked: time.Now(),
		usage: tree.Usage{Bytes: 90 * mib, Seen: tree.Seen{Entries: 900}, Cost: time.Second},
	}
	space := func(bytes, files int64) tree.Space { return tree.Space{Bytes: bytes, Files: files} }
	for _, c := range []struct {
		what  string
		space tree.Space
		since time.Duration
		due   bool
	}{
		{"nothing changed", p.space, time.Hour, false},
		{"something changed, too early", space(gib-mib, 5000), 99 * time.Second, false},
		{"something changed", space(gib-mib, 5000), 100 * time.Second, true},
		{"much changed, too early", space(gib-left-1, 5000), 9 * time.Second, false},
		{"much changed", space(gib-left-1, 5000), 10 * time.Second, true},
		{"many files", space(gib, 4899), 10 * time.Second, true},
		{"others delete", space(2*gib, 9000), 100 * time.Second, true},
	} {
		if due := p.due(c.space, c.since); due != c.due {
			t.Errorf("%s: due is %t", c.what, due)
		}
	}
	if !(&pace{}).due(tree.Space{}, 0) {
		t.Error("the first look is not due")
	}
	if pause := (&pace{limits: LimitsOf(sandbox.Limits{Workspace: 16 * gib})}).pause(); pause != 4*time.Second {
		t.Errorf("the first look comes after %s", pause)
	}
}

// fakeDir shows what it is told to. Measurements come one by one, the last one for ever.
type fakeDir struct {
	mu     sync.Mutex
	id     tree.ID
	space  tree.Space
	usages []tree.Usage
	looks  int
	closed bool
}

func (*fakeDir) Above() ([]sandbox.Directory, error) { return nil, nil }
func (f *fakeDir) ID() tree.ID                       { return f.id }

func (f *fakeDir) Space() (tree.Space, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.space, nil
}

func (f *fakeDir) Measure(context.Context, tree.Bounds) (tree.Usage, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looks++
	u := f.usages[0]
	if len(f.usages) > 1 {
		f.usages = f.usages[1:]
	}
	return u, nil
}

func (f *fakeDir) Artifacts(context.Context, tree.Bounds, tree.Want) (tree.Artifacts, error) {
	return tree.Artifacts{}, nil
}

func (f *fakeDir) CopyTo(context.Context, *os.File, tree.CopyBounds) (tree.Copied, error) {
	return tree.Copied{}, nil
}

func (f *fakeDir) Inspect(context.Context, tree.Bounds, ...string) (tree.Findings, error) {
	return tree.Findings{}, nil
}

func (f *fakeDir) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	return nil
}

func (f *fakeDir) set(change func(*fakeDir)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}
