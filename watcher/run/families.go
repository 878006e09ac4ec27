package run

import (
	"context"
	"errors"
	"sync"
	"time"

	"torno/delegation"
	"torno/internal/journal"
)

// families knows which unfinished runs have parents. A run ends with its parent, whatever ended the parent, because the
// run's requester is gone.
//
// News about a parent is only a hint. Children are ended only if the parent itself, or the journal, says that the
// parent is ending or has ended. endOrphans also looks at all parents every familiesEvery: a parent can end while no run
// of this watcher stands for it.
type families struct {
	wake chan struct{}

	mu       sync.Mutex
	children map[string]map[*Run]bool // by the key of the parent's run
	due      map[string]bool          // parents to look at
}

// familiesEvery is the pause between two looks at all parents, with or without news of them.
const familiesEvery = 2 * time.Second

func newFamilies() *families {
	return &families{wake: make(chan struct{}, 1), children: make(map[string]map[*Run]bool), due: make(map[string]bool)}
}

// enter makes a run known until leave, if it has a parent.
func (f *families) enter(r *Run) {
	parent := r.request.Descent.Run
	if parent == "" {
		return
	}
	f.mu.Lock()
	if f.children[parent] == nil {
		f.children[parent] = make(map[*Run]bool)
	}
	f.children[parent][r] = true
	f.mu.Unlock()
	f.look(parent) // it may have ended since the request was admitted
}

// leave forgets a run, and has it looked at as a parent, so that its children end with it.
func (f *families) leave(r *Run) {
	parent := r.request.Descent.Run
	f.mu.Lock()
	delete(f.children[parent], r)
	if len(f.children[parent]) == 0 {
		delete(f.children, parent)
	}
	f.mu.Unlock()
	f.look(r.hash)
}

// look has a parent looked at soon. It never blocks.
func (f *families) look(parent string) {
	f.mu.Lock()
	has := len(f.children[parent]) > 0
	if has {
		f.due[parent] = true
	}
	f.mu.Unlock()
	if !has {
		return
	}
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// take returns the parents to look at: all of them, or only the parents with news.
func (f *families) take(all bool) (parents []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if all {
		for parent := range f.children {
			f.due[parent] = true
		}
	}
	for parent := range f.due {
		parents = append(parents, parent)
	}
	clear(f.due)
	return parents
}

func (f *families) childrenOf(parent string) (all []*Run) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for r := range f.children[parent] {
		all = append(all, r)
	}
	return all
}

// endOrphans ends the children of runs that end, until ctx is done.
func (runs *Runs) endOrphans(ctx context.Context) {
	ticker := time.NewTicker(familiesEvery)
	defer ticker.Stop()
	for {
		all := false
		select {
		case <-runs.families.wake:
		case <-ticker.C:
			all = true
		case <-ctx.Done():
			return
		}
		for _, parent := range runs.families.take(all) {
			if runs.endsChildren(ctx, parent) {
				for _, child := range runs.families.childrenOf(parent) {
					child.Stop(ctx, delegation.ReasonParentEnded)
				}
			}
		}
	}
}

// endsChildren reports whether the children of a run are to be ended. If a run ends because the watcher stops, its
// children are ended, drained or kept like all other runs.
func (runs *Runs) endsChildren(ctx context.Context, parent string) bool {
	reason, over := runs.howItEnds(ctx, parent)
	return over && (reason != delegation.ReasonShutdown || runs.Serving.Err() == nil)
}

// howItEnds returns why a run is ending or has ended; over is false if it does neither. The reason is "" if there is no
// record of the run any more.
func (runs *Runs) howItEnds(ctx context.Context, key string) (reason delegation.Reason, over bool) {
	if r := runs.Running(key); r != nil && r.Standing().Phase != Ended {
		reason = r.Cause()
		return reason, reason != ""
	}
	record, err := runs.Journal.Get(ctx, key)
	if err != nil {
		return "", errors.Is(err, journal.ErrUnknown) // only ended runs are ever pruned
	}
	return record.Reason, record.State == delegation.StateEnded
}

// blameParent tells the client how the parent ended, if the run has ended with its parent.
func (r *runner) blameParent(reason delegation.Reason) {
	if reason == delegation.ReasonParentEnded {
		why, _ := r.runs.howItEnds(r.runs.Life, r.request.Descent.Run)
		r.warnings = append(r.warnings, delegation.EndedWithParent(r.request.Descent.Parent, why))
	}
}
