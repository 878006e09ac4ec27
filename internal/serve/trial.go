package serve

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"torno/configs"
	"torno/internal/launcher"
	"torno/internal/mounts"
	"torno/sandbox"
)

// Trial is an installation that exists only to be looked at. It has an id and a state of its own, so it does not touch
// anything that a watcher of the same configuration runs. It is gone once it is closed.
type Trial struct {
	config    configs.Config // with a launcher for each profile, once it is open
	log       *slog.Logger
	state     string // of the trial, in the real one; the engine sees it if it sees anything of ours
	id        string
	madeState bool // the real state directory was not there
	bases     *mounts.Bases
	opener    *opener
}

// OpenTrial prepares every launcher that the configuration uses. The caller must close the trial; that also removes
// everything that it made.
func OpenTrial(ctx context.Context, c configs.Config, kinds launcher.List, log *slog.Logger) (_ *Trial, err error) {
	init, err := findInit(c)
	if err != nil {
		return nil, err
	}
	if err := reach(ctx, kinds, c); err != nil {
		return nil, err
	}
	c.UIDs = lastOf(c.UIDs)
	t := &Trial{config: c, log: log, id: randomHex(8)}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.Close())
		}
	}()
	if err := t.makeState(); err != nil {
		return nil, err
	}
	if t.bases, err = openBases(c, existing(roots(c.Outboxes)), log); err != nil {
		return nil, err
	}
	setting := t.setting()
	setting.init, setting.bases = init, t.bases
	t.opener = newOpener(kinds, setting)
	t.config, err = t.opener.decide(ctx, c)
	return t, err
}

// Config returns the configuration under trial, with a launcher for each profile, and with uids of the trial's own.
func (t *Trial) Config() configs.Config { return t.config }

// trialUIDs is the number of uids that a trial needs, and a few to spare.
const trialUIDs = 4

// lastOf returns the end of a range. A running watcher takes ids from its beginning, so no child shares an id with a
// trial.
func lastOf(all configs.UIDs) configs.UIDs {
	if all.Count <= trialUIDs {
		return all
	}
	return configs.UIDs{First: all.First + all.Count - trialUIDs, Count: trialUIDs}
}

func (t *Trial) setting() setting {
	return setting{config: t.config, installation: t.id, stateDir: t.state, log: t.log}
}

func randomHex(bytes int) string {
	random := make([]byte, bytes)
	rand.Read(random)
	return hex.EncodeToString(random)
}

// trialPrefix and the trial's id form the name of its state in the real one. So the remains of a killed trial can be
// found.
const trialPrefix = "check-"

func (t *Trial) makeState() error {
	_, err := os.Lstat(t.config.State)
	t.madeState = errors.Is(err, fs.ErrNotExist)
	if err := MakeState(t.config.State); err != nil {
		return err
	}
	t.state = filepath.Join(t.config.State, trialPrefix+t.id)
	return os.Mkdir(t.state, 0o700)
}

// userOf returns the owner of a directory, or otherwise if the directory cannot be seen.
func userOf(dir string, otherwise uint32) uint32 {
	if info, err := os.Stat(dir); err == nil {
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			return stat.Uid
		}
	}
	return otherwise
}

// existing leaves out the directories that do not exist. A watcher will make them, or report them.
func existing(dirs []string) []string {
	return slices.DeleteFunc(dirs, func(dir string) bool {
		info, err := os.Stat(dir)
		return err != nil || !info.IsDir()
	})
}

// Guarantees returns the guarantees that each launcher enforces.
func (t *Trial) Guarantees(ctx context.Context) (map[string]sandbox.Guarantees, error) {
	all := map[string]sandbox.Guarantees{}
	for name := range t.opener.launched {
		g, err := t.opener.enforced(ctx, name)
		if err != nil {
			return nil, err
		}
		all[name] = g
	}
	return all, nil
}

// NotAhead returns for each launcher why it makes no sandboxes ahead of runs, or "" if it can.
func (t *Trial) NotAhead() map[string]string {
	all := map[string]string{}
	for name, l := range t.opener.launched {
		all[name] = whyNotAhead(l)
	}
	return all
}

// closeTime bounds the clean-up, which goes on even if the trial was interrupted.
const closeTime = time.Minute

// Close removes everything that the trial has made.
func (t *Trial) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	var errs []error
	var touched launcher.List
	if t.opener != nil {
		errs, touched = append(errs, t.opener.close()), t.opener.kinds.Only(t.opener.touched)
	}
	if t.bases != nil {
		errs = append(errs, t.bases.Close())
	}
	if t.state == "" {
		return errors.Join(errs...)
	}
	if err := errors.Join(append(errs, purge(ctx, touched, t.setting(), noRuns))...); err != nil {
		return err
	}
	if err := removeTree(t.state); err != nil || !t.madeState {
		return err
	}
	return os.Remove(t.config.State)
}
