package serve

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"torno/internal/doctor"
	"torno/internal/journal"
	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/sandboxtest"
)

// examine has the shop examined, in which a child says of every address what the function does.
func (s *shop) examine(says func(address string) string) doctor.System {
	s.Helper()
	s.world.Register(runfile.Init, func(_ context.Context, p sandboxtest.ProgramIO) int {
		for _, address := range p.Args[1:] {
			fmt.Fprintln(p.Stdout, says(address))
		}
		return 0
	})
	system, err := Examine(s.Context(), s.config, s.launchers())
	s.must(err)
	return system
}

func TestExamineLeavesNothing(t *testing.T) {
	s := newShop(t)
	s.makeOutbox()
	before := s.lookedAt()
	system := s.examine(func(string) string { return "connect: network is unreachable" })
	if after := s.lookedAt(); !slices.Equal(before, after) {
		t.Errorf("there was %v and is %v", before, after)
	}
	if system.Asked != "a trial" || !system.Guarantees["docker"][sandbox.NoNetwork].Enforced || len(system.Launchers) != 1 || system.Launchers[0].Trouble != "" || system.LauncherError != "" {
		t.Errorf("what is enforced is %v, by %s; %s", system.Guarantees, system.Asked, system.LauncherError)
	}
	if len(system.Profiles) != 1 || len(system.Outboxes) != 1 || len(system.Outboxes[0].Owners) != 1 || len(system.Roots) != 1 || len(system.Problems) > 0 {
		t.Errorf("%+v", system)
	}
	if n := len(system.Reaches); n < 2 || system.Reaches[0].Child == "" || system.Reaches[0].Address != "unix:"+s.config.EngineSockets()[0] {
		t.Errorf("a child reached %+v", system.Reaches)
	}
	if !strings.Contains(system.Reaches[0].Host, "the attempt itself failed") { // the shop's init is an empty file
		t.Errorf("the oracle is %+v", system.Reaches[0])
	}
}

// TestAHoleIsSeen: whatever a child reaches is told of, also a socket of which the host knows nothing.
func TestAHoleIsSeen(t *testing.T) {
	s := newShop(t)
	s.makeOutbox()
	for _, hole := range []string{"unix:" + s.config.EngineSockets()[0], metadataAddress, "unix:/run/podman/podman.sock"} {
		system := s.examine(func(address string) string {
			if address == hole {
				return runfile.Reached
			}
			return "connect: no such file or directory"
		})
		i := slices.IndexFunc(system.Reaches, func(r doctor.Reach) bool { return r.Child == "" })
		if i < 0 || system.Reaches[i].Address != hole {
			t.Errorf("through %s: %+v", hole, system.Reaches)
		}
	}
}

func TestAChildThatSaysSomethingElseProvesNothing(t *testing.T) {
	s := newShop(t)
	s.makeOutbox()
	system := s.examine(func(string) string { return "two\nlines" })
	if len(system.Reaches) != 1 || !strings.Contains(system.Reaches[0].Error, "it said") {
		t.Errorf("%+v", system.Reaches)
	}
}

func TestARunningWatcherIsAsked(t *testing.T) {
	s := newShop(t)
	ended := s.open()
	s.world.Enforce(sandbox.SwapLimit, false, "the watcher says so")
	system := s.examine(func(string) string { return "no" })
	if system.Asked != "the watcher that runs" || system.Guarantees["docker"][sandbox.SwapLimit].By != "the watcher says so" {
		t.Errorf("%s says %v", system.Asked, system.Guarantees["docker"][sandbox.SwapLimit])
	}
	s.signals <- syscall.SIGTERM
	s.end(ended)
}

func TestATrialThatCannotBeOpenedIsAFinding(t *testing.T) {
	s := newShop(t)
	s.openErr = fmt.Errorf("boom")
	if err := os.WriteFile(s.config.Outboxes[0].Dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	system, err := Examine(t.Context(), s.config, s.launchers())
	if err != nil || !strings.Contains(system.LauncherError, "boom") || system.Guarantees != nil {
		t.Errorf("%+v, %v", system, err)
	}
	if !slices.ContainsFunc(system.Problems, func(p string) bool { return strings.Contains(p, "is not a directory") }) {
		t.Errorf("a file in the place of an outbox is no problem: %q", system.Problems)
	}
}

func TestFates(t *testing.T) {
	state := func(name string) (dir, id string) {
		dir = filepath.Join(t.TempDir(), name)
		j, err := journal.Open(t.Context(), filepath.Join(dir, JournalName))
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		return dir, j.Installation()
	}
	alive, id := state("alive")
	other, _ := state("other")
	gone := filepath.Join(t.TempDir(), "gone")
	empty := t.TempDir()
	trial := filepath.Join(empty, "check-0123456789abcdef")
	if err := os.Mkdir(trial, 0o700); err != nil {
		t.Fatal(err)
	}
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, JournalName), []byte("no journal"), 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]doctor.Fate{
		alive: doctor.Alive, other: doctor.Replaced, gone: doctor.Gone, empty: doctor.Gone, "": doctor.Unclear, broken: doctor.Unclear,
	} {
		if got := fateOf(t.Context(), doctor.Leftover{Installation: id, State: dir}); got != want {
			t.Errorf("%q is %s, want %s", dir, got, want)
		}
	}
	if got := fateOf(t.Context(), doctor.Leftover{Installation: "0123456789abcdef", State: trial}); got != doctor.Alive {
		t.Errorf("a trial that runs is %s", got)
	}
}
