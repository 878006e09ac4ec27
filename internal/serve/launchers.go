package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"torno/configs"
	"torno/internal/launcher"
	"torno/internal/mounts"
	"torno/sandbox"
	"torno/sandbox/local"
)

// setting holds the arguments for opening launchers.
type setting struct {
	config       configs.Config
	installation string
	stateDir     string
	init         string
	bases        *mounts.Bases
	handles      map[string][]sandbox.Handle // by launcher: the sandboxes of runs that have not ended, also on another site
	log          *slog.Logger
}

// of returns the setting of one launcher.
func (s setting) of(name string) launcher.Setting {
	return launcher.Setting{
		Options: local.Options{
			Installation: local.Installation(s.installation), StateDir: s.stateDir, InitPath: s.init, Bases: s.bases,
			UIDs:    local.UIDRange{First: uint32(s.config.UIDs.First), Count: int(s.config.UIDs.Count)},
			Engines: s.config.EngineSockets(), Known: s.handles[name], Log: s.log.With("launcher", name),
		},
		Settings: s.config.SettingsOf(name), Mounts: string(s.config.Mounts), Floor: s.config.Disk.Floor, FloorFiles: s.config.Disk.FloorFiles,
	}
}

// wanted returns the launchers that profiles name, and the launchers that profiles with auto may get.
func wanted(l launcher.List, c configs.Config) (named, spare []string, err error) {
	for _, p := range c.Profiles {
		switch {
		case p.Sandbox == configs.SandboxAuto:
			spare = l.Names()
		case l.Find(p.Sandbox) == nil:
			return nil, nil, fmt.Errorf("profile %s is for the launcher %q, which this watcher does not have", p.Name, p.Sandbox)
		case !slices.Contains(named, p.Sandbox):
			named = append(named, p.Sandbox)
		}
	}
	spare = slices.DeleteFunc(spare, func(name string) bool { return slices.Contains(named, name) })
	slices.Sort(named)
	return named, spare, nil
}

// reach makes sure that sandboxes can be made: by every launcher that is named, and by at least one launcher that auto
// may choose.
func reach(ctx context.Context, l launcher.List, c configs.Config) error {
	named, spare, err := wanted(l, c)
	if err != nil {
		return err
	}
	for _, name := range named {
		if err := l.Find(name).Reach(ctx, c.SettingsOf(name)); err != nil {
			return err
		}
	}
	var errs []error
	for _, name := range spare {
		err := l.Find(name).Reach(ctx, c.SettingsOf(name))
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	if len(named) > 0 || len(errs) == 0 {
		return nil
	}
	return lone(l, errs)
}

// purge removes everything that an installation has, launcher by launcher. When the sandboxes of a launcher are gone,
// it first calls removed, and then removes the launcher's directory. That directory says on which site the sandboxes
// were, so a purge that ends between the two can be repeated. A launcher that was never used and cannot be asked now
// has nothing.
func purge(ctx context.Context, l launcher.List, s setting, removed func(launcher string) error) error {
	var errs []error
	for name, handles := range s.handles {
		if l.Find(name) == nil {
			errs = append(errs, fmt.Errorf("the sandboxes of %d runs belong to launcher %s, which this program does not have", len(handles), name))
		}
	}
	for _, kind := range l {
		dir := filepath.Join(s.stateDir, kind.Name)
		_, missing := os.Lstat(dir)
		if errors.Is(missing, fs.ErrNotExist) && len(s.handles[kind.Name]) == 0 && kind.Reach(ctx, s.config.SettingsOf(kind.Name)) != nil {
			continue
		}
		err := kind.Purge(ctx, s.of(kind.Name))
		if err == nil {
			err = removed(kind.Name)
		}
		if err == nil {
			err = removeTree(dir)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("remove everything that %s has of installation %s: %w", kind.Name, s.installation, err))
		}
	}
	return errors.Join(errs...)
}

func closeAll(launchers map[string]launcher.Launcher) error {
	var errs []error
	for _, l := range launchers {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

func asLaunchers(opened map[string]launcher.Launcher, exchanged chan<- struct{}) map[string]sandbox.Launcher {
	all := make(map[string]sandbox.Launcher, len(opened))
	for name, l := range opened {
		all[name] = hearing{l, exchanged}
	}
	return all
}
