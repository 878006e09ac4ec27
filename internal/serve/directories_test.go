package serve

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"torno/delegation"
	"torno/internal/launcher"
	"torno/internal/lock"
	"torno/test/attack"
)

// swap puts another directory, with all that an outbox has, in the outbox's place. The real one lies beside it then.
func (s *shop) swap() {
	s.Helper()
	dir := s.config.Outboxes[0].Dir
	s.must(os.Rename(dir, dir+".real"))
	s.must(os.MkdirAll(filepath.Join(dir, "workspaces"), 0o770))
}

// TestTheOutboxIsSwappedWhileAWatcherStarts: the lock, the roots and the watcher are of one directory, or there is no
// start. The oracle looks the path up each time, as it was done once.
func TestTheOutboxIsSwappedWhileAWatcherStarts(t *testing.T) {
	trial := attack.Trial{Row: "O23", Where: "fake, at the start"}

	s := newShop(t)
	h := &host{Options: s.options(), closed: closedOutboxes{}}
	defer func() { s.must(h.close()) }()
	s.must(h.makeOutboxes(t.Context()))
	s.must(h.makeState(t.Context()))
	s.must(h.openOutboxes(t.Context()))
	s.swap()
	trial.Tried++
	s.must(h.openRoots(t.Context()))
	if why := h.closed[s.config.Outboxes[0].Name]; errors.Is(why, delegation.ErrMoved) {
		trial.Held++
	} else {
		t.Errorf("the roots of another directory are held: %v", why)
	}
	bases, err := openBases(h.Config, roots(h.Config.Outboxes), h.Log)
	s.must(err)
	defer bases.Close()
	swapped, err := os.Stat(s.config.Outboxes[0].Dir)
	s.must(err)
	trial.Oracle = bases.Is(s.config.Outboxes[0].Dir, swapped)

	trial.Tried++
	if s.servesTheRealOne() {
		trial.Held++
	}
	attack.Record(t, trial)
}

// servesTheRealOne swaps when everything but the watcher is there, and says whether what lies at the path then is left
// alone.
func (s *shop) servesTheRealOne() bool {
	s.Helper()
	dir := s.config.Outboxes[0].Dir
	s.must(errors.Join(os.RemoveAll(dir), os.RemoveAll(dir+".real")))
	options := s.options()
	opening := options.Launchers.Find("docker")
	open := opening.Open
	opening.Open = func(ctx context.Context, setting launcher.Setting) (launcher.Launcher, error) {
		s.swap()
		return open(ctx, setting)
	}
	ended := make(chan error)
	go func() { ended <- Run(s.Context(), options) }()
	s.eventually("it serves", func() bool { return strings.Contains(s.said.String(), "msg=serving ") })
	s.signals <- syscall.SIGTERM
	s.must(<-ended)
	_, err := os.Lstat(filepath.Join(dir, delegation.HeartbeatName))
	return errors.Is(err, fs.ErrNotExist)
}

// addOutbox adds an outbox like the first one.
func (s *shop) addOutbox(dir, root string) {
	s.Helper()
	second := s.config.Outboxes[0]
	second.Name, second.Dir, second.Allow, second.Paths = "second", dir, []string{root}, nil
	for _, made := range []string{dir, root} {
		s.must(os.MkdirAll(made, 0o700))
	}
	s.config.Outboxes = append(s.config.Outboxes, second)
}

// waitsFor says whether a watcher serves what is its own while another one, who, has the lock of its first outbox, and that one
// too when the lock is free.
func (s *shop) waitsFor(held *lock.Lock, who string) (waits bool) {
	s.Helper()
	own := filepath.Join(s.dir, "own")
	s.addOutbox(own, filepath.Join(own, "workspaces"))
	ended := s.open()
	s.eventually("the holder is named", func() bool {
		return strings.Contains(s.said.String(), "another watcher serves "+s.config.Outboxes[0].Dir+": "+who)
	})
	s.eventually("it is told from what is served", func() bool {
		said := s.said.String()
		return strings.Contains(said, "waits_for=\""+s.config.Outboxes[0].Dir+" (") && strings.Contains(said, "outboxes=\""+own+" (second)\"")
	})
	s.ask("shared", "echo shared")
	first := s.config.Outboxes[0]
	s.config.Outboxes[0] = s.config.Outboxes[1]
	s.ask("own", "echo own")
	s.answer("own")
	s.config.Outboxes[0] = first
	_, err := os.Lstat(filepath.Join(first.Dir, "response_shared.json"))
	waits = errors.Is(err, fs.ErrNotExist)
	if !waits {
		s.Error("the outbox of another watcher is served")
	}
	s.must(held.Unlock())
	s.answer("shared")
	s.signals <- syscall.SIGTERM
	s.end(ended)
	return waits
}

// TestTheSecondWatcherOfASecondName is for H1 without a mount: see TestSecondNamesOfTheHost for those with one.
func TestTheSecondWatcherOfASecondName(t *testing.T) {
	s := newShop(t)
	s.must(os.MkdirAll(filepath.Join(s.config.Outboxes[0].Dir, "workspaces"), 0o755))
	link := filepath.Join(s.dir, "link")
	s.must(os.Symlink(filepath.Dir(s.config.Outboxes[0].Dir), link))
	held, err := lockers["outbox"](filepath.Join(link, "outbox"), "the first")
	s.must(err)
	s.waitsFor(held, "the first")
}
