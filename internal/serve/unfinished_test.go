package serve

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"torno/configs"
	"torno/delegation"
	"torno/internal/doctor"
	"torno/sandbox/sandboxtest"
)

// strand leaves a run behind that goes on with gVisor, while an engine comes up that auto would take now.
func (s *shop) strand() (release func()) {
	s.Helper()
	here := s.config.SettingsOf("docker").Text("host")
	s.noDocker()
	s.config.Shutdown.Running = configs.Keep
	ended := s.open()
	docker := s.world
	s.world = s.gvisor.world // whose programs the run is to have
	release = s.running("s1")
	s.world = docker
	s.signals <- syscall.SIGTERM
	s.end(ended)
	s.said.reset()
	s.signals = make(chan os.Signal, 8)
	s.config.Set("docker", "host", here)
	return release
}

// TestRunsAreTakenUpWhereTheyAre: after another choice the runs of the old one are found, and new ones go the new way.
func TestRunsAreTakenUpWhereTheyAre(t *testing.T) {
	s := newAutoShop(t)
	release := s.strand()
	ended := s.open()
	if !strings.Contains(s.said.String(), "launcher=docker because=") || !strings.Contains(s.said.String(), "adopted a run") {
		t.Errorf("the log is\n%s", &s.said)
	}
	s.ask("s2", "echo new")
	if r := s.answer("s2"); r.Launcher != "docker" || r.Status != delegation.StatusCompleted {
		t.Errorf("a new run: %+v", r)
	}
	release()
	if r := s.answer("s1"); r.Launcher != "gvisor" || r.Status != delegation.StatusCompleted || r.StdoutTail != "before\n" {
		t.Errorf("the run that was there: %+v", r)
	}
	for _, world := range []*sandboxtest.World{s.world, s.gvisor.world} {
		if ran := world.Released(); len(ran) != 1 {
			t.Errorf("one request each, and %v ran", ran)
		}
	}
	s.stop(ended)
}

// TestRunsWithoutTheirLauncherAreNotLost: what became of them cannot be known, so nothing is reported of them and nothing served.
func TestRunsWithoutTheirLauncherAreNotLost(t *testing.T) {
	s := newAutoShop(t)
	release := s.strand()
	s.gvisor.absent = errors.New("there is no runsc any more")
	err := Run(t.Context(), s.options())
	if e, ok := errors.AsType[*StrandedError](err); !ok || e.Launcher != "gvisor" || e.Runs != 1 || !strings.Contains(e.Error(), "no runsc any more") {
		t.Errorf("it ended with %v", err)
	}
	s.nothingIsHeld()
	if _, err := os.Lstat(filepath.Join(s.config.Outboxes[0].Dir, "response_s1.json")); err == nil {
		t.Error("the run was answered")
	}
	s.gvisor.absent = nil
	ended := s.open()
	release()
	if r := s.answer("s1"); r.Status != delegation.StatusCompleted {
		t.Errorf("with its launcher it is answered %+v", r)
	}
	s.stop(ended)
}

// TestAPurgeEndsTheRunsOfItsSandboxes: the next watcher answers them. Without that they would wait for sandboxes that nothing brings back.
func TestAPurgeEndsTheRunsOfItsSandboxes(t *testing.T) {
	s := newAutoShop(t)
	s.strand()
	i, err := LockInstallation(t.Context(), s.config.State, "the test")
	s.must(err)
	s.must(i.Purge(t.Context(), s.config, s.launchers(), quiet))
	s.must(i.Unlock())
	ended := s.open()
	if r := s.answer("s1"); r.Reason != delegation.ReasonLost || !strings.Contains(r.Error.Hint, "Ask again") {
		t.Errorf("the run is answered %+v", r)
	}
	s.stop(ended)
}

