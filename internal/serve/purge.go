package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"torno/configs"
	"torno/delegation"
	"torno/internal/atomicfile"
	"torno/internal/calendar"
	"torno/internal/events"
	gatewaycontrol "torno/internal/gateway/control"
	"torno/internal/journal"
	"torno/internal/launcher"
	"torno/internal/lock"
	"torno/sandbox"
	"torno/watcher/session"
)

// Installation is a state directory with its lock held, so that no watcher starts on it meanwhile.
type Installation struct {
	ID    string
	State string
	Ended int // runs that Purge has ended together with their sandboxes

	handles map[string][]sandbox.Handle // of runs that have not ended
	held    *lock.Lock
}

// LockInstallation finds and locks the installation of a state directory on which no watcher runs.
func LockInstallation(ctx context.Context, state, who string) (*Installation, error) {
	if err := configs.HeldState(state); err != nil {
		return nil, err
	}
	held, err := lock.State(state, who)
	if err != nil {
		return nil, err
	}
	j, err := journal.OpenReadOnly(ctx, filepath.Join(state, JournalName))
	if err != nil {
		return nil, errors.Join(err, held.Unlock())
	}
	i := &Installation{ID: j.Installation(), State: state, held: held}
	i.handles, err = handlesOf(ctx, j)
	if err := errors.Join(err, j.Close()); err != nil {
		return nil, errors.Join(err, held.Unlock())
	}
	return i, nil
}

// Unlock lets watchers start again.
func (i *Installation) Unlock() error { return i.held.Unlock() }

// Purge removes everything that carries the installation's id: sandboxes, volumes, images, mounts and slots. The
// journal stays: without it, requests that still lie in an outbox would run again. Purge asks all launchers, because an
// earlier configuration may have used other launchers than this one. It also removes the remains of killed trials, and
// ends the model gateway that the watcher has kept. If a launcher meets another site than it used, it cannot reach its
// sandboxes, so Purge removes nothing of that launcher.
func (i *Installation) Purge(ctx context.Context, c configs.Config, kinds launcher.List, log *slog.Logger) error {
	setting := setting{config: c, installation: i.ID, stateDir: i.State, handles: i.handles, log: log}
	errs := []error{
		purge(ctx, kinds, setting, func(launcher string) error { return i.endRuns(ctx, launcher) }), removeTree(filepath.Join(i.State, notesName)), removeTree(filepath.Join(i.State, session.Name)), removeTree(filepath.Join(i.State, events.Name)), removeTree(filepath.Join(i.State, calendar.FileName)),
		removeTree(filepath.Join(i.State, calendar.FileName+atomicfile.DraftSuffix))}
	left, err := filepath.Glob(filepath.Join(i.State, trialPrefix+"*"))
	if err != nil {
		errs = append(errs, err)
	}
	setting.handles = nil
	for _, dir := range left {
		setting.installation, setting.stateDir = strings.TrimPrefix(filepath.Base(dir), trialPrefix), dir
		err := errors.Join(purge(ctx, kinds, setting, noRuns), stopGateway(ctx, filepath.Join(dir, configs.GatewayName), log))
		if err == nil {
			err = removeTree(dir)
		}
		errs = append(errs, err)
	}
	if c.Gateway.Own() {
		errs = append(errs, stopGateway(ctx, filepath.Join(i.State, configs.GatewayName), log))
	}
	errs = append(errs, removeKeys(i.State))
	return errors.Join(errs...)
}

// noRuns ends no runs: a trial has no journal.
func noRuns(string) error { return nil }

// endRuns ends the runs whose sandboxes a launcher has removed, so that the next watcher answers them.
func (i *Installation) endRuns(ctx context.Context, launcher string) (err error) {
	if len(i.handles[launcher]) == 0 {
		return nil
	}
	j, err := journal.Open(ctx, filepath.Join(i.State, JournalName))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	for after := int64(0); ; {
		runs, err := j.Unfinished(ctx, after, unfinishedAtOnce)
		if err != nil || len(runs) == 0 {
			return err
		}
		for _, r := range runs {
			after = r.Seq
			if r.State == delegation.StateEnded || r.Handle == nil || r.Handle.Launcher != launcher {
				continue
			}
			if err := j.Move(ctx, r.Key, r.State, delegation.StateEnded, journal.Change{
				Reason: delegation.ReasonLost, Ended: time.Now(), Code: delegation.CodeLost,
				Text: "The run's sandbox was removed by watcher purge.", Hint: "Ask again with a new request_id.",
			}); err != nil {
				return err
			}
			i.Ended++
		}
	}
}

// unfinishedAtOnce bounds how many unfinished runs are read at once.
const unfinishedAtOnce = 256

// removeKeys removes the keys of agents that were kept for the gateway.
func removeKeys(state string) (err error) {
	keys, err := filepath.Glob(configs.Config{State: state}.KeyFile("*"))
	for _, key := range keys {
		err = errors.Join(err, os.Remove(key))
	}
	return err
}

// stopGateway ends a gateway that a watcher of the installation has kept. The record of the spending stays, as the
// journal does.
func stopGateway(ctx context.Context, dir string, log *slog.Logger) error {
	asking, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	client := gatewaycontrol.Dial(dir)
	defer client.Close()
	status, err := client.Stop(asking)
	if errors.Is(err, gatewaycontrol.ErrNoGateway) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("end the model gateway: %w", err)
	}
	log.Info("the model gateway ends", "process", status.Process)
	return nil
}

// removeTree removes a directory of ours with everything in it, unless something is still mounted there: files behind a
// mount belong to others.
func removeTree(dir string) error {
	real, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	mounted, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// The kernel writes a space in a path as \040, and so on.
	written := strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`).Replace(real)
	if strings.Contains(string(mounted), " "+written+" ") || strings.Contains(string(mounted), " "+written+"/") {
		return fmt.Errorf("%s is left: something is still mounted there", dir)
	}
	return os.RemoveAll(real)
}
