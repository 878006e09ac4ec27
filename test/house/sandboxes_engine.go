package house

import (
	"context"
	"sync"
	"time"
)

// engineYard is an engine, for one house. The engine remembers its last 256 events only, whoever made them: one goroutine notes the starts
// when they happen, until the house is torn down.
type engineYard struct {
	*House
	since int64
	mu    sync.Mutex
	seen  map[Start]struct{}
}

func newEngineYard(h *House, counted bool) *engineYard {
	y := &engineYard{House: h, since: time.Now().Unix(), seen: map[Start]struct{}{}}
	if counted {
		ctx, stop := context.WithCancel(context.Background())
		followed := make(chan struct{})
		go func() {
			defer close(followed)
			_ = h.Engine.Starts(ctx, y.since, true, y.note) // a story may stop the engine, which forgets then too
		}()
		h.Cleanup(func() { stop(); <-followed })
	}
	return y
}

func (y *engineYard) note(s Start) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.seen[s] = struct{}{}
}

func (y *engineYard) sandboxes() (all []Sandbox) {
	y.Helper()
	for _, c := range y.Engine.Containers(y, y.Installation()) {
		all = append(all, Sandbox{ID: c.ID, Sandbox: c.Labels[SandboxLabel], Running: c.State == "running" && y.runs(c.ID)})
	}
	return all
}

// runs asks the engine about one container. It tells of an end before it has unmounted the container's root, and its list learns of the end
// only then.
func (y *engineYard) runs(id string) bool {
	y.Helper()
	var seen struct{ State struct{ Running bool } }
	y.Engine.Get(y, "/containers/"+id+"/json", &seen) // one that was removed since has no state
	return seen.State.Running
}

func (y *engineYard) remove(s Sandbox) { y.Helper(); y.Engine.Remove(y, s.ID) }

// starts counts what was noted, and what may not have been noted yet. The trials of a watcher's start carry another kind of id.
func (y *engineYard) starts() map[string]int {
	y.Helper()
	y.Must(y.Engine.Starts(y.Context(), y.since, false, y.note))
	installation := y.Installation()
	y.mu.Lock()
	defer y.mu.Unlock()
	counts := map[string]int{}
	for s := range y.seen {
		if s.Installation == installation && len(s.Sandbox) == len(trialBox) {
			counts[s.Sandbox]++
		}
	}
	return counts
}

// remains are the engine's own affair.
func (y *engineYard) remains() []string { return nil }

func (y *engineYard) left() (words []string) {
	installation := y.installation()
	if installation == "" {
		return nil
	}
	for _, c := range y.Engine.Containers(y, installation) {
		words = append(words, "the container "+c.Names[0])
	}
	return words
}
