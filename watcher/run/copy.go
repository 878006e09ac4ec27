package run

import (
	"context"
	"errors"
	"fmt"

	"torno/delegation"
	"torno/internal/tree"
)

// room turns a copy down where the disk is full.
func (r *runner) room(s tree.Space) error {
	if why := r.runs.Floor.Crossed(s); why != nil {
		r.Crowded(why)
		return r.runs.Floor.Refuse(s)
	}
	return nil
}

// copyWorkspace makes the workspace of a run that works in a copy, before anything is held or made for it. It takes its time on the run's
// own goroutine, and ends when the run is to end or the watcher stops; then the next watcher begins it anew.
func (r *runner) copyWorkspace() (verdict, bool) {
	if r.spec.CopyOf == nil || r.Standing().Released {
		return verdict{}, true // what runs already has its own
	}
	if r.runs.Kept == nil {
		return failed(delegation.CodeInternal, errors.New("copy its workspace: this watcher makes no workspaces")), false
	}
	ctx, cancel := context.WithCancel(r.ending)
	defer cancel()
	defer context.AfterFunc(r.runs.Life, cancel)()
	said, err := r.runs.Kept.Copy(ctx, r.key.Outbox, r.key.Subagent, r.spec, r.room)
	reason := r.Cause()
	refusal, refused := errors.AsType[*delegation.Refusal](err)
	switch {
	case err == nil:
		r.warnings = append(r.warnings, said...)
		return verdict{}, true
	case r.runs.Life.Err() != nil:
		return verdict{}, false
	case reason != "":
		return verdict{reason: reason}, false
	case refused:
		return turnedDown(refusal), false
	}
	return failed(delegation.CodeInternal, fmt.Errorf("copy its workspace: %w", err)), false
}
