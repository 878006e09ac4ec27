package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
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
	"gvisor": {Reach: reachGVisor, Open: openGVisor, About: aboutGVisor, Left: leftInGVisor, Purge: purgeGVisor},
}

// names are all of them, sorted.
func (e Engines) names() []string { return slices.Sorted(maps.Keys(e)) }

// only are those of some names.
func (e Engines) only(names []string) Engines {
	some := Engines{}
	for _, name := range names {
		some[name] = e[name]
	}
	return some
}

// choices are those that auto chooses among.
func (e Engines) choices() (names []string) {
	for _, name := range preferred {
		if _, ok := e[name]; ok {
			names = append(names, name)
		}
	}
	return names
}

// wanted are those that profiles name, and those that profiles with auto may come to have.
func (e Engines) wanted(c configs.Config) (named, spare []string, err error) {
	for _, p := range c.Profiles {
		_, known := e[p.Sandbox]
		switch {
		case p.Sandbox == configs.SandboxAuto:
			spare = e.choices()
		case !known:
			return nil, nil, fmt.Errorf("profile %s is for the launcher %q, which this watcher does not have", p.Name, p.Sandbox)
		case !slices.Contains(named, p.Sandbox):
			named = append(named, p.Sandbox)
		}
	}
	spare = slices.DeleteFunc(spare, func(name string) bool { return slices.Contains(named, name) })
	slices.Sort(named)
	return named, spare, nil
}

// reach makes sure that there is somebody to talk to: every engine that is named, and any of those that will do.
func (e Engines) reach(ctx context.Context, c configs.Config) error {
	named, spare, err := e.wanted(c)
	if err != nil {
		return err
	}
	for _, name := range named {
		if err := e[name].Reach(ctx, c); err != nil {
			return err
		}
	}
	var errs []error
	for _, name := range spare {
		err := e[name].Reach(ctx, c)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	if len(named) > 0 || len(errs) == 0 {
		return nil
	}
	return lone(errs)
}

// purge removes what an installation has. Who was never used and cannot be asked now has nothing.
func (e Engines) purge(ctx context.Context, s Setting) error {
	var errs []error
	for _, name := range e.names() {
		dir := filepath.Join(s.StateDir, name)
		if _, missing := os.Lstat(dir); errors.Is(missing, fs.ErrNotExist) && e[name].Reach(ctx, s.Config) != nil {
			continue
		}
		err := e[name].Purge(ctx, s)
		if err == nil {
			err = removeTree(dir)
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
