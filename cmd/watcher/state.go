package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"torno/configs"
	"torno/internal/cli"
	"torno/internal/control"
	"torno/internal/events"
	"torno/internal/journal"
	"torno/internal/lock"
	"torno/internal/serve"
	"torno/watcher"
)

// unitState is the state directory of the unit in contrib.
const unitState = "/var/lib/torno"

// stateDir returns the state directory for a command: the one named by the operator, or else the only one on this
// machine.
func (a *app) stateDir(ctx context.Context) (string, error) {
	switch s := a.source; {
	case s.local.State != "":
		return absolute(s.local.State)
	case s.config != "" || s.local.Dir != "":
		c, _, err := s.load(cli.Args{})
		return c.State, err
	}
	if made, _, _ := strings.Cut(a.Env("STATE_DIRECTORY"), ":"); made != "" {
		return absolute(made)
	}
	return a.onlyState(ctx)
}

// onlyState looks in the usual places. It prefers the state of a running watcher.
func (a *app) onlyState(ctx context.Context) (string, error) {
	var live, all []string
	for _, dir := range a.usualStates() {
		_, err := os.Stat(filepath.Join(dir, serve.JournalName))
		if err != nil && !errors.Is(err, fs.ErrPermission) {
			continue
		}
		all = append(all, dir)
		if a.isLive(ctx, dir) {
			live = append(live, dir)
		}
	}
	if len(live) > 0 {
		all = live
	}
	switch len(all) {
	case 0:
		return "", cli.Hint(errors.New("no watcher has run here"), "watcher run --dir ./outbox starts one; name another place with --state, --dir or --config")
	case 1:
		return all[0], nil
	}
	return "", cli.Hint(fmt.Errorf("several watchers have a state here: %s", strings.Join(all, ", ")), "say which one with --state, --dir or --config")
}

func (a *app) usualStates() []string {
	base := a.Env("XDG_STATE_HOME")
	if home := a.Env("HOME"); base == "" && home != "" {
		base = filepath.Join(home, ".local", "state")
	}
	found := []string{a.machine.state}
	if entries, err := os.ReadDir(filepath.Join(base, "torno")); base != "" && err == nil {
		for _, entry := range entries {
			found = append(found, filepath.Join(base, "torno", entry.Name()))
		}
	}
	return found
}

// isLive reports whether a watcher answers at the control socket.
func (a *app) isLive(ctx context.Context, dir string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := control.Dial(dir).Runs(ctx, control.Query{Limit: 1})
	return err == nil
}

// ask calls the running watcher. If none runs, it reads the journal instead.
func (a *app) ask(ctx context.Context, do func(control.Service) error) error {
	state, err := a.stateDir(ctx)
	if err != nil {
		return err
	}
	dead := do(control.Dial(state))
	if !errors.Is(dead, control.ErrNoWatcher) {
		return dead
	}
	j, err := journal.OpenReadOnly(ctx, filepath.Join(state, serve.JournalName))
	if errors.Is(err, fs.ErrNotExist) {
		return a.noState(state)
	}
	if err != nil {
		return err
	}
	defer j.Close()
	a.Say("no watcher is running; this is what %s holds", filepath.Join(state, serve.JournalName))
	operator := &watcher.Operator{Journal: j}
	if kept, err := events.OpenReadOnly(state); err == nil {
		defer kept.Close()
		operator.History = kept
	}
	return do(operator)
}

// errNoState is the error of a state directory without a journal.
var errNoState = errors.New("no watcher has run with the state directory")

// noState turns a missing state into an error. If a watcher serves the named outbox, the error names that watcher's
// owner.
func (a *app) noState(state string) error {
	err := fmt.Errorf("%w %s", errNoState, state)
	for _, pid := range lock.Holders(a.source.local.Dir) {
		owner := ownerOf(pid)
		if owner == "" {
			continue
		}
		return cli.Hint(fmt.Errorf("%w; %s is served by process %d, of user %s", err, a.source.local.Dir, pid, owner),
			"run the same command as "+owner+", or name that watcher's state directory with --state")
	}
	return err
}

// ownerOf returns the user of a process, or "" if it cannot be seen.
func ownerOf(pid int) string {
	var stat unix.Stat_t
	if unix.Stat(fmt.Sprintf("/proc/%d", pid), &stat) != nil {
		return ""
	}
	uid := strconv.FormatUint(uint64(stat.Uid), 10)
	if found, err := user.LookupId(uid); err == nil {
		return found.Username
	}
	return uid
}

// config loads the configuration that the operator named. Otherwise it returns a bare one, which is enough to reach the
// launchers.
func (a *app) config() (configs.Config, error) {
	if a.source.config == "" && a.source.local.Dir == "" {
		return configs.Bare(a.launchers, a.Env), nil
	}
	s := a.source
	if s.config != "" {
		s.local.State = "" // --state names the installation; from the file only the launchers are needed
	}
	c, _, err := s.load(cli.Args{})
	return c, err
}