// TestAPurgeThatFailsForOneLauncher ends the runs of the other one all the same, and can be made again. It ends no run whose launcher it cannot ask.
func TestAPurgeThatFailsForOneLauncher(t *testing.T) {
	s := newAutoShop(t)
	s.strand()
	purge := func() (unfinished int, err error) {
		i, err := LockInstallation(t.Context(), s.config.State, "the test")
		s.must(err)
		defer func() { s.must(i.Unlock()) }()
		unfinished = len(i.handles["gvisor"])
		return unfinished, i.Purge(t.Context(), s.config, s.launchers(), quiet)
	}
	down := errors.New("it is down")
	for _, c := range []struct {
		gvisor, docker error
		unfinished     int // before it
	}{{down, nil, 1}, {nil, down, 1}, {nil, nil, 0}} {
		if c.gvisor != nil {
			s.must(os.RemoveAll(filepath.Join(s.config.State, "gvisor"))) // as where the journal alone was restored
		}
		s.gvisor.absent, s.purgeErr = c.gvisor, c.docker
		if unfinished, err := purge(); unfinished != c.unfinished || errors.Is(err, down) != (c.gvisor != nil || c.docker != nil) {
			t.Errorf("with gVisor %v and Docker %v: %d runs, %v", c.gvisor, c.docker, unfinished, err)
		}
	}
	ended := s.open()
	if r := s.answer("s1"); r.Reason != delegation.ReasonLost {
		t.Errorf("the run is answered %+v", r)
	}
	s.stop(ended)
}

// TestSandboxesThatNobodyNotedAreFound: where a launcher says that it has some of ours, it is opened for them alone.
func TestSandboxesThatNobodyNotedAreFound(t *testing.T) {
	s := newAutoShop(t)
	s.stop(s.open())
	i, err := LockInstallation(t.Context(), s.config.State, "the test")
	s.must(err)
	s.must(i.Unlock())
	s.must(os.Mkdir(filepath.Join(s.config.State, "gvisor"), 0o700))
	for name, c := range map[string]struct {
		left   doctor.Leftover
		opened int
	}{
		"another's": {doctor.Leftover{Installation: "0123456789abcdef", Containers: 1}, 0},
		"an image":  {doctor.Leftover{Installation: i.ID, Images: 1}, 0},
		"ours":      {doctor.Leftover{Installation: i.ID, Containers: 1}, 1},
	} {
		s.gvisor.left, s.gvisor.opened = []doctor.Leftover{c.left}, 0
		s.said.reset()
		s.stop(s.open())
		if s.gvisor.opened != c.opened {
			t.Errorf("%s: it was opened %d times", name, s.gvisor.opened)
		}
	}
	s.gvisor.left, s.gvisor.broken = []doctor.Leftover{{Installation: i.ID, Containers: 1}}, errors.New("boom")
	s.said.reset()
	s.stop(s.open())
	if !strings.Contains(s.said.String(), "sandboxes may be left") {
		t.Errorf("that it cannot be opened is not said:\n%s", &s.said)
	}
}

// TestAReloadBringsALauncher: a launcher that was not in use before is opened, and the runs of the old one go on.
func TestAReloadBringsALauncher(t *testing.T) {
	s := newAutoShop(t)
	s.config.Profiles[0].Sandbox = "docker"
	next := s.config
	next.Profiles = append(next.Profiles[:0:0], s.config.Profiles...)
	next.Profiles[0].Sandbox = "gvisor"
	ended := s.reloads(func() (configs.Config, error) { return next, nil })
	release := s.running("s1")
	s.signals <- syscall.SIGHUP
	s.eventually("the new configuration serves", func() bool { return strings.Count(s.said.String(), "msg=serving ") == 2 })
	s.ask("s2", "echo new")
	if r := s.answer("s2"); r.Launcher != "gvisor" || r.Status != delegation.StatusCompleted {
		t.Errorf("a request under the new configuration: %+v", r)
	}
	release()
	if r := s.answer("s1"); r.Launcher != "docker" || r.Status != delegation.StatusCompleted {
		t.Errorf("the run that was there: %+v", r)
	}
	s.stop(ended)
}

// TestPurgeAsksWhoEverHadSomething: an engine that is away matters only where it was used.
func TestPurgeAsksWhoEverHadSomething(t *testing.T) {
	s := newAutoShop(t)
	s.stop(s.open())
	i, err := LockInstallation(t.Context(), s.config.State, "the test")
	s.must(err)
	defer func() { s.must(i.Unlock()) }()
	s.gvisor.absent = errors.New("there is no runsc")
	s.must(i.Purge(t.Context(), s.config, s.launchers(), quiet))
	s.must(os.Mkdir(filepath.Join(s.config.State, "gvisor"), 0o700))
	if err := i.Purge(t.Context(), s.config, s.launchers(), quiet); !errors.Is(err, s.gvisor.absent) {
		t.Errorf("what it had is forgotten: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(s.config.State, "gvisor")); err != nil {
		t.Error("its files are gone:", err)
	}
}
