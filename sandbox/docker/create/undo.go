package create

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"torno/sandbox"
)

// FailedLaunches holds the failed launches that could not be undone yet. It is safe for concurrent use.
type FailedLaunches struct {
	log *slog.Logger

	mu  sync.Mutex
	all []*launch
}

// launch is a failed launch.
type launch struct {
	id     sandbox.SandboxID
	unsure func() bool
	undo   func() error
	busy   sync.Mutex // held by the only call that may undo it now
}

// NewFailedLaunches returns an empty list.
func NewFailedLaunches(log *slog.Logger) *FailedLaunches { return &FailedLaunches{log: log} }

// Add remembers a launch that undo failed to undo but may undo later. unsure reports whether its container may exist.
func (f *FailedLaunches) Add(id sandbox.SandboxID, unsure func() bool, undo func() error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, &launch{id: id, unsure: unsure, undo: undo})
}

// Retry tries again to undo every launch, because the engine may be back. If this process ends first, the next process
// finds the leftovers by their labels.
func (f *FailedLaunches) Retry() {
	f.mu.Lock()
	rest := slices.Clone(f.all)
	f.mu.Unlock()
	for _, one := range rest {
		if !one.busy.TryLock() {
			continue // another call is undoing it
		}
		err := one.undo()
		one.busy.Unlock()
		if err != nil {
			f.log.Debug("the remains of a failed launch cannot be removed yet", "sandbox", one.id, "error", err)
			continue
		}
		f.mu.Lock()
		f.all = slices.DeleteFunc(f.all, func(other *launch) bool { return other == one })
		f.mu.Unlock()
	}
}

// RetryFor calls Retry before a sandbox is created. The sandbox must wait while a container of an earlier try may
// exist. Otherwise the call that undoes the earlier try could remove the container while it is in use.
func (f *FailedLaunches) RetryFor(id sandbox.SandboxID) error {
	f.Retry()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.all {
		if one.id == id && one.unsure() {
			return fmt.Errorf("%w: the remains of an earlier try are not removed yet", sandbox.ErrUnavailable)
		}
	}
	return nil
}

// undoContainer has RollBack remove a container that may exist, before everything else. Until it is removed, its name
// blocks another try.
func (m *making) undoContainer(remove func() error) {
	m.unsure.Store(true)
	m.OnRollBack(func() error {
		err := remove()
		m.unsure.Store(err != nil)
		return err
	})
}
