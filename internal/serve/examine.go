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
	"strings"

	"torno/configs"
	"torno/internal/control"
	"torno/internal/doctor"
	"torno/internal/journal"
	"torno/internal/launcher"
	"torno/internal/version"
	"torno/sandbox/compile"
)

// Examine looks at everything that the doctor judges: the machine, the launchers, the guarantees that they enforce, and
// the places that a child reaches. For a moment it makes an installation of its own, and then removes it. If it cannot
// look at something, it notes the reason.
func Examine(ctx context.Context, c configs.Config, kinds launcher.List) (s doctor.System, err error) {
	s = configured(c, Policies(c))
	s.Host = doctor.LookAtHost(os.DirFS("/"))
	s.Roots = doctor.LookAtRoots(roots(c.Outboxes), s.Host.MayMount)
	look(&s, c)
	askLaunchers(ctx, &s, c, kinds)
	findLeft(ctx, &s, c, kinds)
	askWatcher(ctx, &s, c)
	return s, tryAll(ctx, &s, c, kinds)
}

// configured returns the part of the examination that needs only the configuration.
func configured(c configs.Config, policies []compile.Policy) doctor.System {
	s := doctor.System{User: uint32(os.Geteuid()), Accept: c.Accept, UIDs: doctor.UIDs{First: c.UIDs.First, Last: c.UIDs.Last()}}
	s.UIDs.Users, s.UIDs.Ranges = c.TakenUIDs()
	s.Profiles = profiles(c)
	for i, policy := range policies {
		s.Outboxes = append(s.Outboxes, doctor.Outbox{Name: policy.Outbox, Profiles: c.Outboxes[i].Profiles, Owners: policy.Owners})
	}
	return s
}

func profiles(c configs.Config) (all []doctor.Profile) {
	for _, p := range c.Profiles {
		all = append(all, doctor.Profile{Name: p.Name, Launcher: p.Sandbox, Chosen: p.Chosen, AtLeast: p.AtLeast})
	}
	return all
}

// look compares the configuration with the machine. It leaves out ids, because they are a finding of their own.
func look(s *doctor.System, c configs.Config) {
	warnings, err := c.CheckHost()
	for _, w := range warnings {
		if w.Key != "uids" {
			s.Warnings = append(s.Warnings, w.String())
		}
	}
	if wrong, ok := errors.AsType[*configs.Error](err); ok {
		for _, p := range wrong.Problems {
			s.Problems = append(s.Problems, p.String())
		}
	}
	if err := tryOwners(Policies(c)); err != nil {
		s.Problems = append(s.Problems, err.Error())
	}
}

// askLaunchers asks each launcher about itself.
func askLaunchers(ctx context.Context, s *doctor.System, c configs.Config, kinds launcher.List) {
	named, spare, err := wanted(kinds, c)
	if err != nil {
		return // the trial will say so
	}
	for _, name := range append(named, spare...) {
		about := askAbout(ctx, kinds.Find(name), c)
		about.Spare = slices.Contains(spare, name)
		s.Launchers = append(s.Launchers, about)
	}
}

func askAbout(ctx context.Context, kind *launcher.Kind, c configs.Config) doctor.Launcher {
	about, err := kind.About(ctx, c.SettingsOf(kind.Name))
	if err != nil {
		about.Trouble = err.Error()
	}
	about.Name, about.Nature = kind.Name, kind.Nature
	return about
}

// findLeft asks the usable launchers for things that installations have left on them, and looks for the state of each
// installation.
func findLeft(ctx context.Context, s *doctor.System, c configs.Config, kinds launcher.List) {
	for _, e := range s.Launchers {
		if e.Trouble != "" {
			continue
		}
		left, err := kinds.Find(e.Name).Left(ctx, c.SettingsOf(e.Name))
		if err != nil {
			s.LeftError = err.Error()
		}
		for _, l := range left {
			if own := (doctor.Leftover{Installation: l.Installation, State: c.State}); fateOf(ctx, own) == doctor.Alive {
				l.State = c.State // a launcher need not know the state, and may be misled
			}
			l.Fate = fateOf(ctx, l)
			s.Left = append(s.Left, l)
		}
	}
}

// fateOf returns the fate of an installation. It looks for the installation's state.
func fateOf(ctx context.Context, l doctor.Leftover) doctor.Fate {
	if l.State == "" {
		return doctor.Unclear
	}
	proof := filepath.Join(l.State, JournalName)
	if filepath.Base(l.State) == trialPrefix+l.Installation {
		proof = l.State // a trial has no journal
	}
	switch _, err := os.Stat(proof); {
	case errors.Is(err, fs.ErrNotExist):
		return doctor.Gone
	case err != nil:
		return doctor.Unclear
	case proof == l.State:
		return doctor.Alive
	}
	j, err := journal.OpenReadOnly(ctx, proof)
	if err != nil {
		return doctor.Unclear
	}
	defer j.Close()
	if j.Installation() != l.Installation {
		return doctor.Replaced
	}
	return doctor.Alive
}

// askWatcher asks the running watcher, because its mount namespace counts, and not ours.
func askWatcher(ctx context.Context, s *doctor.System, c configs.Config) {
	status, err := control.Dial(c.State).Status(ctx)
	if err != nil {
		return
	}
	s.Running = &doctor.Running{PID: status.PID, Version: status.Version, Ours: version.String()}
	doctor.LookAtRunning(s.Running, os.DirFS("/"), func(pid int) (string, error) { return os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", pid)) })
	if enforced, ok := status.Enforced(); ok {
		s.Asked, s.Guarantees = "the watcher that runs", enforced
		s.User = userOf(c.State, s.User)
		for i, p := range s.Profiles {
			s.Profiles[i].Launcher, s.Profiles[i].Chosen = status.LauncherOf(p.Name, p.Launcher)
		}
	}
}

// tryAll opens a trial. If the trial cannot be opened, that is a finding. If it cannot be closed, that is an error.
func tryAll(ctx context.Context, s *doctor.System, c configs.Config, kinds launcher.List) error {
	trial, err := OpenTrial(ctx, c, kinds, slog.New(slog.DiscardHandler))
	if err != nil {
		s.LauncherError = strings.ReplaceAll(err.Error(), "\n", "; ")
		return nil
	}
	if s.Guarantees == nil {
		s.Asked, s.Profiles = "a trial", profiles(trial.Config())
		if s.Guarantees, err = trial.Guarantees(ctx); err != nil {
			s.LauncherError = err.Error()
		}
	}
	init, err := findInit(c)
	if err == nil {
		s.Reaches = trial.reaches(ctx, init)
	}
	return errors.Join(err, trial.Close())
}
