package serve

import (
	"context"
	"errors"

	"torno/configs"
	"torno/internal/doctor"
	"torno/internal/runsc"
	"torno/sandbox/gvisor"
)

// NoGVisorError says why gVisor cannot be used here.
type NoGVisorError struct{ Err error }

func (e *NoGVisorError) Error() string { return "gVisor cannot be used: " + e.Err.Error() }

func (e *NoGVisorError) Unwrap() error { return e.Err }

// Next is what to do about it.
func (e *NoGVisorError) Next() string {
	if wrong, ok := errors.AsType[*runsc.Error](e.Err); ok {
		return wrong.Next()
	}
	if _, ok := errors.AsType[*NoProgramError](e.Err); ok {
		return "put sandbox-keeper beside the watcher, where only root and the watcher's user may write, or name it with gvisor.keeper in the configuration"
	}
	return "do what it says, or have profiles launched by Docker"
}

// noGVisor is an error with its next step.
func noGVisor(err error) error {
	if err == nil {
		return nil
	}
	return &NoGVisorError{err}
}

// keeperName is the program that stays beside each sandbox of gVisor.
const keeperName = "sandbox-keeper"

func reachGVisor(_ context.Context, c configs.Config) error {
	err := gvisor.Reach(gvisor.Options{Runsc: c.GVisor.Runsc})
	if err == nil {
		_, err = findProgram(keeperName, c.GVisor.Keeper)
	}
	return noGVisor(err)
}

func openGVisor(ctx context.Context, s Setting) (Launcher, error) {
	program, keeper, err := programsOfGVisor(ctx, s)
	if err != nil {
		return nil, noGVisor(err)
	}
	options := gvisor.Options{
		Installation: s.Installation, StateDir: s.StateDir, InitPath: s.Init, KeeperPath: keeper, Runsc: program, Bases: s.Bases,
		ImageCache: s.Config.GVisor.Cache, Floor: s.Config.Disk.Floor, FloorFiles: s.Config.Disk.FloorFiles, Log: s.Log,
	}
	options.UIDs.First, options.UIDs.Count = uint32(s.Config.UIDs.First), int(s.Config.UIDs.Count)
	return gvisor.New(ctx, options)
}

// programsOfGVisor finds runsc, of a version that may be used, and the keeper.
func programsOfGVisor(ctx context.Context, s Setting) (program, keeper string, err error) {
	found, err := runsc.Find(s.Config.GVisor.Runsc)
	if err != nil {
		return "", "", err
	}
	version, err := found.Version(ctx)
	if err != nil {
		return "", "", err
	}
	if warning := version.Warning(); warning != "" {
		s.Log.Warn("gVisor is not the one that is tested", "seen", warning, "program", found.Path)
	}
	keeper, err = findProgram(keeperName, s.Config.GVisor.Keeper)
	return found.Path, keeper, err
}

func aboutGVisor(ctx context.Context, c configs.Config) (doctor.Engine, error) {
	if err := reachGVisor(ctx, c); err != nil {
		return doctor.Engine{}, err
	}
	about, err := gvisor.About(ctx, gvisor.Options{Runsc: c.GVisor.Runsc})
	return about, noGVisor(err)
}

func leftInGVisor(context.Context, configs.Config) ([]doctor.Leftover, error) { return gvisor.Left() }

func purgeGVisor(ctx context.Context, s Setting) error {
	return gvisor.Purge(ctx, gvisor.Options{Installation: s.Installation, StateDir: s.StateDir, Log: s.Log})
}
