package serve

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torno/configs"
	"torno/delegation"
	"torno/internal/control"
	"torno/internal/doctor"
	"torno/internal/launcher"
	"torno/sandbox"
	"torno/sandbox/gvisor"
	"torno/sandbox/sandboxtest"
)

// spare is a second engine, in the place of gVisor.
type spare struct {
	world  *sandboxtest.World // nil while there is none
	absent error              // why it cannot be reached
	broken error              // what opening it fails with
	opened int
	left   []doctor.Leftover
}

func (g *spare) kind(s *shop) *launcher.Kind {
	return &launcher.Kind{
		Name: "gvisor", Nature: gvisor.Kind.Nature, Keys: gvisor.Kind.Keys, Unsuited: gvisor.Kind.Unsuited,
		Reach: func(context.Context, launcher.Settings) error { return g.absent },
		Open: func(_ context.Context, setting launcher.Setting) (launcher.Launcher, error) {
			g.opened++
			if g.broken != nil {
				return nil, g.broken
			}
			return fake{g.world.Launcher(string(setting.Installation)), s}, nil
		},
		About: func(context.Context, launcher.Settings) (doctor.Launcher, error) {
			return doctor.Launcher{Version: "1"}, g.absent
		},
		Left:  func(context.Context, launcher.Settings) ([]doctor.Leftover, error) { return g.left, nil },
		Purge: func(context.Context, launcher.Setting) error { return g.absent },
	}
}

// newAutoShop has both engines, and a profile that takes what there is.
func newAutoShop(t *testing.T) *shop {
	t.Helper()
	s := newShop(t)
	s.gvisor.world = sandboxtest.NewWorld(t)
	s.config.Profiles[0].Sandbox = configs.SandboxAuto
	return s
}

// noDocker takes the engine's socket away.
func (s *shop) noDocker() { s.config.Set("docker", "host", "unix://"+s.dir+"/none") }

// choices are what auto comes to, and what it says of it.
var choices = map[string]struct {
	arrange  func(*shop)
	launcher string // "" for an error
	says     string
}{
	"both":      {func(*shop) {}, "docker", "first choice"},
	"no Docker": {(*shop).noDocker, "gvisor", "no Docker engine answers"},
	"an engine that nothing can be done with": {func(s *shop) { s.openErr = errors.New("boom") }, "gvisor", "docker cannot be used on this machine"},
	"neither": {func(s *shop) {
		s.noDocker()
		s.gvisor.absent = errors.New("there is no runsc")
	}, "", "no socket at"},
	"neither, and the other's reason": {func(s *shop) {
		s.noDocker()
		s.gvisor.absent = errors.New("there is no runsc")
	}, "", "there is no runsc"},
	"Docker demanded less": {func(s *shop) {
		s.world.Enforce(sandbox.KernelIsolation, false, "one kernel for all")
		s.demand(sandbox.KernelIsolation)
	}, "gvisor", "docker does not enforce kernel_isolation"},
	"gVisor demanded less": {func(s *shop) {
		s.gvisor.world.Enforce(sandbox.SwapLimit, false, "")
		s.demand(sandbox.SwapLimit)
	}, "docker", "first choice"},
	"both demanded less": {func(s *shop) {
		s.world.Enforce(sandbox.KernelIsolation, false, "")
		s.gvisor.world.Enforce(sandbox.SwapLimit, false, "")
		s.demand(sandbox.KernelIsolation, sandbox.SwapLimit)
	}, "docker", "docker does not enforce kernel_isolation; gvisor does not enforce swap"},
	"no wall with Docker": {func(s *shop) { s.world.Enforce(sandbox.NoNetwork, false, "") }, "gvisor", "lacks a guarantee that every sandbox needs"},
	"a missing wall weighs more than a demand": {func(s *shop) {
		s.world.Enforce(sandbox.NoNetwork, false, "")
		s.gvisor.world.Enforce(sandbox.SwapLimit, false, "")
		s.demand(sandbox.SwapLimit)
	}, "gvisor", "gvisor does not enforce swap"},
	"a missing limit that is accepted": {func(s *shop) {
		s.world.Enforce(sandbox.PidsLimit, false, "")
		s.config.Accept = []sandbox.GuaranteeKey{sandbox.PidsLimit}
	}, "docker", "first choice"},
	"a place":              {func(s *shop) { s.system("dir:/srv/root") }, "gvisor", "docker cannot use this root file system"},
	"an image that moves":  {func(s *shop) { s.system("debian:12"); s.noDocker() }, "", "needs images by digest"},
	"a place and no runsc": {func(s *shop) { s.system("dir:/srv/root"); s.gvisor.absent = errors.New("there is no runsc") }, "", "there is no runsc"},
}

