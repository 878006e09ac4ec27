package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"torno/internal/mounts"
)

// Purge removes everything of an installation without a Launcher, also where no sandbox can be made any more. Of the
// options it needs Installation, StateDir and, where it is not the usual one, Host.
func Purge(ctx context.Context, options Options) (err error) {
	if options.Options, err = options.CheckedForPurge(); err != nil {
		return fmt.Errorf("purge: %w", err)
	}
	if options.Observe == nil {
		options.Observe = func(string, time.Duration) {}
	}
	e, err := connect(ctx, options.Host, options.Observe)
	if err != nil {
		return err
	}
	l := &Launcher{
		options: options, engine: e, names: naming{options.Installation, options.StateDir}, idmaps: mounts.NewIDMaps(), boxes: map[string]*box{},
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if err := l.reachesAll(ctx); err != nil {
		return err
	}
	if _, err := os.Stat(l.dir()); errors.Is(err, fs.ErrNotExist) {
		return errors.Join(l.purgeContainers(ctx), l.purgeVolumes(ctx), l.purgeImages(ctx))
	}
	if l.slots, err = openAnySlots(l.dir()); err != nil {
		return err
	}
	return l.Purge(ctx)
}

// openAnySlots opens the slots of an earlier life. By handle it finds their own mount, which goes when they are closed;
// where nothing may be mounted there is none.
func openAnySlots(dir string) (*mounts.Slots, error) {
	slots, err := mounts.OpenSlots(filepath.Join(dir, "slots"), 0, true)
	if err != nil {
		slots, err = mounts.OpenSlots(filepath.Join(dir, "slots"), 0, false)
	}
	if err != nil {
		return nil, fmt.Errorf("open the slots: %w", err)
	}
	return slots, nil
}
