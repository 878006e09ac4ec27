package box

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"torno/internal/atomicfile"
	"torno/internal/boot"
	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/local/attest"
)

// An engine tells of a container's end only after it has tidied up, some 25 ms late. The host need not wait for that.
// Init marks the end of both streams, which proves that all output has come, and says how it ends. The kernel tells
// that init is dead, and every process of its namespace with it. If any of this cannot be seen, the attachment waits
// for the engine.

// digest returns the token's digest; "" without a token.
func (b *Box) digest() string {
	if b.Token == "" {
		return ""
	}
	return runfile.DigestOf(b.Token)
}

// release returns the word for the sandbox's init. It tells init to mark its end if the host can see that end. The lock
// of b is held.
func (b *Box) release() string {
	if b.Token == "" || b.death == nil {
		return runfile.Release
	}
	return runfile.MarkedRelease + b.Token
}

// watchEnd replaces the handle of init. The lock of b is held.
func (b *Box) watchEnd(death *attest.Death) {
	b.death.Close()
	b.death = death
}

// witness returns the handle that shows init's end, and the time of init's start.
func (b *Box) witness() (*attest.Death, time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.death, b.started
}

// seeEnd returns how the sandbox ended, if the host sees it before ctx is done. If the sandbox was asked to end, the
// engine's word is needed instead: then there is no hurry, and the client that cancelled the run will find it ended on
// the engine, too.
func (a *attachment) seeEnd(ctx context.Context, end runfile.End) (sandbox.Exit, bool) {
	death, started := a.box.witness()
	if death == nil || a.box.asked.Load() || end.Memory == runfile.MemoryUnknown || !death.Await(ctx) {
		return sandbox.Exit{}, false
	}
	exit := exitWith(end.Code)
	exit.OutOfMemory = end.Memory == runfile.MemoryKilled
	exit.StartedAt = started
	exit.FinishedAt, exit.FinishedIn = finished(end.Up, time.Now().Round(0), boot.Now())
	if !a.box.exit.CompareAndSwap(nil, &exit) {
		return *a.box.exit.Load(), true
	}
	if err := a.box.keepExit(a.handle.ID, exit); err != nil {
		a.reach.Log.Warn("the end of a sandbox could not be noted; after a restart its engine's word counts", "container", a.handle.ID, "error", err)
	}
	return exit, true
}

// finished returns the time of an end on both clocks. Init's mark says up. This process may read the mark much later,
// because it stood still. If up is 0 or in the future, finished returns now.
func finished(up time.Duration, now time.Time, moment boot.Moment) (time.Time, boot.Moment) {
	late := max(0, moment.Up-up)
	if up == 0 {
		late = 0
	}
	return now.Add(-late), moment.Add(-late)
}

// A sandbox has only one end, also for the next launcher; the engine would tell it with other times. So the end that
// the host saw is kept beside the sandbox's files, where no child can write.
const exitName = "exit.json"

// keptExit is the end of a container as the host saw it.
type keptExit struct {
	Container string       `json:"container"`
	Exit      sandbox.Exit `json:"exit"`
}

func (b *Box) keepExit(container string, exit sandbox.Exit) error {
	if b.Slot == nil {
		return nil
	}
	text, err := json.Marshal(keptExit{container, exit})
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(b.Slot.RunDir(), exitName), text, 0o600, atomicfile.Fast)
}

// takeUpExit loads the end that an earlier life saw.
func (b *Box) takeUpExit(container string) {
	text, err := os.ReadFile(filepath.Join(b.Slot.RunDir(), exitName))
	var kept keptExit
	if err == nil && json.Unmarshal(text, &kept) == nil && kept.Container == container {
		b.exit.Store(&kept.Exit)
	}
}

// ended returns the end that counts when the engine tells one: the end that was seen first.
func (b *Box) ended(told sandbox.Exit) sandbox.Exit {
	if b.exit.CompareAndSwap(nil, &told) {
		return told
	}
	return *b.exit.Load()
}
