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

// workplace is the directory in which a run works, while the watcher holds it. It belongs to the goroutine that carries the run.
type workplace struct {
	*Run
	held    *workspace.Held
	holdErr error // why there is none
	bytes   int64 // what it held when the run was over; 0 where that is not known
}

// hold holds the workspace of a run. What is wrong with a workspace that cannot be held is for the launcher to say, which
// looks at it next. Where there is no file descriptor to spare, it waits for one.
func (p *workplace) hold() {
	waits := p.runs.Notices.Flag("")
	defer waits.Close()
	for try := 1; ; try++ {
		p.held, p.holdErr = workspace.Open(p.runs.Life, p.runs.Hangs, p.runs.Workspaces, p.spec)
		if p.holdErr == nil || notice.CodeOf(p.holdErr, "") != delegation.NoticeDescriptors || p.ending.Err() != nil || p.runs.Life.Err() != nil {
			return
		}
		waits.Raise(delegation.NoticeDescriptors, p.holdErr)
		p.runs.calls.pause(p.ending, retry.Backoff(try))
	}
}

// claim makes sure that the directory that is held is the run's alone: what is at its path now need not be what was
// there when the run was admitted.
func (p *workplace) claim() *outcome {
	if p.held == nil {
		return nil // nothing starts without one
	}
	p.runs.claims.unclaim(p.Run)
	refusal := p.runs.Schedule.Settle(p.runs.Life, &p.ticket, p.held.AboveThen)
	if refusal == nil {
		p.runs.claims.hold(p.Run, p.held) // before the others are looked at: of two that start at once, one sees the other
		refusal = p.runs.claims.movedTogether(p.Run, p.held)
	}
	if refusal != nil {
		p.runs.claims.hold(p.Run, nil) // nothing of it runs there, and it is in no other run's way
		return ended(verdict{reason: delegation.ReasonRefused, refusal: refusal})
	}
	return nil
}

// noteBegin has it looked after behind the run, where its client made it.
func (p *workplace) noteBegin() {
	if p.runs.Kept != nil && p.held != nil {
		p.runs.Kept.Begin(p.runs.Life, p.key.Outbox, p.key.Subagent, p.held.ID(), p.request.Made)
	}
}

// noteEnd notes that the run is over.
func (p *workplace) noteEnd() {
	if p.runs.Kept != nil {
		p.runs.Kept.End(p.runs.Life, p.key.Outbox, p.key.Subagent, p.bytes)
	}
}

// findRoom turns a run down where the disk is full.
func (p *workplace) findRoom() *outcome {
	if errors.Is(p.holdErr, workspace.ErrHangs) {
		return failed(delegation.CodeInternal, fmt.Errorf("hold its workspace: %w", p.holdErr)) // a launcher would hang as well
	}
	if p.held == nil {
		return nil
	}
	space, err := p.held.Space()
	if err != nil {
		return failed(delegation.CodeInternal, err)
	}
	if why := p.runs.Floor.Crossed(space); why != nil {
		p.Crowded(why)
		return ended(verdict{reason: delegation.ReasonRefused, refusal: p.runs.Floor.Refuse(space)})
	}
	return nil
}

// prove makes sure that the launcher has mounted what is held, before anything runs in it. Where the
// agent runs already, watch ends the run.
func (p *workplace) prove(h sandbox.Handle) *outcome {
	mounted := tree.ID{Dev: h.Device, Ino: h.Inode}
	if p.held != nil && mounted != (tree.ID{}) && mounted != p.held.ID() {
		p.letGo()
		p.holdErr = errReplaced
	}
	if p.held == nil && (h.State == "" || h.State == sandbox.HandleCreated) {
		return failed(delegation.CodeMountProof, fmt.Errorf("hold its workspace: %w", p.holdErr))
	}
	return nil
}

var errReplaced = errors.New("it was replaced by another directory meanwhile")

// letGo lets the workspace go.
func (p *workplace) letGo() {
	if p.held != nil {
		p.runs.claims.hold(p.Run, nil)
		p.held.Close()
		p.held = nil
	}
}

// watch looks at what a run has in its workspace, from the moment in which its agent runs until ctx is done.
func (p *workplace) watch(ctx context.Context, began <-chan struct{}, state sandbox.HandleState) {
	select {
	case <-began:
	case <-ctx.Done():
		return
	}
	switch {
	case p.held != nil:
		p.held.Watch(ctx, p.runs.disks, workspace.LimitsOf(p.spec.Limits), p.Run)
	case state != sandbox.HandleExited: // nothing writes there any more where it has ended
		p.EndOver(&delegation.Refusal{
			Code: delegation.CodeWorkspaceLimit, Field: "workspace", Text: "The workspace cannot be looked at any more: " + p.holdErr.Error(),
			Hint: "Leave a workspace where it is until its run has ended.",
		})
	}
}

// inspect looks at what a run has left, now that its last process is gone: set-id bits are cleared, and what its parent
// should know of becomes a warning. It says whether there is more to look at.
func (p *workplace) inspect(reason delegation.Reason) (warnings []string, more bool) {
	if p.held == nil {
		return nil, false
	}
	found, err := p.held.Inspect(p.runs.Life, p.runs.Timing.Look, p.spec.WorkspaceMount().Target)
	if err != nil {
		p.log.Error("what a run has left in its workspace cannot be looked at", "run", p.hash, "error", err)
		found.Missed++
	}
	if found.Whole() {
		p.bytes = found.Bytes
	}
	warnings = workspace.Report(found)
	if why := workspace.OverLimit(workspace.LimitsOf(p.spec.Limits), found.Usage); why != nil && reason != delegation.ReasonWorkspaceLimit {
		warnings = append(warnings, why.Text+" The next run in it will be ended.")
	}
	return warnings, found.Stopped
}

// findArtifacts looks for the files that the answer tells of.
func (r *runner) findArtifacts() {
	held := r.workplace.held
	if held == nil {
		return
	}
	var warnings []string
	r.artifacts, warnings = workspace.ArtifactsOf(r.runs.Life, held, r.runs.Timing.Look, r.spec.Artifacts, r.release.wall)
	r.warnings = append(r.warnings, warnings...)
}

// inspectRest looks at all of a workspace when the answer is out. The run keeps its place meanwhile, so its outbox pays for
// it. A watcher that stops does not wait for it: the answer says that a part was looked at.
func (p *workplace) inspectRest() {
	bounds := workspace.AfterAnswer
	bounds.Entries = p.spec.Limits.WorkspaceFiles
	ctx, cancel := context.WithTimeout(p.runs.Leisure, bounds.Time)
	defer cancel()
	if !p.client.InspectTurn().Begin(ctx) {
		p.log.Warn("the rest of what a run has left in its workspace is not looked at: the time for that is used up, or the watcher stops", "run", p.hash)
		return
	}
	found, err := p.held.Inspect(ctx, bounds, p.spec.WorkspaceMount().Target)
	p.client.InspectTurn().End(found.Cost)
	if err == nil && found.Whole() {
		p.bytes = found.Bytes
	}
	if said := workspace.Report(found); err != nil || len(said) > 0 {
		p.log.Warn("the rest of what a run has left in its workspace", "run", p.hash, "found", said, "error", err)
	}
}
