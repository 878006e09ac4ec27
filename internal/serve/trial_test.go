package serve

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"torno/configs"
	"torno/delegation"
	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/compile"
	"torno/sandbox/sandboxtest"
)

// quiet is a log that goes nowhere.
var quiet = slog.New(slog.DiscardHandler)

// makeOutbox makes what a watcher would have made.
func (s *shop) makeOutbox() {
	s.Helper()
	s.must(os.MkdirAll(s.config.Outboxes[0].Allow[0], 0o755))
}

// lookedAt is what is in the shop's directory.
func (s *shop) lookedAt() (names []string) {
	s.Helper()
	s.must(filepath.WalkDir(s.dir, func(path string, _ os.DirEntry, err error) error {
		names = append(names, path)
		return err
	}))
	return names
}

func TestATrialLeavesNothing(t *testing.T) {
	s := newShop(t)
	s.makeOutbox()
	s.world.Register(runfile.Init, func(context.Context, sandboxtest.ProgramIO) int { return 0 })
	before := s.lookedAt()
	trial, err := OpenTrial(t.Context(), s.config, s.launchers(), quiet)
	s.must(err)
	if g, err := trial.Guarantees(t.Context()); err != nil || !g["docker"][sandbox.NoNetwork].Enforced {
		t.Errorf("the guarantees are %v, %v", g, err)
	}
	policy := Policies(s.config)[0]
	attempt, err := trial.Try(t.Context(), policy, policy.Profiles[0])
	if err != nil || attempt.Profile != "default" || attempt.Create <= 0 || attempt.Start <= 0 || attempt.Remove <= 0 {
		t.Errorf("the attempt is %+v, %v", attempt, err)
	}
	if n := s.world.Calls(sandboxtest.OpRemove); n != 1 {
		t.Errorf("%d sandboxes were removed", n)
	}
	s.must(trial.Close())
	if after := s.lookedAt(); !slices.Equal(before, after) {
		t.Errorf("there was %v and is %v", before, after)
	}
	if len(s.purged) != 1 || len(s.purged[0]) != 16 || s.closed != 1 {
		t.Errorf("purged are %v, closed %d", s.purged, s.closed)
	}
}

func TestATrialThatFailsLeavesNothingEither(t *testing.T) {
	boom := errors.New("boom")
	s := newShop(t)
	s.makeOutbox()
	before := s.lookedAt()
	s.openErr = boom
	if _, err := OpenTrial(t.Context(), s.config, s.launchers(), quiet); !errors.Is(err, boom) {
		t.Errorf("it opens: %v", err)
	}
	s.openErr = nil
	for _, op := range []sandboxtest.Op{sandboxtest.OpCreate, sandboxtest.OpStart, sandboxtest.OpOpen, sandboxtest.OpWait, sandboxtest.OpRemove} {
		s.world.Fail(op, 1, boom)
		trial, err := OpenTrial(t.Context(), s.config, s.launchers(), quiet)
		s.must(err)
		policy := Policies(s.config)[0]
		if _, err := trial.Try(t.Context(), policy, policy.Profiles[0]); err == nil {
			t.Errorf("%s fails and the trial does not", op)
		}
		s.must(trial.Close())
	}
	if after := s.lookedAt(); !slices.Equal(before, after) {
		t.Errorf("there was %v and is %v", before, after)
	}
	if len(s.purged) != 6 {
		t.Errorf("%d installations were purged", len(s.purged))
	}
}

func TestAnAgentThatCannotDoNothingFails(t *testing.T) {
	s := newShop(t)
	s.makeOutbox()
	s.world.Register(runfile.Init, func(context.Context, sandboxtest.ProgramIO) int { return 3 })
	trial, err := OpenTrial(t.Context(), s.config, s.launchers(), quiet)
	s.must(err)
	defer func() { s.must(trial.Close()) }()
	policy := Policies(s.config)[0]
	if _, err := trial.Try(t.Context(), policy, policy.Profiles[0]); err == nil || !strings.Contains(err.Error(), "exit code 3") {
		t.Errorf("the attempt ends with %v", err)
	}
	policy.Allow = []compile.Root{compile.Root(filepath.Join(s.dir, "none"))}
	if _, err := trial.Try(t.Context(), policy, policy.Profiles[0]); err == nil {
		t.Error("a root that is missing does not matter")
	}
	policy.Hidden = []string{s.dir}
	policy.Allow = Policies(s.config)[0].Allow
	_, err = trial.Try(t.Context(), policy, policy.Profiles[0])
	if _, ok := errors.AsType[*delegation.Refusal](err); !ok {
		t.Errorf("policy does not count: %v", err)
	}
	if left, _ := filepath.Glob(s.config.Outboxes[0].Allow[0] + "/.*"); len(left) > 0 {
		t.Errorf("workspaces are left: %v", left)
	}
}

