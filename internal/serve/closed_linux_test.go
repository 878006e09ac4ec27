package serve

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"torno/configs"
	"torno/delegation"
	"torno/sandbox/compile"
	"torno/test/attack"
	"torno/test/hungfs"
)

// doings are what a parent can make true of its own outbox.
var doings = map[string]func(outbox string) (do, undo func() error){
	"a root is a file": func(outbox string) (do, undo func() error) {
		root := filepath.Join(outbox, "workspaces")
		return func() error { return errors.Join(os.Rename(root, root+".away"), os.WriteFile(root, nil, 0o600)) },
			func() error { return errors.Join(os.Remove(root), os.Rename(root+".away", root)) }
	},
	"the outbox is gone": func(outbox string) (do, undo func() error) {
		return func() error { return os.Rename(outbox, outbox+".away") }, func() error { return os.Rename(outbox+".away", outbox) }
	},
	"the outbox is a file": func(outbox string) (do, undo func() error) {
		return func() error { return errors.Join(os.Rename(outbox, outbox+".away"), os.WriteFile(outbox, nil, 0o600)) },
			func() error { return errors.Join(os.Remove(outbox), os.Rename(outbox+".away", outbox)) }
	},
	"the outbox is a link": func(outbox string) (do, undo func() error) {
		return func() error {
				return errors.Join(os.Rename(outbox, outbox+".away"), os.Symlink(outbox+".away", outbox))
			},
			func() error { return errors.Join(os.Remove(outbox), os.Rename(outbox+".away", outbox)) }
	},
}

// other has ask and answer go to the second outbox.
func (s *shop) other(do func()) {
	s.Helper()
	boxes := s.config.Outboxes
	s.config.Outboxes = []configs.Outbox{boxes[1], boxes[0]}
	do()
	s.config.Outboxes = boxes
}

// served says whether the first outbox is served.
func (s *shop) served(id string) {
	s.Helper()
	s.ask(id, "echo served")
	if r := s.answer(id); r.Status != delegation.StatusCompleted {
		s.Errorf("%s: %+v", id, r)
	}
}

// isBack undoes what closed the second outbox, and waits until that is served by itself.
func (s *shop) isBack(undo func() error, id string) {
	s.Helper()
	s.must(undo())
	s.other(func() { s.served(id) })
}

func (s *shop) saysClosed(times int) {
	s.Helper()
	s.eventually("it is said", func() bool {
		return strings.Count(s.said.String(), `msg="an outbox is not served; the watcher looks at it again until it can serve it, and serves the others" outbox=second`) >= times
	})
}

// TestAParentClosesItsOwnOutboxAlone (H26): before a start, before a reload, in the middle of one, and while everything is
// opened anew. The others are served, and when it is mended, its own is.
func TestAParentClosesItsOwnOutboxAlone(t *testing.T) {
	trial := attack.Trial{Row: "H26", Where: "fake", Oracle: true}
	for name, doing := range doings {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			s.asItIs = true
			s.must(os.MkdirAll(filepath.Join(s.config.Outboxes[0].Dir, "workspaces"), 0o700))
			second := filepath.Join(s.dir, "second")
			s.addOutbox(second, filepath.Join(second, "workspaces"))
			do, undo := doing(second)

			s.must(do())
			next := s.config
			var between atomic.Value
			between.Store(func() {})
			s.beforeReach = func() { between.Load().(func())() }
			ended := s.reloads(func() (configs.Config, error) {
				next.MaxRunning++
				return next, nil
			})
			s.saysClosed(1)
			s.served("start")
			s.isBack(undo, "start2")

			var release func()
			s.other(func() { release = s.running("held") })
			s.must(do())
			s.signals <- syscall.SIGHUP
			s.saysClosed(2)
			s.served("reload")
			s.isBack(undo, "reload2")

			left := func() int { return strings.Count(s.said.String(), "leaving the unfinished runs to the next watcher") }
			before, once := left(), sync.Once{}
			between.Store(func() {
				if left() > before { // the old host has ended
					once.Do(func() { s.must(do()) })
				}
			})
			s.signals <- syscall.SIGHUP
			s.saysClosed(3)
			s.served("between")
			s.isBack(undo, "between2")
			release()
			s.other(func() {
				if r := s.answer("held"); r.Status != delegation.StatusCompleted || !strings.HasPrefix(r.StdoutTail, "before\n") {
					s.Errorf("the run that went on: %+v", r)
				}
			})
			s.stop(ended)
		})
		trial.Tried++
		if !t.Failed() {
			trial.Held++
		}
	}
	attack.Record(t, trial)
}

// TestAnOutboxThatHangsClosesItself (H26): the file system of one outbox's root does not answer when the watcher starts.
func TestAnOutboxThatHangsClosesItself(t *testing.T) {
	s := newShop(t)
	s.asItIs = true
	s.timing.Respond = 100 * time.Millisecond
	s.must(os.MkdirAll(filepath.Join(s.config.Outboxes[0].Dir, "workspaces"), 0o700))
	second, stuck := filepath.Join(s.dir, "second"), filepath.Join(s.dir, "stuck")
	s.must(os.Mkdir(stuck, 0o755))
	s.addOutbox(second, filepath.Join(second, "workspaces"))
	s.config.Outboxes[1].Read = []string{filepath.Join(stuck, "s1")}
	fs := hungfs.Mount(t, stuck, "s1")
	fs.Hang()
	ended := s.open()
	s.saysClosed(1)
	s.served("start")
	fs.Abort()
	s.isBack(func() error {
		if err := unix.Unmount(stuck, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) { // it may have gone by itself
			return err
		}
		return os.Mkdir(filepath.Join(stuck, "s1"), 0o755)
	}, "start2")
	s.stop(ended)
}

