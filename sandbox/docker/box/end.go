package box

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"torno/internal/boot"
	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/local/attest"
)

// An engine tells of a container's end when it has tidied up after it, some 25 ms late. The host need not wait for that: init marks the
// end of both streams, which proves that all of the output has come, and says how init ends; the kernel says that init is dead, and with
// it every process of its namespace. Where any of this cannot be seen, the engine is waited for.

// digest is that of the token; "" without one.
func (b *Box) digest() string {
	if b.Token == "" {
		return ""
	}
	return runfile.DigestOf(b.Token)
}

// release is the word for the sandbox's init. It marks its end where the host can see that end. The lock of b is held.
func (b *Box) release() string {
	if b.Token == "" || b.death == nil {
		return runfile.Release
	}
	return runfile.MarkedRelease + b.Token
}

// watchEnd takes a handle of init in the place of the one that there is. The lock of b is held.
func (b *Box) watchEnd(death *attest.Death) {
	b.death.Close()
	b.death = death
}

// witness is what sees init's end, and when init was started.
func (b *Box) witness() (*attest.Death, time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.death, b.started
}

// seeEnd is how the sandbox ended, where the host sees it. For a sandbox that was asked to end, it waits for the engine's word: there is no
// hurry then, and the client that cancelled finds it ended on the engine, too.
func (a *attachment) seeEnd(end runfile.End) (sandbox.Exit, bool) {
	death, started := a.box.witness()
	if death == nil || a.box.asked.Load() || end.Memory == runfile.MemoryUnknown || !death.Await(a.open) {
		return sandbox.Exit{}, false
	}
	exit := exitWith(end.Code)
	exit.OutOfMemory = end.Memory == runfile.MemoryKilled
	exit.StartedAt, exit.FinishedAt, exit.FinishedIn = started, time.Now().Round(0), boot.Now()
	if !a.box.exit.CompareAndSwap(nil, &exit) {
		return *a.box.exit.Load(), true
	}
	if err := a.box.keepExit(a.handle.ID, exit); err != nil {
		a.reach.Log.Warn("how a sandbox ended is not noted, so that after a restart its engine's word counts", "container", a.handle.ID, "error", err)
	}
	return exit, true
}

// A sandbox has one end, for the next launcher too, which the engine would tell with other times. So the host's is kept beside the
// sandbox's files, where no child can write.
const exitName = "exit.json"

// keptExit is the end of a container as the host has seen it.
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
	temp := filepath.Join(b.Slot.RunDir(), "."+exitName)
	if err := os.WriteFile(temp, text, 0o600); err != nil {
		return err
	}
	return os.Rename(temp, filepath.Join(b.Slot.RunDir(), exitName))
}

// takeUpExit finds the end that an earlier life has seen.
func (b *Box) takeUpExit(container string) {
	text, err := os.ReadFile(filepath.Join(b.Slot.RunDir(), exitName))
	var kept keptExit
	if err == nil && json.Unmarshal(text, &kept) == nil && kept.Container == container {
		b.exit.Store(&kept.Exit)
	}
}

// ended is the end that counts where the engine tells one: the first that was seen.
func (b *Box) ended(told sandbox.Exit) sandbox.Exit {
	if b.exit.CompareAndSwap(nil, &told) {
		return told
	}
	return *b.exit.Load()
}
