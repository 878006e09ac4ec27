package serve

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"torno/configs"
	"torno/internal/launcher"
	"torno/internal/lock"
	"torno/sandbox/launchers"
	"torno/test/attack"
)

// alias gives a directory of the shop's a second name.
func (s *shop) alias(dir, name string) string {
	s.Helper()
	name = filepath.Join(s.dir, name)
	s.must(os.MkdirAll(dir, 0o700))
	s.must(os.MkdirAll(name, 0o700))
	if err := unix.Mount(dir, name, "", unix.MS_BIND, ""); err != nil {
		s.Skip("NOTHING WAS TRIED: nothing can be mounted here:", err)
	}
	s.Cleanup(func() { unix.Unmount(name, unix.MNT_DETACH) })
	return name
}

// starts says how a start ends. A host that serves is ended.
func (s *shop) starts() error {
	s.Helper()
	ctx, stop := context.WithTimeout(s.Context(), patience)
	defer stop()
	serving := s.options()
	serving.Wait = false
	opening := serving.Launchers.Find("docker")
	open := opening.Open
	opening.Open = func(ctx context.Context, setting launcher.Setting) (launcher.Launcher, error) {
		l, err := open(ctx, setting)
		stop() // far enough
		return l, err
	}
	return Run(ctx, serving)
}

// TestTwoWatchers on one state or one outbox, by its path and by the second name that a bind mount gives it. With the state of
// another one a watcher does not start; an outbox of another one it does not serve until it is free. The oracle is a lock that
// is named after the path: it lets the second one in.
func TestTwoWatchers(t *testing.T) {
	trial := attack.Trial{Row: "H1", Where: "fake, bind mounts"}
	for what, first := range map[string]func(s *shop) (dir, other string){
		"state": func(s *shop) (string, string) {
			dir := s.config.State
			s.config.State = s.alias(dir, "alias")
			return dir, s.config.State
		},
		"outbox": func(s *shop) (string, string) {
			dir := s.config.Outboxes[0].Dir
			other := s.alias(dir, "alias")
			s.config, _, _ = configs.Local(launchers.All, configs.LocalOptions{Dir: other, State: s.config.State})
			return dir, other
		},
	} {
		s := newShop(t)
		dir, other := first(s)
		held, err := lockers[what](dir, "the first")
		s.must(err)
		trial.Tried++
		if what == "outbox" {
			if s.waitsFor(held, "the first") {
				trial.Held++
			}
			trial.Oracle = dir != other
			continue
		}
		if e, ok := errors.AsType[*lock.HeldError](s.starts()); ok && e.Holder == "the first" {
			trial.Held++
		} else {
			t.Errorf("%s: a second watcher starts by the name %s", what, other)
		}
		s.must(held.Unlock())
		if err := s.starts(); err != nil {
			t.Errorf("%s: without the first one it does not start: %v", what, err)
		}
		trial.Oracle = trial.Oracle || dir != other
	}
	attack.Record(t, trial)
}