// twoParents have outboxes in directories of their own, on the way to which each can put links.
func (s *shop) twoParents() (a, b string) {
	s.Helper()
	s.asItIs = true
	first := &s.config.Outboxes[0]
	a, b = filepath.Join(s.dir, "pa", "x", "outbox"), filepath.Join(s.dir, "pb", "outbox")
	first.Dir, first.Allow, first.Paths = a, []string{filepath.Join(a, "workspaces")}, nil
	s.must(os.MkdirAll(first.Allow[0], 0o700))
	s.addOutbox(b, filepath.Join(b, "workspaces"))
	return a, b
}

// TestALinkClosesTheOutboxThatItLeadsAway (H26): a parent puts a link on the way to its outbox or to a root of it, which leads to the
// other's, to the state or to a profile's programs. The other is served under its own name, whatever else is closed meanwhile.
func TestALinkClosesTheOutboxThatItLeadsAway(t *testing.T) {
	trial := attack.Trial{Row: "H26", Where: "fake, links", Oracle: true}
	for what, third := range map[string]bool{
		"the way to the outbox": false, "the outbox itself": false, "a root to the outbox": false, "a root to the state": false,
		"a root to programs": false, "the way to the outbox, and a third is away": true, "a root to the outbox, and a third is away": true,
	} {
		t.Run(what, func(t *testing.T) {
			s := newShop(t)
			a, b := s.twoParents()
			work, programs := filepath.Join(s.dir, "pa", "work"), filepath.Join(s.dir, "programs")
			s.must(errors.Join(os.Mkdir(work, 0o700), os.MkdirAll(filepath.Join(programs, "sub"), 0o755)))
			s.config.Outboxes[0].Allow = []string{work}
			s.config.Profiles[0].Programs = []compile.Programs{{Host: programs, As: "/opt/programs"}}
			if third {
				o := s.config.Outboxes[1]
				o.Name, o.Dir, o.Allow = "third", filepath.Join(s.dir, "pc"), []string{filepath.Join(s.dir, "pc", "workspaces")}
				s.must(os.MkdirAll(o.Allow[0], 0o700))
				s.config.Outboxes = append(s.config.Outboxes, o)
			}
			next := s.config
			ended := s.reloads(func() (configs.Config, error) {
				next.MaxRunning++
				return next, nil
			})
			s.other(func() { s.served("before") })
			link := func(path, to string) { s.must(errors.Join(os.Rename(path, path+".away"), os.Symlink(to, path))) }
			switch {
			case strings.HasPrefix(what, "the way to the outbox"):
				link(filepath.Dir(a), filepath.Dir(b))
			case what == "the outbox itself":
				link(a, filepath.Dir(b))
			case strings.HasPrefix(what, "a root to the outbox"):
				link(work, b)
			case what == "a root to the state":
				link(work, s.config.State)
			case what == "a root to programs":
				link(work, filepath.Join(programs, "sub"))
			}
			if third {
				s.must(os.Rename(filepath.Join(s.dir, "pc"), filepath.Join(s.dir, "pd")))
			}
			s.signals <- syscall.SIGHUP
			s.eventually("it is served again", func() bool { return strings.Count(s.said.String(), "msg=serving ") == 2 })
			if !strings.Contains(s.said.String(), `serves the others" outbox=`+s.config.Outboxes[0].Name) || strings.Contains(s.said.String(), `serves the others" outbox=second`) {
				t.Errorf("the wrong one is closed:\n%s", &s.said)
			}
			s.other(func() {
				s.served("after")
				beat, err := os.ReadFile(filepath.Join(b, delegation.HeartbeatName))
				if err != nil || !strings.Contains(string(beat), `"outbox": "second"`) {
					t.Errorf("it is served as %s, %v", beat, err)
				}
			})
			s.stop(ended)
		})
		trial.Tried++
		if !t.Failed() {
			trial.Held++
		}
	}
	attack.Record(t, trial)
}

// TestAClosedOutboxThatHangsHoldsNoStopUp (H26): its file system stops answering while it is looked at.
func TestAClosedOutboxThatHangsHoldsNoStopUp(t *testing.T) {
	s := newShop(t)
	s.asItIs = true
	s.must(os.MkdirAll(filepath.Join(s.config.Outboxes[0].Dir, "workspaces"), 0o700))
	second := filepath.Join(s.dir, "second")
	s.addOutbox(second, filepath.Join(second, "workspaces"))
	s.must(os.Rename(second, second+".away"))
	ended := s.open()
	s.served("one")
	s.must(os.Mkdir(second, 0o700))
	fs := hungfs.Mount(t, second, "workspaces")
	fs.Hang()
	<-fs.Waits()
	s.served("two")
	s.signals <- syscall.SIGTERM
	s.end(ended)
	fs.Abort()
}

// TestAParentKeepsNoRightsByMovingAway (H26): the operator takes a root from an outbox whose directory is away.
func TestAParentKeepsNoRightsByMovingAway(t *testing.T) {
	s := newShop(t)
	a, _ := s.twoParents()
	secret := filepath.Join(s.dir, "secret")
	s.must(os.MkdirAll(secret, 0o700))
	s.config.Outboxes[0].Read = []string{secret}
	next := s.config
	next.Outboxes = slices.Clone(next.Outboxes)
	next.Outboxes[0].Read = nil
	ended := s.reloads(func() (configs.Config, error) { return next, nil })
	s.must(os.Rename(a, a+".away"))
	s.signals <- syscall.SIGHUP
	s.eventually("it is taken", func() bool { return strings.Count(s.said.String(), "msg=serving ") == 2 })
	s.stop(ended)
}
