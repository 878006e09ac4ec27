package serve

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"torno/configs"
	"torno/delegation"
	"torno/internal/control"
	"torno/internal/doctor"
	"torno/internal/launcher"
	"torno/internal/lock"
	"torno/internal/mounts"
	"torno/internal/programs"
	"torno/sandbox"
	"torno/sandbox/docker"
	"torno/sandbox/launchers"
	"torno/sandbox/sandboxtest"
	"torno/test/house"
	"torno/test/wait"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of these tests; none of them needs it.
const patience = house.Patience

// shop is a directory for a host, and a fake engine that takes the place of Docker.
type shop struct {
	*testing.T
	dir     string
	config  configs.Config
	world   *sandboxtest.World
	signals chan os.Signal
	said    paper
	openErr error // what opening the launcher fails with
	engine  doctor.Launcher
	left    []doctor.Leftover
	gvisor  spare
	purged  []string
	closed  int

	timing      Timing
	reload      func() (configs.Config, *slog.Logger, error)
	beforeReach func()                      // called when a launcher is reached for
	beforeOpen  func(context.Context) error // called when a launcher is opened
	about       func(context.Context) error // called when the engine is asked about itself
	asItIs      bool                        // no outbox is made
	purgeErr    error                       // what removing all fails with
	quick       bool                        // as --dir has it
}

// paper collects what is logged.
type paper struct {
	mu   sync.Mutex
	text strings.Builder
}

func (p *paper) Write(line []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(line)
}

func (p *paper) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

func (p *paper) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text.Reset()
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{T: t, dir: t.TempDir(), world: sandboxtest.NewWorld(t), signals: make(chan os.Signal, 8)}
	socket := filepath.Join(s.dir, "engine.sock")
	listener, err := net.Listen("unix", socket)
	s.must(err)
	t.Cleanup(func() { listener.Close() })
	program := filepath.Join(s.dir, "bin", "sandbox-init")
	s.must(os.Mkdir(filepath.Dir(program), 0o755))
	s.must(os.WriteFile(program, nil, 0o755))
	t.Setenv("DOCKER_HOST", "unix://"+socket)
	t.Setenv("PATH", filepath.Dir(program))
	s.config, _, err = configs.Local(launchers.All, configs.LocalOptions{
		Dir: filepath.Join(s.dir, "outbox"), State: filepath.Join(s.dir, "state"), Sandbox: "docker",
	})
	s.must(err)
	return s
}

func (s *shop) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// fake is a launcher of the fake engine.
type fake struct {
	*sandboxtest.Fake
	shop *shop
}

func (f fake) Close() error { f.shop.closed++; return nil }

func (s *shop) launchers() launcher.List {
	all := launcher.List{{
		Name: "docker", Nature: docker.Kind.Nature, Keys: docker.Kind.Keys, Unsuited: docker.Kind.Unsuited,
		Reach: func(ctx context.Context, settings launcher.Settings) error {
			if s.beforeReach != nil {
				s.beforeReach()
			}
			return docker.Kind.Reach(ctx, settings)
		},
		Open: func(ctx context.Context, setting launcher.Setting) (launcher.Launcher, error) {
			if s.openErr != nil {
				return nil, s.openErr
			}
			if s.beforeOpen != nil {
				if err := s.beforeOpen(ctx); err != nil {
					return nil, err
				}
			}
			return fake{s.world.Launcher(string(setting.Installation)), s}, nil
		},
		About: func(ctx context.Context, _ launcher.Settings) (doctor.Launcher, error) {
			if s.about != nil {
				return s.engine, s.about(ctx)
			}
			return s.engine, nil
		},
		Left: func(context.Context, launcher.Settings) ([]doctor.Leftover, error) { return s.left, nil },
		Purge: func(_ context.Context, setting launcher.Setting) error {
			s.purged = append(s.purged, string(setting.Installation))
			return s.purgeErr
		},
	}}
	if s.gvisor.world != nil {
		all = append(all, s.gvisor.kind(s))
	}
	return all
}

