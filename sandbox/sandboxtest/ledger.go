package sandboxtest

import (
	"slices"
	"strings"

	"torno/internal/paths"
	"torno/sandbox"
)

// ledger is the world's memory of all sandboxes, including removed ones. The world's lock guards it. A sandbox counts
// as running from its release on.
type ledger struct {
	created   []sandbox.SandboxID // oldest first
	released  []sandbox.SandboxID // in the order of their release
	running   map[*box]bool
	most      map[string]int // by subagent
	mostOfAll int
	shared    []Shared
}

// Shared are two sandboxes that were in equal or nested workspaces at the same time.
type Shared struct{ Earlier, Later sandbox.SandboxID }

func newLedger() ledger {
	return ledger{running: make(map[*box]bool), most: make(map[string]int)}
}

// Sandboxes returns all sandboxes that were ever made, oldest first. If Create is repeated and returns the existing
// sandbox, it counts once.
func (w *World) Sandboxes() []sandbox.SandboxID {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.ledger.created)
}

// Released returns the sandboxes whose agents ran, in the order of their release. A sandbox without a run, or two
// sandboxes of one run, break a promise (I10).
func (w *World) Released() []sandbox.SandboxID {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.ledger.released)
}

// MostAtOnce returns how many sandboxes of one subagent, by its name in the environment, ever ran at the same time.
// More than one breaks a promise (I17).
func (w *World) MostAtOnce(subagent string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ledger.most[subagent]
}

// MostOfAll returns how many sandboxes ever ran at the same time.
func (w *World) MostOfAll() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ledger.mostOfAll
}

// SharedWorkspaces returns the pairs of runs that were in each other's workspace. Any such pair breaks a promise (I17).
func (w *World) SharedWorkspaces() []Shared {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.ledger.shared)
}

// begin notes that a sandbox is released.
func (w *World) begin(b *box) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l, who, same := &w.ledger, b.subagent(), 1
	for other := range l.running {
		if other.subagent() == who {
			same++
		}
		if paths.Nested(b.workspace(), other.workspace()) {
			l.shared = append(l.shared, Shared{Earlier: other.sandbox, Later: b.sandbox})
		}
	}
	l.released = append(l.released, b.sandbox)
	l.running[b] = true
	l.most[who] = max(l.most[who], same)
	l.mostOfAll = max(l.mostOfAll, len(l.running))
}

// end notes that a sandbox's last process is gone.
func (w *World) end(b *box) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.ledger.running, b)
}

// subagent returns the agent's name from its environment.
func (b *box) subagent() string {
	for _, variable := range b.spec.Process.Env {
		if id, ok := strings.CutPrefix(variable, "TORNO_SUBAGENT_ID="); ok {
			return id
		}
	}
	return ""
}

// workspace returns where the box's workspace lies on the host, or "".
func (b *box) workspace() string {
	for _, m := range b.spec.Mounts {
		if m.Workspace {
			return b.world.host(m.Source)
		}
	}
	return ""
}
