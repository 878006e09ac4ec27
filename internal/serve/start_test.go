package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"torno/internal/launcher"
	"torno/internal/lock"
	"torno/sandbox"
	"torno/sandbox/docker"
)

// deadSocket is one whose engine was killed.
func (s *shop) deadSocket() {
	path := filepath.Join(s.dir, "dead.sock")
	listener, err := net.Listen("unix", path)
	s.must(err)
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	s.must(listener.Close())
	s.config.Set("docker", "host", "unix://"+path)
}

func TestNothingIsMadeWithoutAnEngine(t *testing.T) {
	s := newShop(t)
	s.config.Set("docker", "host", "unix://"+s.dir+"/none")
	err := Run(t.Context(), s.options())
	if e, ok := errors.AsType[*docker.UnreachableError](err); !ok || !strings.Contains(e.Error(), s.dir+"/none") {
		t.Errorf("it ended with %v", err)
	}
	for _, dir := range []string{s.config.State, s.config.Outboxes[0].Dir} {
		if _, err := os.Lstat(dir); err == nil {
			t.Errorf("%s was made", dir)
		}
	}
}

func TestTheSecondWatcherIsToldWhoIsFirst(t *testing.T) {
	s := newShop(t)
	s.must(os.MkdirAll(filepath.Join(s.config.Outboxes[0].Dir, "workspaces"), 0o755))
	s.must(os.Mkdir(s.config.State, 0o700))
	held, err := lockers["state"](s.config.State, "the first")
	s.must(err)
	options := s.options()
	options.Wait = false
	err = Run(t.Context(), options)
	if e, ok := errors.AsType[*lock.HeldError](err); !ok || e.Dir != s.config.State || e.Holder != "the first" {
		t.Errorf("it ended with %v", err)
	}
	s.must(held.Unlock())
	s.nothingIsHeld()
	held, err = lockers["outbox"](s.config.Outboxes[0].Dir, "the first")
	s.must(err)
	s.waitsFor(held, "the first")
	s.nothingIsHeld()
}

func TestASignalBeforeItServes(t *testing.T) {
	s := newShop(t)
	options := s.options()
	opening := options.Launchers.Find("docker")
	opening.Open = func(ctx context.Context, _ launcher.Setting) (launcher.Launcher, error) {
		s.signals <- syscall.SIGTERM
		<-ctx.Done()
		return nil, fmt.Errorf("open: %w", ctx.Err())
	}
	if err := Run(t.Context(), options); err != nil {
		t.Errorf("it ended with %v", err)
	}
	s.nothingIsHeld()
}

func TestTheServiceManagerIsTold(t *testing.T) {
	s := newShop(t)
	path := filepath.Join(s.dir, "notify")
	manager, err := net.ListenPacket("unixgram", path)
	s.must(err)
	defer manager.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	ended := s.open()
	s.signals <- syscall.SIGTERM
	s.end(ended)
	for _, want := range []string{"READY=1", "STOPPING=1"} {
		s.must(manager.SetReadDeadline(time.Now().Add(patience)))
		got := make([]byte, 100)
		n, _, err := manager.ReadFrom(got)
		s.must(err)
		if string(got[:n]) != want {
			t.Errorf("the manager was told %q, want %q", got[:n], want)
		}
	}
}

func TestWhatIsDemandedAndNotEnforcedIsSaid(t *testing.T) {
	s := newShop(t)
	s.world.Enforce(sandbox.KernelIsolation, false, "one kernel for all")
	s.config.Profiles = append(s.config.Profiles, s.config.Profiles[0])
	s.config.Profiles[0].AtLeast = []sandbox.GuaranteeKey{sandbox.NoNetwork, sandbox.KernelIsolation}
	s.config.Profiles[1].Name, s.config.Outboxes[0].Profiles = "modest", []string{"default", "modest"}
	s.open()
	for _, want := range []string{"not_enforced=kernel_isolation", "demands=kernel_isolation", `because="one kernel for all"`} {
		if !strings.Contains(s.said.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, &s.said)
		}
	}
}

// TestASecondTrialNamesTheFirst: whoever starts a watcher for one directory that another one serves reads who that is, and it ends. It says
// nothing of serving, whether both see one runtime directory or two.
func TestASecondTrialNamesTheFirst(t *testing.T) {
	for what, apart := range map[string]bool{"one runtime directory": false, "two runtime directories": true} {
		t.Run(what, func(t *testing.T) {
			one, two := newShop(t), newShop(t)
			first := one.open()
			if apart {
				one.asFromAnotherRuntime()
			}
			two.config.Outboxes = one.config.Outboxes
			options := two.options()
			options.Wait = false
			ctx, cancel := context.WithCancel(t.Context())
			defer time.AfterFunc(patience, cancel).Stop()
			err := Run(ctx, options)
			held, ok := errors.AsType[*lock.HeldError](err)
			if !ok || held.Dir != one.config.Outboxes[0].Dir || !strings.Contains(held.Holder, fmt.Sprint("process ", os.Getpid())) {
				t.Errorf("the second ends with %v", err)
			}
			if said := two.said.String(); strings.Contains(said, "msg=serving") {
				t.Errorf("the second says\n%s", said)
			}
			one.signals <- syscall.SIGTERM
			one.end(first)
			two.nothingIsHeld()
			options = two.options()
			options.Wait = false
			ended := make(chan error, 1)
			go func() { ended <- Run(t.Context(), options) }()
			two.eventually("it serves when the first is gone", func() bool { return strings.Contains(two.said.String(), "msg=serving ") })
			two.signals <- syscall.SIGTERM
			two.end(ended)
		})
	}
}

// TestASecondTrialWaits with --wait, also for a watcher with which it has the state directory in common, as trials of one directory have.
func TestASecondTrialWaits(t *testing.T) {
	one, two := newShop(t), newShop(t)
	two.config.Outboxes, two.config.State = one.config.Outboxes, one.config.State
	first := one.open()
	ended := make(chan error, 1)
	wait := func() {
		options := two.options()
		go func() { ended <- Run(t.Context(), options) }()
		two.eventually("it waits", func() bool { return strings.Contains(two.said.String(), "waiting until it ends") })
	}
	wait()
	two.signals <- syscall.SIGTERM
	two.end(ended) // a stop ends the waiting, without an error
	wait()
	if said := two.said.String(); strings.Contains(said, "msg=serving") || !strings.Contains(said, fmt.Sprint("process ", os.Getpid())) {
		t.Errorf("the second says\n%s", said)
	}
	one.signals <- syscall.SIGTERM
	one.end(first)
	two.eventually("it serves when the first is gone", func() bool { return strings.Contains(two.said.String(), "msg=serving ") })
	two.signals <- syscall.SIGTERM
	two.end(ended)
}