func (s *shop) demand(keys ...sandbox.GuaranteeKey) { s.config.Profiles[0].AtLeast = keys }

func (s *shop) system(image string) { s.config.Profiles[0].RootFS = sandbox.RootFS{Image: image} }

// TestWhatAutoComesTo: never less than at_least, and otherwise Docker first.
func TestWhatAutoComesTo(t *testing.T) {
	for name, want := range choices {
		t.Run(name, func(t *testing.T) {
			s := newAutoShop(t)
			s.makeOutbox()
			want.arrange(s)
			trial, err := OpenTrial(t.Context(), s.config, s.launchers(), quiet)
			if want.launcher == "" {
				if err == nil || !strings.Contains(err.Error(), want.says) {
					t.Errorf("it opens: %v", err)
				}
				return
			}
			s.must(err)
			if p := trial.Config().Profiles[0]; p.Sandbox != want.launcher || !strings.Contains(p.Chosen, want.says) {
				t.Errorf("it takes %s: %s", p.Sandbox, p.Chosen)
			}
			s.must(trial.Close())
		})
	}
}

// TestNothingIsMadeWhereNothingCanBeHad: a watcher that can launch nothing leaves nothing behind either.
func TestNothingIsMadeWhereNothingCanBeHad(t *testing.T) {
	s := newAutoShop(t)
	s.noDocker()
	s.gvisor.absent = errors.New("there is no runsc")
	err := Run(t.Context(), s.options())
	if _, ok := errors.AsType[*NoLauncherError](err); !ok {
		t.Errorf("it ended with %v", err)
	}
	for _, dir := range []string{s.config.State, s.config.Outboxes[0].Dir} {
		if _, err := os.Lstat(dir); err == nil {
			t.Errorf("%s was made", dir)
		}
	}
}

// TestTheChoiceIsTold: in the log, in watcher.json, in the status and in each response, and nothing of the host to a parent.
func TestTheChoiceIsTold(t *testing.T) {
	s := newAutoShop(t)
	s.noDocker()
	s.open()
	if n := strings.Count(s.said.String(), `msg="chose a launcher" profile=default launcher=gvisor because="no Docker engine answers"`); n != 1 {
		t.Errorf("it is logged %d times:\n%s", n, &s.said)
	}
	if !strings.Contains(s.said.String(), s.dir+"/none") {
		t.Error("the operator is not told where no engine answers")
	}
	var beat delegation.Heartbeat
	data, err := os.ReadFile(filepath.Join(s.config.Outboxes[0].Dir, delegation.HeartbeatName))
	s.must(err)
	s.must(json.Unmarshal(data, &beat))
	if p := beat.Profiles[0]; p.Launcher != "gvisor" || p.Chosen != "no Docker engine answers" {
		t.Errorf("watcher.json says %+v", p)
	}
	status, err := control.Dial(s.config.State).Status(t.Context())
	if len(status.Launchers) != 1 || status.Launchers[0].Name != "gvisor" || status.Profiles[0].Launcher != "gvisor" {
		t.Errorf("the status is %+v, %v", status, err)
	}
	s.ask("s1", "echo hello")
	if r := s.answer("s1"); r.Launcher != "gvisor" || r.Status != delegation.StatusCompleted {
		t.Errorf("the answer is %+v", r)
	}
}
