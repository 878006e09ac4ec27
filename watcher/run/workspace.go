package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"torno/delegation"
	"torno/internal/retry"
	"torno/internal/tree"
	"torno/sandbox"
	"torno/watcher/notice"
	"torno/watcher/workspace"
)

// workplace is the directory in which a run works, while the watcher holds it. It belongs to the goroutine that carries
// the run.
type workplace struct {
	*Run
	held    *workspace.Held
	holdErr error // why held is nil
	bytes   int64 // the size when the run was over; 0 if not known
}

// hold holds the workspace of a run. It reports no error: the launcher looks at the workspace next, and says why it
// cannot be used. If no file descriptor is free, hold waits for one. A run whose agent runs is followed even if it has to end.
func (p *workplace) hold() {
	waits := p.runs.Notices.Flag("")
	defer waits.Close()
	ctx, cancel := context.WithCancel(p.runs.Life)
	defer cancel()
	if !p.Standing().Phase.IsReleased() {
		defer context.AfterFunc(p.ending, cancel)()
	}
	for try := 1; ; try++ {
		p.held, p.holdErr = workspace.Open(ctx, p.runs.Hangs, p.runs.Workspaces, p.spec)
		if p.holdErr == nil || notice.CodeOf(p.holdErr, "") != delegation.NoticeDescriptors || p.ending.Err() != nil || p.runs.Life.Err() != nil {
			return
		}
		waits.Raise(delegation.NoticeDescriptors, p.holdErr)
		p.runs.calls.pause(p.ending, retry.Backoff(try))
	}
}

// claim makes sure that the held directory is the run's alone: since the run was admitted, another directory may have
// taken its place at the path.
func (p *workplace) claim() *outcome {
	if p.held == nil {
		return nil // nothing starts without a workspace
	}
	p.runs.claims.unclaim(p.Run)
	refusal := p.runs.Schedule.Settle(p.runs.Life, &p.ticket, p.held.AboveThen)
	if refusal == nil {
		p.runs.claims.hold(p.Run, p.held) // before looking at the others: if two runs start at once, at least one sees the other
		refusal = p.runs.claims.movedTogether(p.Run, p.held)
	}
	if refusal != nil {
		p.runs.claims.hold(p.Run, nil) // nothing of the run works there, so it is in no other run's way
		return ended(verdict{reason: delegation.ReasonRefused, refusal: refusal})
	}
	return nil
}

// noteBegin tells Kept that a run begins in the workspace, and whether the client made the workspace. Kept looks after
// it when the run is over.
func (p *workplace) noteBegin() {
	if p.runs.Kept != nil && p.held != nil {
		p.runs.Kept.Begin(p.runs.Life, p.key.Outbox, p.key.Subagent, p.held.ID(), p.request.Made)
	}
}

// noteEnd tells Kept that the run is over.
func (p *workplace) noteEnd() {
	if p.runs.Kept != nil {
		p.runs.Kept.End(p.runs.Life, p.key.Outbox, p.key.Subagent, p.bytes)
	}
}

// findRoom refuses a run if its disk is full.
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

// prove makes sure that the launcher has mounted the held directory, before anything runs in it. If the agent runs
// already, watch ends the run.
func (p *workplace) prove(h sandbox.Handle) *outcome {
	mounted := tree.ID{Dev: h.Device, Ino: h.Inode}
	if p.held != nil && mounted != (tree.ID{}) && mounted != p.held.ID() {
		p.close()
		p.holdErr = errReplaced
	}
	if p.held == nil && (h.State == "" || h.State == sandbox.HandleCreated) {
		return failed(delegation.CodeMountProof, fmt.Errorf("hold its workspace: %w", p.holdErr))
	}
	return nil
}

var errReplaced = errors.New("it was replaced by another directory meanwhile")

// close stops holding the workspace.
func (p *workplace) close() {
	if p.held != nil {
		p.runs.claims.hold(p.Run, nil)
		p.held.Close()
		p.held = nil
	}
}

// The watcher looks for the workspace of an adopted run for toFind, and then ends the run. Somebody may have moved the
// workspace for a moment, or its disk may be mounted late.
const toFind = time.Minute

