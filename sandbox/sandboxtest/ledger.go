package sandboxtest

import (
	"path"
	"slices"
	"strings"

	"torno/delegation"
	"torno/sandbox"
)

// ledger is what the world remembers of runs, also of those that were removed. It is guarded by the world's lock.
type ledger struct {
	created, started map[sandbox.RunKey]int
	running          map[*box]bool
	most             map[subagent]int
	mostOfAll        int
	shared           []Shared
}

// subagent is a child by its outbox and id.
type subagent struct {
	outbox string
	id     delegation.SubagentID
}

// Shared are two runs that were in equal or nested workspaces at the same time.
type Shared struct{ Earlier, Later sandbox.RunKey }

func newLedger() ledger {
	return ledger{
		created: make(map[sandbox.RunKey]int),
		started: make(map[sandbox.RunKey]int),
		running: make(map[*box]bool),
		most:    make(map[subagent]int),
	}
}

// Created is how many sandboxes were made for a key. A repeated Create that returns the one that is there counts once.
func (w *World) Created(key sandbox.RunKey) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ledger.created[key]
}

// Started is how often a key's sandbox began to run. More than once is a broken promise (I10).
func (w *World) Started(key sandbox.RunKey) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ledger.started[key]
}

// Keys are the keys for which there ever was a sandbox, sorted.
func (w *World) Keys() []sandbox.RunKey {
	w.mu.Lock()
	defer w.mu.Unlock()
	keys := make([]sandbox.RunKey, 0, len(w.ledger.created))
	for key := range w.ledger.created {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b sandbox.RunKey) int { return strings.Compare(a.String(), b.String()) })
	return keys
}

// MostAtOnce is how many sandboxes of one subagent ever ran at the same time. More than one is a broken promise (I17).
func (w *World) MostAtOnce(outbox string, id delegation.SubagentID) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ledger.most[subagent{outbox, id}]
}

// MostOfAll is how many sandboxes ever ran at the same time.
func (w *World) MostOfAll() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ledger.mostOfAll
}

// SharedWorkspaces are the runs that were in each other's workspace. One is a broken promise (I17).
func (w *World) SharedWorkspaces() []Shared {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.ledger.shared)
}

// begin enters a run that starts.
func (w *World) begin(b *box) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l, who, same := &w.ledger, b.subagent(), 1
	for other := range l.running {
		if other.subagent() == who {
			same++
		}
		if nested(b.workspace(), other.workspace()) {
			l.shared = append(l.shared, Shared{Earlier: other.key, Later: b.key})
		}
	}
	l.started[b.key]++
	l.running[b] = true
	l.most[who] = max(l.most[who], same)
	l.mostOfAll = max(l.mostOfAll, len(l.running))
}

// end enters that a run's last process is gone.
func (w *World) end(b *box) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.ledger.running, b)
}

func (b *box) subagent() subagent { return subagent{b.key.Outbox, b.key.Subagent} }

// workspace is where the box's workspace lies on the host, or "".
func (b *box) workspace() string {
	for _, m := range b.spec.Mounts {
		if m.Workspace {
			return b.world.host(m.Source)
		}
	}
	return ""
}

// nested says whether one directory is the other one or lies in it.
func nested(a, b string) bool { return a != "" && b != "" && (beneath(a, b) || beneath(b, a)) }

// beneath says whether a clean absolute path is parent itself or lies in it.
func beneath(name, parent string) bool {
	return name == parent || strings.HasPrefix(name, path.Join(parent, "/")+"/") || parent == "/"
}
