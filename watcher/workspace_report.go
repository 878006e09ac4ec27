package watcher

import (
	"context"
	"fmt"
	"strings"
	"time"

	"torno/delegation"
	"torno/internal/tree"
)

// What is left in a workspace is looked at twice where it is much: a part before the answer, which must not wait, and the
// rest behind. What bounds a look is its time of a processor, which other children cannot make late; the time that passes
// is bounded for a slow file system.
var (
	beforeAnswer = tree.Bounds{Entries: 50_000, Processor: 50 * time.Millisecond, Time: 250 * time.Millisecond}
	afterAnswer  = tree.Bounds{Processor: 5 * time.Second, Time: time.Minute, Humble: true}
)

// inspect looks at what a run has left, now that its last process is gone: set-id bits are cleared, and what its parent
// should know of becomes a warning. It says whether there is more to look at.
func (w *Watcher) inspect(r *run, reason delegation.Reason) (more bool) {
	if r.held == nil || !r.out.started {
		return false
	}
	found, err := r.held.Inspect(w.life, w.timing.Look, r.spec.WorkspaceMount().Target)
	if err != nil {
		r.box.log.Error("what a run has left in its workspace cannot be looked at", "run", r.hash, "error", err)
		found.Missed++
	}
	r.warnings = append(r.warnings, leftBehind(found)...)
	over := pace{limits: limitsOf(r.spec.Limits), usage: found.Usage}
	if why := over.passed(); why != nil && reason != delegation.ReasonWorkspaceLimit {
		r.warnings = append(r.warnings, why.Text+" The next run in it will be ended.")
	}
	return found.Stopped
}

// inspectRest looks at all of a workspace when the answer is out. The run keeps its place meanwhile, so its outbox pays for
// it. A watcher that stops does not wait for it: the answer says that a part was looked at.
func (w *Watcher) inspectRest(r *run) {
	bounds := afterAnswer
	bounds.Entries = r.spec.Limits.WorkspaceFiles
	ctx, cancel := context.WithTimeout(w.leisure, bounds.Time)
	defer cancel()
	if !r.box.rest.begin(ctx) {
		r.box.log.Warn("the rest of what a run has left in its workspace is not looked at: the time for that is used up, or the watcher stops", "run", r.hash)
		return
	}
	found, err := r.held.Inspect(ctx, bounds, r.spec.WorkspaceMount().Target)
	r.box.rest.end(found.Cost)
	if said := leftBehind(found); err != nil || len(said) > 0 {
		r.box.log.Warn("the rest of what a run has left in its workspace", "run", r.hash, "found", said, "error", err)
	}
}

// rest is one outbox's turn to have looked at what its runs have left: one look at a time, and behind each as long a pause
// as it took of a processor. So an outbox takes half a processor for it at most.
type rest struct {
	turn  chan struct{}
	until time.Time // the end of the pause; it belongs to the owner of the turn
}

func newRest() *rest { return &rest{turn: make(chan struct{}, 1)} }

// begin waits for the turn, until ctx is done.
func (p *rest) begin(ctx context.Context) bool {
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	pause := time.NewTimer(time.Until(p.until))
	defer pause.Stop()
	select {
	case <-pause.C:
		return true
	case <-ctx.Done():
		<-p.turn
		return false
	}
}

// end gives the turn back.
func (p *rest) end(cost time.Duration) {
	p.until = time.Now().Add(cost)
	<-p.turn
}

// leftBehind says what was found. The names are the child's, so they are quoted.
func leftBehind(f tree.Findings) (said []string) {
	for _, kind := range []struct {
		found tree.Finding
		what  string
	}{
		{f.Cleared, "set-id files, whose set-id bits were taken away"},
		{f.SetID, "set-id files, which were left as they are because they have names elsewhere or belong to somebody else"},
		{f.Devices, "device files"},
		{f.FIFOs, "named pipes"},
		{f.Sockets, "sockets"},
		{f.Links, "symbolic links that may lead out of it"},
	} {
		if kind.found.Count > 0 {
			said = append(said, fmt.Sprintf("There are %s in the workspace: %s.", kind.what, listed(kind.found)))
		}
	}
	if !f.Whole() {
		said = append(said, fmt.Sprintf("Only a part of the workspace, %d entries, was looked at for set-id files, devices, pipes, sockets and links.", f.Entries))
	}
	return said
}

func listed(f tree.Finding) string {
	names := make([]string, len(f.Names))
	for i, name := range f.Names {
		names[i] = quoteName(name)
	}
	list := strings.Join(names, ", ")
	if more := f.Count - int64(len(names)); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}