// find looks for the workspace of an adopted run until it is there, and reports whether it was found in time.
func (p *workplace) find(ctx context.Context, h sandbox.Handle) bool {
	ctx, cancel := context.WithTimeout(ctx, toFind)
	defer cancel()
	for try := 1; p.held == nil && retry.Pause(ctx, retry.Backoff(try)) == nil; try++ {
		retry.Warn(p.log, "find the workspace of a running child", try, p.holdErr)
		p.held, p.holdErr = workspace.Open(ctx, p.runs.Hangs, p.runs.Workspaces, p.spec)
		p.prove(h)
	}
	p.runs.claims.hold(p.Run, p.held)
	return p.held != nil
}

// watch keeps looking at the content of the run's workspace, from the moment when the agent runs until ctx is done.
func (p *workplace) watch(ctx context.Context, began <-chan struct{}, h sandbox.Handle) {
	select {
	case <-began:
	case <-ctx.Done():
		return
	}
	switch {
	case p.held != nil, h.State != sandbox.HandleExited && p.find(ctx, h): // an ended sandbox writes nothing any more
		p.held.Watch(ctx, p.runs.disks, workspace.LimitsOf(p.spec.Limits), p.Run)
	case h.State != sandbox.HandleExited && ctx.Err() == nil:
		p.EndOver(&delegation.Refusal{
			Code: delegation.CodeWorkspaceLimit, Field: "workspace", Text: "The watcher can no longer look at the workspace: " + p.holdErr.Error(),
			Hint: "Leave a workspace where it is until its run has ended.",
		})
	}
}

// inspect looks through the workspace after the run's last process is gone. It clears set-id bits, and returns warnings
// for the parent. more reports whether a part was not looked at.
func (p *workplace) inspect(reason delegation.Reason) (warnings []string, more bool) {
	if p.held == nil {
		return nil, false
	}
	found, err := p.held.Inspect(p.runs.Life, p.runs.Timing.Look, p.spec.WorkspaceMount().Target)
	if err != nil {
		p.log.Error("the watcher cannot look through the workspace of a run that has ended", "run", p.hash, "error", err)
		found.Missed++
	}
	p.noteSize(found)
	warnings = workspace.Report(found)
	if why := workspace.OverLimit(workspace.LimitsOf(p.spec.Limits), found.Usage); why != nil && reason != delegation.ReasonWorkspaceLimit {
		warnings = append(warnings, why.Text+" The next run in it will be ended.")
	}
	return warnings, found.Stopped
}

// noteSize notes how large the workspace is. A look at a part of it only makes it larger, because a child can hide what it
// leaves.
func (p *workplace) noteSize(found tree.Findings) {
	if found.Whole() {
		p.bytes = found.Bytes
		return
	}
	p.bytes = max(p.bytes, found.Bytes, p.held.Bytes())
}

// findArtifacts looks for the files that the answer lists as artifacts.
func (r *runner) findArtifacts() {
	held := r.workplace.held
	if held == nil {
		return
	}
	var warnings []string
	r.artifacts, warnings = workspace.ArtifactsOf(r.runs.Life, held, r.runs.Timing.Look, r.spec.Artifacts, r.release.wall)
	r.warnings = append(r.warnings, warnings...)
}

// inspectRest looks through the whole workspace after the answer is out. Meanwhile the run keeps its slot, so its
// outbox pays for the time. A watcher that stops does not wait for it: the answer already says that only a part was
// looked at.
func (p *workplace) inspectRest() {
	bounds := workspace.AfterAnswer
	bounds.Entries = p.spec.Limits.WorkspaceFiles
	ctx, cancel := context.WithTimeout(p.runs.Serving, bounds.Time)
	defer cancel()
	if !p.client.InspectTurn().Begin(ctx) {
		p.log.Warn("the watcher does not look through the rest of a run's workspace: the time for that is used up, or the watcher stops", "run", p.hash)
		return
	}
	found, err := p.held.Inspect(ctx, bounds, p.spec.WorkspaceMount().Target)
	p.client.InspectTurn().End(found.Cost)
	if err == nil {
		p.noteSize(found)
	}
	if said := workspace.Report(found); err != nil || len(said) > 0 {
		p.log.Warn("found in the rest of a run's workspace", "run", p.hash, "found", said, "error", err)
	}
}
