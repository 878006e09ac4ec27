package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"torno/sandbox/docker/engine"
	"torno/sandbox/local"
)

// Purge removes everything of an installation without a Launcher, even if no sandbox can be made any more. From the
// options it needs Installation, StateDir and, if it is not the usual one, Host.
func Purge(ctx context.Context, options Options) (err error) {
	if options.Options, err = options.CheckedForPurge(); err != nil {
		return fmt.Errorf("purge: %w", err)
	}
	if options.Observe == nil {
		options.Observe = func(string, time.Duration) {}
	}
	e, err := engine.Connect(ctx, options.Host, options.Observe)
	if err != nil {
		return err
	}
	l := newLauncher(options, e)
	defer func() { err = errors.Join(err, l.Close()) }()
	if err := l.reachesAll(ctx); err != nil {
		return err
	}
	if _, err := os.Stat(l.dir()); errors.Is(err, fs.ErrNotExist) {
		return errors.Join(l.purgeContainers(ctx), l.stock().Purge(ctx))
	}
	if l.slots, err = local.OpenAnySlots(l.slotsDir()); err != nil {
		return err
	}
	return l.Purge(ctx)
}
