package gvisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"torno/sandbox"
	"torno/sandbox/local"
)

// Purge removes everything of an installation but its files, also where no sandbox can be made any more. Of the options it
// needs Installation, StateDir and Known: what a run's sandbox has while its directory is not here stays.
func Purge(ctx context.Context, options Options) (err error) {
	if options.Options, err = options.CheckedForPurge(); err != nil {
		return fmt.Errorf("purge: %w", err)
	}
	l := newLauncher(options)
	if err := l.reachesAll(); err != nil {
		return err
	}
	if _, err := os.Stat(l.dir()); errors.Is(err, fs.ErrNotExist) {
		return l.dropGroups(ctx)
	}
	if l.slots, err = local.OpenAnySlots(l.slotsDir()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	return l.purge(ctx)
}

// reachesAll refuses to purge while a run's sandbox is in another directory: its processes and its control group are here.
func (l *Launcher) reachesAll() (err error) {
	if len(l.options.Known) == 0 {
		return nil
	}
	if err := l.boxes.Recall(); err != nil {
		return err
	}
	for _, h := range l.elsewhere() {
		return fmt.Errorf("%w; nothing of it can be purged from here: bring that directory back to %s, or give its run up with "+
			"watcher cancel --abandon, and purge then", h.On(l.boxes.Site()), l.dir())
	}
	return nil
}

func (l *Launcher) purge(ctx context.Context) error {
	ids, err := l.boxes.All()
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	errs := []error{err}
	for _, id := range ids {
		errs = append(errs, l.Remove(ctx, sandbox.Handle{ID: id}))
	}
	return errors.Join(errors.Join(errs...), l.slots.Sweep(nil), l.dropGroups(ctx))
}

// dropGroups removes all control groups of the installation, and the one that they are in.
func (l *Launcher) dropGroups(ctx context.Context) error {
	if err := l.sweepGroups(ctx, nil); err != nil {
		return err
	}
	return l.groups.Drop(ctx)
}