// TestAProfileWithAnAgentIsTried: the trial's program runs by itself, and not as if it were the agent.
func TestAProfileWithAnAgentIsTried(t *testing.T) {
	s := newShop(t)
	s.makeOutbox()
	var ran []string
	s.world.Register(runfile.Init, func(_ context.Context, p sandboxtest.ProgramIO) int { ran = p.Args; return 0 })
	trial, err := OpenTrial(t.Context(), s.config, s.launchers(), quiet)
	s.must(err)
	defer func() { s.must(trial.Close()) }()
	policy := Policies(s.config)[0]
	profile := policy.Profiles[0]
	profile.Agent, profile.Model, profile.Messages, profile.Command = "claude", "opus", true, []string{"claude"}
	if _, err := trial.Try(t.Context(), policy, profile); err != nil || !slices.Equal(ran, []string{"version"}) {
		t.Errorf("it ran %q: %v", ran, err)
	}
}

func TestATrialHasUIDsOfItsOwn(t *testing.T) {
	for all, want := range map[configs.UIDs]configs.UIDs{
		{First: 100_000, Count: 65_536}: {First: 165_532, Count: 4}, {First: 100_000, Count: 5}: {First: 100_001, Count: 4},
		{First: 100_000, Count: 3}: {First: 100_000, Count: 3},
	} {
		if got := lastOf(all); got != want {
			t.Errorf("of %+v a trial gets %+v, want %+v", all, got, want)
		}
	}
}

func TestParentView(t *testing.T) {
	policy := compile.Policy{Paths: []compile.PathMap{
		{Parent: "/outbox", Here: "/srv/outbox"}, {Parent: "/deep", Here: "/srv/outbox/deep"}, {Parent: "/same", Here: "/same"},
	}}
	for here, want := range map[string]string{
		"/srv/outbox/w/1": "/outbox/w/1", "/srv/outbox": "/outbox", "/srv/outbox/deep/x": "/deep/x", "/srv/outboxes/x": "/srv/outboxes/x", "/same/x": "/same/x",
	} {
		if got := parentView(policy, here); got != want {
			t.Errorf("%s is %s to the parent, want %s", here, got, want)
		}
	}
}

func TestWhatIsMadeBelongsToTheDirectoryAroundIt(t *testing.T) {
	dir := t.TempDir()
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, 1234, 2345); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second time it is there
		if err := makeShared(filepath.Join(dir, "outbox")); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(filepath.Join(dir, "outbox"))
	if err != nil || info.Mode() != os.ModeDir|outboxMode {
		t.Fatalf("it has mode %v, %v", info.Mode(), err)
	}
	owner := info.Sys().(*syscall.Stat_t)
	if os.Geteuid() == 0 && (owner.Uid != 1234 || owner.Gid != 2345) {
		t.Errorf("it belongs to %d:%d", owner.Uid, owner.Gid)
	}
}

func TestHoldInstallation(t *testing.T) {
	s := newShop(t)
	s.open()
	if _, err := LockInstallation(t.Context(), s.config.State, "the test"); err == nil {
		t.Fatal("a watcher runs there")
	}
	if len(s.purged) > 0 {
		t.Error("it was purged")
	}
}

func TestPurge(t *testing.T) {
	s := newShop(t)
	ended := s.open()
	s.signals <- syscall.SIGTERM
	s.end(ended)
	s.must(os.MkdirAll(filepath.Join(s.config.State, "docker", "slots"), 0o700))
	i, err := LockInstallation(t.Context(), s.config.State, "the test")
	s.must(err)
	killed := filepath.Join(s.config.State, "check-0123456789abcdef")
	s.must(os.MkdirAll(filepath.Join(killed, "docker"), 0o700))
	s.must(i.Purge(t.Context(), s.config, s.launchers(), quiet))
	if _, err := os.Lstat(killed); err == nil {
		t.Error("a trial that was killed is left")
	}
	if len(s.purged) != 2 || s.purged[0] != i.ID || s.purged[1] != "0123456789abcdef" || !strings.Contains(s.said.String(), "installation="+i.ID) {
		t.Errorf("purged are %v, the installation is %s", s.purged, i.ID)
	}
	options := s.options()
	options.Wait = false
	if err := Run(t.Context(), options); err == nil {
		t.Error("a watcher starts while it is purged")
	}
	s.must(i.Unlock())
	if _, err := os.Lstat(filepath.Join(s.config.State, "docker")); err == nil {
		t.Error("the launcher's files are left")
	}
	if _, err := os.Lstat(filepath.Join(s.config.State, JournalName)); err != nil {
		t.Error("the journal is gone:", err)
	}
}