// options are for a host that goes on with the outboxes of now, whatever the test writes into s.config meanwhile.
func (s *shop) options() Options {
	config := s.config
	config.Outboxes = slices.Clone(config.Outboxes)
	return Options{
		Config: config, MakeOutbox: !s.asItIs, Wait: true, Signals: s.signals, Launchers: s.launchers(), Reload: s.reload, Timing: s.timing,
		Log: s.log(), Quick: s.quick,
	}
}

func (s *shop) log() *slog.Logger {
	return slog.New(slog.NewTextHandler(&s.said, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// open starts the host and waits until it serves; the result is what Run will return.
func (s *shop) open() <-chan error {
	s.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended, o := make(chan error, 1), s.options()
	go func() {
		defer close(ended)
		ended <- Run(ctx, o)
	}()
	s.Cleanup(func() {
		stop()
		for err := range ended {
			if err != nil {
				s.Error("the host ended with", err)
			}
		}
	})
	s.eventually("it serves", func() bool { return strings.Contains(s.said.String(), "msg=serving ") })
	return ended
}

func (s *shop) eventually(what string, holds func() bool) {
	s.Helper()
	came := false
	defer func() {
		if !came {
			s.Logf("the log is\n%s", &s.said)
		}
	}()
	wait.Until(s, what, holds)
	came = true
}

// end waits for the end.
func (s *shop) end(ended <-chan error) {
	s.Helper()
	select {
	case err := <-ended:
		s.must(err)
	case <-time.After(patience):
		s.Fatal("it does not end")
	}
}

func (s *shop) ask(id, task string) {
	s.Helper()
	dir := s.config.Outboxes[0].Dir
	s.must(os.MkdirAll(filepath.Join(dir, "workspaces", id), 0o755))
	body, err := json.Marshal(map[string]any{
		"version": 1, "subagent_id": id, "request_id": "r", "task": task,
		"yaml_config": map[string]any{}, "answer_file": "", "workspace": filepath.Join(dir, "workspaces", id), "timeout_seconds": 60,
	})
	s.must(err)
	s.must(os.WriteFile(filepath.Join(dir, "new"), body, 0o644))
	s.must(os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "request_"+id+".json")))
}

func (s *shop) answer(id string) (r delegation.Response) {
	s.Helper()
	s.eventually("there is an answer for "+id, func() bool {
		data, err := os.ReadFile(filepath.Join(s.config.Outboxes[0].Dir, "response_"+id+".json"))
		return err == nil && json.Unmarshal(data, &r) == nil
	})
	return r
}

// lockers lock what lies at a path, as another watcher does.
var lockers = map[string]func(dir, who string) (*lock.Lock, error){
	"state": lock.State,
	"outbox": func(dir, who string) (*lock.Lock, error) {
		info, err := os.Stat(dir)
		if err != nil {
			return nil, err
		}
		return lock.Outbox(dir, info, who)
	},
}

// nothingIsHeld tries to take what a host that has ended must have let go of.
func (s *shop) nothingIsHeld() {
	s.Helper()
	for take, dir := range map[string]string{"state": s.config.State, "outbox": s.config.Outboxes[0].Dir} {
		held, err := lockers[take](dir, "the test")
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			s.Errorf("the %s is still held: %v", take, err)
			continue
		}
		s.must(held.Unlock())
	}
	if _, err := os.Lstat(filepath.Join(s.config.State, control.SocketName)); err == nil {
		s.Error("the control socket is left")
	}
}

func TestAHost(t *testing.T) {
	s := newShop(t)
	ended := s.open()
	s.ask("s1", "echo hello")
	if r := s.answer("s1"); r.Status != delegation.StatusCompleted || r.StdoutTail != "hello\n" {
		t.Errorf("the answer is %+v", r)
	}
	client := control.Dial(s.config.State)
	if status, err := client.Status(t.Context()); err != nil || len(status.Outboxes) != 1 || status.PID != os.Getpid() {
		t.Errorf("the status is %+v, %v", status, err)
	}
	for _, want := range []string{s.config.Outboxes[0].Dir, "launcher=docker", "installation=", "subagent --outbox"} {
		s.eventually("the log says "+want, func() bool { return strings.Contains(s.said.String(), want) })
	}
	s.signals <- syscall.SIGHUP // there is no configuration to be read again
	s.signals <- syscall.SIGHUP
	s.end(ended)
	s.nothingIsHeld()
	if s.closed != 1 {
		t.Errorf("the launcher was closed %d times", s.closed)
	}
}

