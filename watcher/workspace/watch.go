package workspace

import (
	"context"
	"fmt"
	"time"

	"torno/delegation"
	"torno/internal/tree"
)

// Limits for watching a workspace. Looking through it costs time, so the pause after a look is a hundred times as long
// as the look used a processor. The pause is only ten times as long when the file system has lost as much space as the
// run may still write. Asking for the free space costs nothing, and while it stays the same, no look is needed.
const (
	growthRate  = 4 << 30 // the most bytes a second that all runs together write
	filesRate   = 400_000 // the most files a second that are made
	shortPause  = 250 * time.Millisecond
	longPause   = 10 * time.Second
	idleShare   = 100
	hurryShare  = 10
	lookWork    = 10 * time.Second      // processor time for one look
	lookBudget  = time.Minute           // for one look, however slow the file system or busy the machine
	hurryBudget = 80 * time.Millisecond // for a measurement that a client waits for
)

// Watch looks at the contents of a run's workspace until ctx is done or they are over a limit. While the agent runs,
// nothing else walks through the workspace.
func (h *Held) Watch(ctx context.Context, disks *Disks, limits tree.Bounds, owner Owner) {
	defer disks.Join(h, owner)()
	p := pace{limits: limits}
	timer := time.NewTimer(p.pause())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case answer := <-h.asked:
			u, _ := h.Measure(ctx, tree.Bounds{Entries: p.limits.Entries, Time: hurryBudget, Since: h.since})
			answer <- growth{h, h.note(u)}
		case <-timer.C:
			if refusal := p.look(ctx, h); refusal != nil {
				owner.EndOver(refusal)
				return
			}
			timer.Reset(p.pause())
		}
	}
}

// OverLimit returns a refusal that names the limit that the contents of a workspace exceed, or nil.
func OverLimit(limits tree.Bounds, usage tree.Usage) *delegation.Refusal {
	p := pace{limits: limits, usage: usage}
	return p.passed()
}

// note remembers how much was written, and returns it. A look that was cut short has seen only a part, so it may raise
// the amount but not lower it.
func (h *Held) note(u tree.Usage) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if u.Whole() || u.Fresh > h.written {
		h.written = u.Fresh
	}
	if u.Whole() || u.Bytes > h.holds {
		h.holds = u.Bytes
	}
	return h.written
}

// pace decides when a workspace is worth another look.
type pace struct {
	limits tree.Bounds
	usage  tree.Usage // at the newest look
	space  tree.Space // at the newest look
	looked time.Time
}

// pause returns the least time after which a limit can be exceeded.
func (p *pace) pause() time.Duration {
	pause := longPause
	if p.limits.Bytes > 0 {
		pause = min(pause, timeFor(p.limits.Bytes-p.usage.Bytes, growthRate))
	}
	if p.limits.Entries > 0 {
		pause = min(pause, timeFor(p.limits.Entries-p.usage.Entries, filesRate))
	}
	return max(pause, shortPause)
}

// timeFor returns how long it takes to write n at a rate. It does not overflow.
func timeFor(n, perSecond int64) time.Duration {
	return time.Duration(float64(n) / float64(perSecond) * float64(time.Second))
}

// look looks through the workspace, if a look is due, and returns a refusal if a limit is exceeded.
func (p *pace) look(ctx context.Context, h *Held) *delegation.Refusal {
	space, err := h.Space()
	if err != nil || !p.due(space, time.Since(p.looked)) {
		return nil
	}
	var cost time.Duration
	defer func() { p.usage.Cost, p.looked = cost, time.Now() }()
	for range 2 { // look twice: a file that was renamed during the first look may have been counted twice
		p.space = space
		bounds := p.limits
		bounds.Processor, bounds.Time, bounds.Since = lookWork, lookBudget, h.since
		if p.usage, err = h.Measure(ctx, bounds); err != nil || ctx.Err() != nil {
			return nil
		}
		h.note(p.usage)
		cost += p.usage.Cost
		if p.passed() == nil {
			return nil
		}
	}
	return p.passed()
}

// due reports whether a look is worth its cost.
func (p *pace) due(space tree.Space, since time.Duration) bool {
	share := time.Duration(idleShare)
	switch lost, gone := p.space.Bytes-space.Bytes, p.space.Files-space.Files; {
	case p.looked.IsZero():
		return true
	case space == p.space:
		return false
	case p.limits.Bytes > 0 && lost > p.limits.Bytes-p.usage.Bytes, p.limits.Entries > 0 && gone > p.limits.Entries-p.usage.Entries:
		share = hurryShare
	}
	return since >= share*p.usage.Cost //nolint:durationcheck // share is a plain number, only its type is a duration
}

// passed returns a refusal that names the limit exceeded at the newest look, or nil.
func (p *pace) passed() *delegation.Refusal {
	refusal := delegation.Refusal{
		Code: delegation.CodeWorkspaceLimit, Field: "workspace",
		Hint: "Give the child less to write or a workspace with less in it, or have the operator raise the profile's limits.",
	}
	switch u, l := p.usage, p.limits; {
	case l.Bytes > 0 && u.Bytes > l.Bytes:
		refusal.Text = fmt.Sprintf("The workspace grew over its limit: it holds %s or more, and %s is the limit.", showBytes(u.Bytes), showBytes(l.Bytes))
	case l.Entries > 0 && u.Entries > l.Entries:
		refusal.Text = fmt.Sprintf("The workspace grew over its limit: it holds more than %d files, and that is the limit.", l.Entries)
	case u.Deep:
		refusal.Text = fmt.Sprintf("The workspace grew over its limit: it has directories more than %d levels deep.", tree.MaxDepth)
	default:
		return nil
	}
	return &refusal
}
