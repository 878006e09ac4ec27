package run

import (
	"context"
	"errors"
	"fmt"

	"torno/delegation"
	"torno/internal/tree"
)

// room refuses a copy if the disk is full.
func (r *runner) room(s tree.Space) error {
	if why := r.runs.Floor.Crossed(s); why != nil {
		r.Crowded(why)
		return r.runs.Floor.Refuse(s)
	}
	return nil
}

// copyWorkspace makes the workspace of a run that works in a copy, before anything is held or made for the run. It
// works on the run's own goroutine, so it may take its time. It stops when the run is to end or the watcher stops; in
// the second case the next watcher begins the copy anew.
func (r *runner) copyWorkspace() *outcome {
	if r.spec.CopyOf == nil || r.Standing().Phase.IsReleased() {
		return nil // a running sandbox has its copy already
	}
	if r.runs.Kept == nil {
		return failed(delegation.CodeInternal, errors.New("copy its workspace: this watcher makes no workspaces"))
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
		return nil
	case r.runs.Life.Err() != nil:
		return left()
	case reason != "":
		return endedFor(reason)
	case refused:
		return turnedDown(refusal)
	}
	return failed(delegation.CodeInternal, fmt.Errorf("copy its workspace: %w", err))
}