func TestTheFirstSignalAnswersEverybodyAndTheSecondKills(t *testing.T) {
	s := newShop(t)
	s.config.Shutdown = configs.Shutdown{Budget: patience, Running: configs.Drain}
	ended := s.open()
	s.ask("s1", "ignore-term")
	client := control.Dial(s.config.State)
	s.eventually("it runs", func() bool {
		run, err := client.Run(t.Context(), "s1")
		return err == nil && run.State == delegation.StateRunning
	})
	s.signals <- os.Interrupt
	s.eventually("nothing new is taken", func() bool { return strings.Contains(s.said.String(), "stopping") })
	if _, err := client.Run(t.Context(), "s1"); err != nil {
		t.Error("operators are shut out while it drains:", err)
	}
	s.signals <- syscall.SIGTERM
	s.end(ended)
	if r := s.answer("s1"); r.Reason != delegation.ReasonShutdown {
		t.Errorf("the answer is %+v", r)
	}
	s.nothingIsHeld()
}

// TestEveryStepUndoesTheOnesBeforeIt fails each step in turn.
func TestEveryStepUndoesTheOnesBeforeIt(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*shop)
		want  func(error) bool
	}{
		"no init": {func(s *shop) { s.Setenv("PATH", s.TempDir()) }, is[*programs.MissingError]},
		"init is no program": {func(s *shop) {
			s.config.Init = filepath.Join(s.dir, "file")
			s.must(os.WriteFile(s.config.Init, nil, 0o644))
		}, is[*programs.MissingError]},
		"no engine":      {func(s *shop) { s.config.Set("docker", "host", "unix://"+s.dir+"/none") }, is[*docker.UnreachableError]},
		"engine is dead": {func(s *shop) { s.deadSocket() }, is[*docker.UnreachableError]},
		"unknown launcher": {func(s *shop) { s.config.Profiles[0].Sandbox = "spell" }, func(err error) bool {
			return strings.Contains(err.Error(), `"spell"`)
		}},
		"a root file system that requests reach": {func(s *shop) {
			root := filepath.Join(s.config.Outboxes[0].Dir, "workspaces", "root")
			s.must(os.MkdirAll(root, 0o755))
			s.config.Profiles[0].RootFS = sandbox.RootFS{Image: "dir:" + root}
		}, func(err error) bool { return errors.Is(err, mounts.ErrNotApart) }},
		"outbox is a file": {func(s *shop) { s.must(os.WriteFile(s.config.Outboxes[0].Dir, nil, 0o644)) }, isNotNil},
		"root is missing":  {func(s *shop) { s.config.Outboxes[0].Allow = []string{filepath.Join(s.dir, "none")} }, is[*configs.Error]},
		"state is open": {func(s *shop) {
			s.must(os.Mkdir(s.config.State, 0o755))
			s.must(os.Chmod(s.config.State, 0o755))
		}, is[*configs.Error]},
		"journal is damaged": {func(s *shop) {
			s.must(os.Mkdir(s.config.State, 0o700))
			s.must(os.WriteFile(filepath.Join(s.config.State, JournalName), []byte("x"), 0o600))
		}, isNotNil},
		"launcher fails": {func(s *shop) { s.openErr = errors.New("boom") }, func(err error) bool {
			return err.Error() == "prepare docker: boom"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			c.spoil(s)
			if err := Run(t.Context(), s.options()); err == nil || !c.want(err) {
				t.Errorf("it ended with %v", err)
			}
			s.nothingIsHeld()
		})
	}
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func isNotNil(err error) bool { return err != nil }