// badStates are state directories that a watcher refuses, and how each is mended.
var badStates = map[string]struct {
	spoil, mend func(s *shop)
	want        string
}{
	"another owner": {
		func(s *shop) { s.must(os.Mkdir(s.config.State, 0o700)); s.must(os.Chown(s.config.State, user, user)) },
		func(s *shop) { s.must(os.Chown(s.config.State, 0, 0)) },
		"state belongs to user 2000000077",
	},
	"below another user's directory": {
		func(s *shop) {
			s.config.State = filepath.Join(s.dir, "hers", "deep", "state")
			s.must(os.MkdirAll(s.config.State, 0o700))
			s.must(os.Chown(filepath.Join(s.dir, "hers"), user, user))
		},
		func(s *shop) { s.must(os.Chown(filepath.Join(s.dir, "hers"), 0, 0)) },
		"hers belongs to user 2000000077",
	},
	"to be made below another user's directory": {
		func(s *shop) {
			s.config.State = filepath.Join(s.dir, "hers", "deep", "state")
			s.must(os.Mkdir(filepath.Join(s.dir, "hers"), 0o755))
			s.must(os.Chown(filepath.Join(s.dir, "hers"), user, user))
		},
		func(s *shop) { s.must(os.Chown(filepath.Join(s.dir, "hers"), 0, 0)) },
		"hers belongs to user 2000000077",
	},
	"by a link of another user": {
		func(s *shop) {
			s.must(os.MkdirAll(filepath.Join(s.dir, "real", "state"), 0o700))
			s.must(os.Mkdir(filepath.Join(s.dir, "shared"), 0o755))
			s.must(os.Chmod(filepath.Join(s.dir, "shared"), os.ModeSticky|0o777))
			link := filepath.Join(s.dir, "shared", "link")
			s.must(os.Symlink(filepath.Join(s.dir, "real"), link))
			s.must(os.Lchown(link, user, user))
			s.config.State = filepath.Join(link, "state")
		},
		func(s *shop) { s.must(os.Lchown(filepath.Join(s.dir, "shared", "link"), 0, 0)) },
		"link belongs to user 2000000077",
	},
	"open to the group": {
		func(s *shop) { s.must(os.Mkdir(s.config.State, 0o700)); s.must(os.Chmod(s.config.State, 0o770)) },
		func(s *shop) { s.must(os.Chmod(s.config.State, 0o700)) },
		"is open to others",
	},
	"open to read": {
		func(s *shop) { s.must(os.Mkdir(s.config.State, 0o700)); s.must(os.Chmod(s.config.State, 0o701)) },
		func(s *shop) { s.must(os.Chmod(s.config.State, 0o700)) },
		"is open to others",
	},
	"a link": {
		func(s *shop) {
			s.must(os.Mkdir(s.config.State+".real", 0o700))
			s.must(os.Symlink(s.config.State+".real", s.config.State))
		},
		func(s *shop) { s.config.State += ".real" },
		"is not a directory",
	},
	"in an outbox, by a mount": {
		func(s *shop) {
			inside := filepath.Join(s.config.Outboxes[0].Dir, "state")
			s.must(os.MkdirAll(inside, 0o700))
			s.config.State = s.alias(inside, "alias")
		},
		func(s *shop) { s.config.State = filepath.Join(s.dir, "state") },
		"by another name that a mount gives it",
	},
	"a root, by a mount": {
		func(s *shop) { s.addRoot(s.alias(s.config.State, "alias")) },
		func(s *shop) { s.config.Outboxes[0].Allow = s.config.Outboxes[0].Allow[:1] },
		"by another name that a mount gives it",
	},
	"in a root, by a mount": {
		func(s *shop) {
			s.config.State = filepath.Join(s.dir, "above/state")
			s.addRoot(s.alias(filepath.Join(s.dir, "above"), "alias"))
		},
		func(s *shop) { s.config.Outboxes[0].Allow = s.config.Outboxes[0].Allow[:1] },
		"by another name that a mount gives it",
	},
	"above a root, by a mount": {
		func(s *shop) { s.addRoot(s.alias(filepath.Join(s.config.State, "docker"), "alias")) },
		func(s *shop) { s.config.Outboxes[0].Allow = s.config.Outboxes[0].Allow[:1] },
		"by another name that a mount gives it",
	},
}

// TestBadStates are those that others could have a hand in. Each is taken once what is wrong with it is mended.
func TestBadStates(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give directories to others: nothing was tried")
	}
	trial := attack.Trial{Row: "H2", Where: "fake", Oracle: true}
	for name, c := range badStates {
		s := newShop(t)
		c.spoil(s)
		trial.Tried++
		if err := s.starts(); err != nil && strings.Contains(err.Error(), c.want) {
			trial.Held++
		} else {
			t.Errorf("%s: %v", name, err)
		}
		c.mend(s)
		if err := s.starts(); err != nil {
			trial.Oracle = false
			t.Errorf("%s: once it is mended: %v", name, err)
		}
	}
	attack.Record(t, trial)
}

func (s *shop) addRoot(dir string) {
	s.config.Outboxes[0].Allow = append(s.config.Outboxes[0].Allow, dir)
}

// TestOneDirectoryForTwoOutboxes: both names are said.
func TestOneDirectoryForTwoOutboxes(t *testing.T) {
	s := newShop(t)
	first := s.config.Outboxes[0]
	s.addOutbox(s.alias(first.Dir, "alias"), filepath.Join(s.dir, "free"))
	s.must(s.starts())
	if !strings.Contains(s.said.String(), "outbox=second because=\"outboxes "+first.Name+" and second are one directory") {
		t.Errorf("it is not said:\n%s", &s.said)
	}
}

// TestOutboxesWithSecondNames: an outbox that lies in another one by a mount is closed, and so is one with a root of another
// parent's. A root of its own parent's may be another name of what lies in an outbox.
func TestOutboxesWithSecondNames(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *shop)
		fine   bool
	}{
		"an outbox in another": {func(s *shop) { s.addOutbox(s.alias(s.inOutbox("workspaces/w"), "second"), s.dir+"/free") }, false},
		"another's root":       {func(s *shop) { s.addOutbox(s.dir+"/second", s.alias(s.inOutbox("workspaces"), "alias")) }, false},
		"its own root":         {func(s *shop) { s.addRoot(s.alias(s.inOutbox("workspaces"), "alias")) }, true},
		"a root for both": {func(s *shop) {
			root := s.alias(s.inOutbox("workspaces"), "alias")
			s.addRoot(root)
			s.addOutbox(s.dir+"/second", root)
		}, false},
	} {
		s := newShop(t)
		c.change(s)
		s.must(s.starts())
		closed := strings.Contains(s.said.String(), "an outbox is not served") && strings.Contains(s.said.String(), "by another name")
		if closed == c.fine {
			t.Errorf("%s: one is closed: %t; the log is\n%s", name, closed, &s.said)
		}
	}
}

func (s *shop) inOutbox(rel string) string { return filepath.Join(s.config.Outboxes[0].Dir, rel) }
