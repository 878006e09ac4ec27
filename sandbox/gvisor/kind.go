package gvisor

import (
	"context"
	"errors"
	"fmt"

	"torno/internal/doctor"
	"torno/internal/launcher"
	"torno/internal/programs"
	"torno/internal/runsc"
	"torno/sandbox"
)

// Kind describes this launcher to the rest of the watcher.
var Kind = &launcher.Kind{
	Name: Name,
	Nature: doctor.Nature{
		Title: "gVisor", Program: true, UserNamespaces: true,
		Fixes:   "gVisor publishes fixes as releases and no advisories by number: keep it younger than a few months",
		Install: "put runsc and sandbox-keeper beside the watcher",
		Remedy:  "correct that, or let Docker launch the profiles",
	},
	Keys: []launcher.Key{
		{Name: runscKey, Form: launcher.Program},
		{Name: keeperKey, Form: launcher.Program},
		{Name: cacheKey, Form: launcher.Size, Min: 256 << 20, Max: 64 << 40, Default: int64(defaultImageCache)},
	},
	Unsuited: unsuited, Reach: reach, Open: open, About: about,
	Left:  func(context.Context, launcher.Settings) ([]doctor.Leftover, error) { return Left() },
	Purge: purge,
}

// These are the launcher's keys in the configuration.
const (
	runscKey  = "runsc"
	keeperKey = "keeper"
	cacheKey  = "cache"
)

func unsuited(fs sandbox.RootFS) string {
	_, _, placed := fs.Place()
	if fs.Host || placed || fs.Pinned() {
		return ""
	}
	return fmt.Sprintf("%s has no digest, but gVisor needs images by digest; write NAME@sha256:DIGEST, or rootfs: with dir:, oci: or archive:", fs.Image)
}

// unusable adds the next step to an error.
func unusable(err error) error {
	if err == nil {
		return nil
	}
	e := &launcher.UnusableError{
		Code: "no_gvisor", Next: "do as the error says, or let Docker launch the profiles", Err: fmt.Errorf("gVisor cannot be used: %w", err),
	}
	if wrong, ok := errors.AsType[*runsc.Error](err); ok {
		e.Code, e.Next = "no_runsc", wrong.Next()
	} else if _, ok := errors.AsType[*programs.MissingError](err); ok {
		e.Next = "put sandbox-keeper beside the watcher, where only root and the watcher's user may write, or name it with gvisor.keeper in the configuration"
	}
	return e
}

// keeperName is the name of the program that runs beside each sandbox.
const keeperName = "sandbox-keeper"

func reach(_ context.Context, s launcher.Settings) error {
	err := Reach(Options{Runsc: s.Text(runscKey)})
	if err == nil {
		_, err = programs.Find(keeperName, s.Text(keeperKey))
	}
	return unusable(err)
}

func open(ctx context.Context, s launcher.Setting) (launcher.Launcher, error) {
	program, keeper, err := findPrograms(ctx, s)
	if err != nil {
		return nil, unusable(err)
	}
	options := Options{
		Options: s.Options, KeeperPath: keeper, Runsc: program,
		ImageCache: s.Settings.Size(cacheKey), Floor: s.Floor, FloorFiles: s.FloorFiles,
	}
	return New(ctx, options)
}

// findPrograms finds the keeper and a runsc whose version may be used.
func findPrograms(ctx context.Context, s launcher.Setting) (program, keeper string, err error) {
	found, err := runsc.Find(s.Settings.Text(runscKey))
	if err != nil {
		return "", "", err
	}
	version, err := found.Version(ctx)
	if err != nil {
		return "", "", err
	}
	if warning := version.Warning(); warning != "" {
		s.Log.Warn("this version of gVisor was not tested", "seen", warning, "program", found.Path)
	}
	keeper, err = programs.Find(keeperName, s.Settings.Text(keeperKey))
	return found.Path, keeper, err
}

func about(ctx context.Context, s launcher.Settings) (doctor.Launcher, error) {
	if err := reach(ctx, s); err != nil {
		return doctor.Launcher{}, err
	}
	about, err := About(ctx, Options{Runsc: s.Text(runscKey)})
	return about, unusable(err)
}

func purge(ctx context.Context, s launcher.Setting) error {
	return Purge(ctx, Options{Options: s.Options})
}
