package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"

	"torno/configs"
	"torno/internal/doctor"
	"torno/internal/mounts"
	"torno/sandbox"
)

// Launcher is a sandbox.Launcher as a host has it.
type Launcher interface {
	sandbox.Launcher
	Close() error
}

// Setting is what a launcher is opened with. Its own files are in the directory of its name in StateDir.
type Setting struct {
	Config       configs.Config
	Installation string
	StateDir     string
	Init         string
	Bases        *mounts.Bases
	Log          *slog.Logger
}

// Engine is a kind of launcher.
type Engine struct {
	// Reach says quickly, and without making anything, whether there is an engine to talk to.
	Reach func(context.Context, configs.Config) error
	Open  func(context.Context, Setting) (Launcher, error)
	// About asks the engine about itself, and Left about what installations have on it.
	About func(context.Context, configs.Config) (doctor.Engine, error)
	Left  func(context.Context, configs.Config) ([]doctor.Leftover, error)
	// Purge removes everything of an installation but its own files. It needs no Init and no Bases.
	Purge func(context.Context, Setting) error
}

// Engines are the kinds of launchers, by the name that profiles use.
type Engines map[string]Engine

// Product are those that users have.
var Product = Engines{
	"docker": {Reach: reachDocker, Open: openDocker, About: aboutDocker, Left: leftInDocker, Purge: purgeDocker},
}

// names are all of them, sorted.
func (e Engines) names() []string { return slices.Sorted(maps.Keys(e)) }

// inUse are those that some profile of a configuration names.
func (e Engines) inUse(c configs.Config) (Engines, error) {
	used := Engines{}
	for _, p := range c.Profiles {
		engine, ok := e[p.Sandbox]
		if !ok {
			return nil, fmt.Errorf("profile %s is for the launcher %q, which this watcher does not have", p.Name, p.Sandbox)
		}
		used[p.Sandbox] = engine
	}
	return used, nil
}

func (e Engines) reach(ctx context.Context, c configs.Config) error {
	for _, name := range e.names() {
		if err := e[name].Reach(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// open opens all. Those that are open when one fails are returned with its error.
func (e Engines) open(ctx context.Context, s Setting) (map[string]Launcher, error) {
	opened := map[string]Launcher{}
	log := s.Log
	for _, name := range e.names() {
		s.Log = log.With("launcher", name)
		launcher, err := e[name].Open(ctx, s)
		if err != nil {
			return opened, fmt.Errorf("prepare %s: %w", name, err)
		}
		opened[name] = launcher
	}
	return opened, nil
}

// purge removes what an installation has.
func (e Engines) purge(ctx context.Context, s Setting) error {
	var errs []error
	for _, name := range e.names() {
		err := e[name].Purge(ctx, s)
		if err == nil {
			err = removeTree(filepath.Join(s.StateDir, name))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("remove what %s has of installation %s: %w", name, s.Installation, err))
		}
	}
	return errors.Join(errs...)
}

func closeAll(launchers map[string]Launcher) error {
	var errs []error
	for _, l := range launchers {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

func asLaunchers(opened map[string]Launcher) map[string]sandbox.Launcher {
	all := make(map[string]sandbox.Launcher, len(opened))
	for name, l := range opened {
		all[name] = l
	}
	return all
}
