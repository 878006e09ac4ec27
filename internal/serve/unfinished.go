package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"torno/internal/doctor"
)

// StrandedError says that unfinished runs have sandboxes of a launcher that cannot be had.
type StrandedError struct {
	Launcher string
	Runs     int
	Err      error
}

func (e *StrandedError) Error() string {
	return fmt.Sprintf("%d runs that have not ended have sandboxes of %s, which cannot be used: %v", e.Runs, e.Launcher, e.Err)
}

func (e *StrandedError) Unwrap() error { return e.Err }

// openUnfinished opens the launchers that no profile uses any more, but that still have sandboxes of an earlier
// watcher's runs: meanwhile auto may have chosen another launcher, or the profile may name another one. A run is lost
// only if its sandbox is known to be gone, and only its launcher can tell. So it is an error if a launcher cannot be
// opened, before the watcher writes any response.
func (h *host) openUnfinished(ctx context.Context, o *opener) error {
	runs, err := h.unfinished(ctx)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(runs)) {
		if _, err := o.open(ctx, name); err != nil {
			return &StrandedError{name, runs[name], err}
		}
	}
	for _, name := range slices.Sorted(slices.Values(o.kinds.Names())) {
		h.openLeft(ctx, o, name)
	}
	return nil
}

// rows bounds how many records of the journal are in memory at once.
const rows = 256

// unfinished counts the runs that have a sandbox, by launcher.
func (h *host) unfinished(ctx context.Context) (map[string]int, error) {
	handles, err := handlesOf(ctx, h.journal)
	runs := map[string]int{}
	for launcher, all := range handles {
		runs[launcher] = len(all)
	}
	return runs, err
}

// openLeft opens a launcher that still has sandboxes of ours although no run needs them. A crash can leave sandboxes
// that the journal does not know, or whose runs have ended. Nothing in them runs on its own, so openLeft need not
// succeed.
func (h *host) openLeft(ctx context.Context, o *opener, name string) {
	if _, open := o.launched[name]; open || o.failed[name] != nil || h.neverUsed(name) {
		return
	}
	kind, settings := h.Launchers.Find(name), h.Config.SettingsOf(name)
	if kind.Reach(ctx, settings) != nil {
		return
	}
	left, err := kind.Left(ctx, settings)
	ours := func(l doctor.Leftover) bool { return l.Installation == h.journal.Installation() && l.Containers > 0 }
	if err == nil && slices.ContainsFunc(left, ours) {
		_, err = o.open(ctx, name)
	}
	if err != nil {
		h.Log.Warn("sandboxes may be left; the next start looks again", "launcher", name, "error", err)
	}
}

// neverUsed reports whether a launcher has never been open on this state. A launcher makes its directory before
// anything else.
func (h *host) neverUsed(name string) bool {
	_, err := os.Lstat(filepath.Join(h.Config.State, name))
	return errors.Is(err, fs.ErrNotExist)
}
