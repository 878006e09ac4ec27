package workspace

import (
	"context"
	"fmt"
	"time"

	"torno/delegation"
	"torno/internal/tree"
)

// How a workspace is watched. Looking through it costs time, so the pause after a look is a hundred times as long as the
// look took of a processor. It is shortened to ten times when the file system has lost as much as the run may still
// write. Free space costs nothing to ask for, and while it stays as it is there is nothing to look for.
const (
	growthRate  = 4 << 30 // bytes a second that are written at most, by all together
	filesRate   = 400_000 // files a second that are made at most
	shortPause  = 250 * time.Millisecond
	longPause   = 10 * time.Second
	idleShare   = 100
	hurryShare  = 10
	lookWork    = 10 * time.Second      // of a processor, for one look
	lookBudget  = time.Minute           // for one look, however slow the file system or busy the machine is
	hurryBudget = 80 * time.Millisecond // for a measurement that a client waits for
)

// Watch looks at what a run has in its workspace until ctx is done or there is too much of it. Nothing else walks there while the agent
// runs.
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

// OverLimit says which limit of a workspace is passed by what is in it, or nil.
func OverLimit(limits tree.Bounds, usage tree.Usage) *delegation.Refusal {
	p := pace{limits: limits, usage: usage}
	return p.passed()
}

// note keeps how much was written, and returns it. A look that was cut short has seen a part.
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
	usage  tree.Usage // of the newest look
	space  tree.Space // at that time
	looked time.Time
}

// pause is how long it takes at least until the limit can be passed.
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

// timeFor is how long it takes to write n at a rate. It does not overflow.
func timeFor(n, perSecond int64) time.Duration {
	return time.Duration(float64(n) / float64(perSecond) * float64(time.Second))
}

// look looks, if it is time for that, and says what is wrong.
func (p *pace) look(ctx context.Context, h *Held) *delegation.Refusal {
	space, err := h.Space()
	if err != nil || !p.due(space, time.Since(p.looked)) {
		return nil
	}
	var cost time.Duration
	defer func() { p.usage.Cost, p.looked = cost, time.Now() }()
	for range 2 { // what was renamed while we looked may have been counted twice
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

// due says whether a look is worth it.
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
	return since >= share*p.usage.Cost //nolint:durationcheck // share is a number, in the type of what it is a share of
}

// passed says which limit the newest look has seen passed.
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
