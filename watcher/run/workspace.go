package run

import (
	"context"
	"errors"
	"fmt"

	"torno/delegation"
	"torno/internal/retry"
	"torno/internal/tree"
	"torno/sandbox"
	"torno/watcher/notice"
	"torno/watcher/workspace"
)

// holdWorkspace holds the workspace of a run. What is wrong with one that cannot be held is for the launcher to say, which
// looks at it next. Where there is no file descriptor to spare, it waits for one.
func (runs *Runs) holdWorkspace(r *Run) {
	waits := runs.Notices.Flag("")
	defer waits.Close()
	for try := 1; ; try++ {
		r.held, r.holdErr = workspace.Open(runs.Life, runs.Hangs, runs.Workspaces, r.spec)
		if r.holdErr == nil || notice.CodeOf(r.holdErr, "") != delegation.NoticeDescriptors || r.ending.Err() != nil || runs.Life.Err() != nil {
			return
		}
		waits.Raise(delegation.NoticeDescriptors, r.holdErr)
		runs.calls.pause(r.ending, retry.Backoff(try))
	}
}

// lookAbove finds out which directory a run will work in, and what lies above it. Where there is none now, or its file system
// does not answer, the run is looked at when it is about to start, as every other one is.
func (runs *Runs) lookAbove(r *Run) {
	held, err := workspace.Open(runs.Life, runs.Hangs, runs.Workspaces, r.spec)
	if err != nil {
		return
	}
	r.ticket.Above = held.AboveThen
	held.Close()
}

// claimWorkspace makes sure that the directory that is held is the run's alone: what is at its path now need not be what was
// there when the run was admitted.
func (runs *Runs) claimWorkspace(r *Run) (verdict, bool) {
	if r.held == nil {
		return verdict{}, true // nothing starts without one
	}
	runs.claims.unclaim(r)
	refusal := runs.Schedule.Settle(runs.Life, &r.ticket, r.held.AboveThen)
	if refusal == nil {
		runs.claims.hold(r, r.held) // before the others are looked at: of two that start at once, one sees the other
		refusal = runs.claims.movedTogether(r, r.held)
	}
	if refusal != nil {
		runs.claims.hold(r, nil) // nothing of it runs there, and it is in no other run's way
		return verdict{reason: delegation.ReasonRefused, refusal: refusal}, false
	}
	return verdict{}, true
}

// findRoom turns a run down where the disk is full.
func (runs *Runs) findRoom(r *Run) (verdict, bool) {
	if errors.Is(r.holdErr, workspace.ErrHangs) {
		return failed(delegation.CodeInternal, fmt.Errorf("hold its workspace: %w", r.holdErr)), false // a launcher would hang as well
	}
	if r.held == nil {
		return verdict{}, true
	}
	space, err := r.held.Space()
	if err != nil {
		return failed(delegation.CodeInternal, err), false
	}
	if why := runs.Floor.Crossed(space); why != nil {
		r.Crowded(why)
		return verdict{reason: delegation.ReasonRefused, refusal: runs.Floor.Refuse(space)}, false
	}
	return verdict{}, true
}

// proveWorkspace makes sure that the launcher has mounted what is held, before anything runs in it. Where the
// agent runs already, watchWorkspace ends the run.
func (r *Run) proveWorkspace() (verdict, bool) {
	mounted := tree.ID{Dev: r.handle.Device, Ino: r.handle.Inode}
	if r.held != nil && mounted != (tree.ID{}) && mounted != r.held.ID() {
		r.letWorkspaceGo()
		r.holdErr = errReplaced
	}
	if r.held == nil && (r.handle.State == "" || r.handle.State == sandbox.HandleCreated) {
		return failed(delegation.CodeMountProof, fmt.Errorf("hold its workspace: %w", r.holdErr)), false
	}
	return verdict{}, true
}

var errReplaced = errors.New("it was replaced by another directory meanwhile")

// Holds says whether the run holds its workspace.
func (r *Run) Holds() bool { return r.runs.claims.held(r) != nil }

// letWorkspaceGo lets the workspace go.
func (r *Run) letWorkspaceGo() {
	if r.held != nil {
		r.runs.claims.hold(r, nil)
		r.held.Close()
		r.held = nil
	}
}

// watchWorkspace looks at what a run has in its workspace, from the moment in which its agent runs until ctx is done.
func (runs *Runs) watchWorkspace(ctx context.Context, r *Run, began <-chan struct{}) {
	select {
	case <-began:
	case <-ctx.Done():
		return
	}
	switch {
	case r.held != nil:
		r.held.Watch(ctx, runs.disks, workspace.LimitsOf(r.spec.Limits), r)
	case r.handle.State != sandbox.HandleExited: // nothing writes there any more where it has ended
		r.EndOver(&delegation.Refusal{
			Code: delegation.CodeWorkspaceLimit, Field: "workspace", Text: "The workspace cannot be looked at any more: " + r.holdErr.Error(),
			Hint: "Leave a workspace where it is until its run has ended.",
		})
	}
}

// EndOver ends the run because of what is in its workspace.
func (r *Run) EndOver(why *delegation.Refusal) {
	r.tooMuch.CompareAndSwap(nil, why)
	r.log.Warn("a run is ended because of its workspace", "run", r.hash, "because", why.Text)
	r.End(delegation.ReasonWorkspaceLimit)
}

// Crowded tells the run's client that there is too little room.
func (r *Run) Crowded(why error) { r.client.Crowded(why) }

// IsEnding says whether the run must end.
func (r *Run) IsEnding() bool { return r.ending.Err() != nil }

// inspect looks at what a run has left, now that its last process is gone: set-id bits are cleared, and what its parent
// should know of becomes a warning. It says whether there is more to look at.
func (runs *Runs) inspect(r *Run, reason delegation.Reason) (more bool) {
	if r.held == nil || !r.out.Started {
		return false
	}
	found, err := r.held.Inspect(runs.Life, runs.Timing.Look, r.spec.WorkspaceMount().Target)
	if err != nil {
		r.log.Error("what a run has left in its workspace cannot be looked at", "run", r.hash, "error", err)
		found.Missed++
	}
	r.warnings = append(r.warnings, workspace.Report(found)...)
	if why := workspace.OverLimit(workspace.LimitsOf(r.spec.Limits), found.Usage); why != nil && reason != delegation.ReasonWorkspaceLimit {
		r.warnings = append(r.warnings, why.Text+" The next run in it will be ended.")
	}
	return found.Stopped
}

// inspectRest looks at all of a workspace when the answer is out. The run keeps its place meanwhile, so its outbox pays for
// it. A watcher that stops does not wait for it: the answer says that a part was looked at.
func (runs *Runs) inspectRest(r *Run) {
	bounds := workspace.AfterAnswer
	bounds.Entries = r.spec.Limits.WorkspaceFiles
	ctx, cancel := context.WithTimeout(runs.Leisure, bounds.Time)
	defer cancel()
	if !r.client.InspectTurn().Begin(ctx) {
		r.log.Warn("the rest of what a run has left in its workspace is not looked at: the time for that is used up, or the watcher stops", "run", r.hash)
		return
	}
	found, err := r.held.Inspect(ctx, bounds, r.spec.WorkspaceMount().Target)
	r.client.InspectTurn().End(found.Cost)
	if said := workspace.Report(found); err != nil || len(said) > 0 {
		r.log.Warn("the rest of what a run has left in its workspace", "run", r.hash, "found", said, "error", err)
	}
}
