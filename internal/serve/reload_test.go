package serve

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"torno/configs"
	"torno/delegation"
	"torno/internal/control"
	"torno/sandbox/sandboxtest"
	"torno/watcher"
)

// reloads makes HUP read what next returns.
func (s *shop) reloads(next func() (configs.Config, error)) (ended <-chan error) {
	s.Helper()
	s.reload = func() (configs.Config, *slog.Logger, error) {
		c, err := next()
		return c, s.log(), err // a running host reads nothing else of the shop
	}
	return s.open()
}

func (s *shop) stop(ended <-chan error) {
	s.Helper()
	s.signals <- syscall.SIGTERM
	s.end(ended)
	s.nothingIsHeld()
}

// running asks for a run of a program that waits until release is called.
func (s *shop) running(id string) (release func()) {
	s.Helper()
	open := make(chan struct{})
	release = sync.OnceFunc(func() { close(open) })
	s.Cleanup(release)
	s.world.Register("gated", func(ctx context.Context, p sandboxtest.ProgramIO) int {
		io.WriteString(p.Stdout, "before\n")
		select {
		case <-open:
			return 0
		case <-ctx.Done():
			return 1
		}
	})
	s.ask(id, "gated")
	client := control.Dial(s.config.State)
	s.eventually("it runs", func() bool {
		run, err := client.Run(s.Context(), id)
		return err == nil && run.State == delegation.StateRunning
	})
	return release
}

func TestAReloadLosesNoRun(t *testing.T) {
	s := newShop(t)
	next := s.config
	next.MaxRunning = s.config.MaxRunning + 3
	ended := s.reloads(func() (configs.Config, error) { return next, nil })
	release := s.running("s1")
	s.signals <- syscall.SIGHUP
	s.eventually("the new configuration serves", func() bool { return strings.Count(s.said.String(), "msg=serving ") == 2 })
	if !strings.Contains(s.said.String(), "max_running: ") || !strings.Contains(s.said.String(), "adopted a run") {
		t.Errorf("what has changed is not said:\n%s", &s.said)
	}
	s.ask("s2", "echo new")
	if r := s.answer("s2"); r.Status != delegation.StatusCompleted {
		t.Errorf("a request under the new configuration: %+v", r)
	}
	release()
	if r := s.answer("s1"); r.Status != delegation.StatusCompleted || r.StdoutTail != "before\n" {
		t.Errorf("the run that was there: %+v", r)
	}
	if ran := s.world.Released(); len(ran) != 2 {
		t.Errorf("two requests, and %v ran", ran)
	}
	s.stop(ended)
}

// TestAStopComesBeforeAReload when both are asked for at once.
func TestAStopComesBeforeAReload(t *testing.T) {
	h := &host{Options: Options{Log: slog.New(slog.DiscardHandler), Reload: func() (configs.Config, *slog.Logger, error) {
		t.Error("the configuration is read again although the watcher is told to stop")
		return configs.Config{}, nil, errors.New("not now")
	}}, watcher: watcher.New(watcher.Config{Log: slog.New(slog.DiscardHandler)})}
	stopping, stop := context.WithCancel(t.Context())
	stop()
	for range 20 { // which one is ready first is chance
		a := asked{stopping: stopping, reload: make(chan struct{}, 1)}
		a.askReload()
		if next := h.awaitReload(t.Context(), a); next != nil {
			t.Errorf("it goes on as %+v", next)
		}
	}
}

func TestAReloadThatIsRefusedChangesNothing(t *testing.T) {
	good := func(c configs.Config) configs.Config { return c }
	for name, c := range map[string]struct {
		change func(configs.Config) configs.Config
		err    error
		says   string
	}{
		"a mistake in the file": {good, errors.New("line 3: no such key"), "line 3"},
		"nothing is changed":    {good, nil, "has not changed"},
		"another state directory": {func(c configs.Config) configs.Config {
			c.State += "-other"
			return c
		}, nil, "restart the watcher"},
		"another gateway": {func(c configs.Config) configs.Config {
			c.Gateway.State = "/srv/another-gateway"
			return c
		}, nil, "gateway.state would be /srv/another-gateway"},
		"a directory that is not there": {func(c configs.Config) configs.Config {
			c.Outboxes = append([]configs.Outbox(nil), c.Outboxes...)
			c.Outboxes[0].Read = []string{"/nowhere/at/all"}
			return c
		}, nil, "/nowhere/at/all"},
		"an engine that is away": {func(c configs.Config) configs.Config {
			c.MaxRunning++
			deaden(c.EngineSockets()[0])
			return c
		}, nil, "no program listens"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			ended := s.reloads(func() (configs.Config, error) { return c.change(s.config), c.err })
			release := s.running("s1")
			s.signals <- syscall.SIGHUP
			s.eventually("it is said", func() bool { return strings.Contains(s.said.String(), c.says) })
			if n := strings.Count(s.said.String(), "msg=serving "); n != 1 {
				t.Errorf("it served %d times", n)
			}
			release()
			if r := s.answer("s1"); r.Status != delegation.StatusCompleted {
				t.Errorf("the run that was there: %+v", r)
			}
			s.stop(ended)
		})
	}
}

// deaden leaves a socket without a listener behind, as a killed engine does.
func deaden(socket string) {
	os.Remove(socket)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket})
	if err == nil {
		listener.SetUnlinkOnClose(false)
		listener.Close()
	}
}

func TestANewConfigurationThatCannotBeServedLeavesTheOldOne(t *testing.T) {
	s := newShop(t)
	next := s.config
	next.MaxRunning++
	opened := 0
	s.beforeOpen = func(context.Context) error {
		if opened++; opened == 2 {
			return errors.New("the engine does not like it")
		}
		return nil
	}
	ended := s.reloads(func() (configs.Config, error) { return next, nil })
	release := s.running("s1")
	s.signals <- syscall.SIGHUP
	s.eventually("the old one serves on", func() bool { return strings.Count(s.said.String(), "msg=serving ") == 2 })
	if !strings.Contains(s.said.String(), "keeps the old one") {
		t.Errorf("it is not said:\n%s", &s.said)
	}
	release()
	if r := s.answer("s1"); r.Status != delegation.StatusCompleted {
		t.Errorf("the run that was there: %+v", r)
	}
	s.stop(ended)
}

func TestWhatIsKeptIsNotAnswered(t *testing.T) {
	s := newShop(t)
	s.config.Shutdown.Running = configs.Keep
	ended := s.open()
	release := s.running("s1")
	s.stop(ended)
	if !strings.Contains(s.said.String(), "left to the next watcher") {
		t.Errorf("the log promises an answer:\n%s", &s.said)
	}
	s.said.reset()
	s.signals = make(chan os.Signal, 8)
	ended = s.open()
	release()
	if r := s.answer("s1"); r.Status != delegation.StatusCompleted {
		t.Errorf("the next watcher answers %+v", r)
	}
	s.stop(ended)
}

// TestAStopInTheMiddleOfAReload comes when the old watcher has left its run and the new one has not taken it up.
func TestAStopInTheMiddleOfAReload(t *testing.T) {
	s := newShop(t)
	s.config.Shutdown.Running = configs.Cancel
	next := s.config
	next.MaxRunning++
	opened := 0
	s.beforeOpen = func(context.Context) error {
		if opened++; opened == 2 {
			s.signals <- syscall.SIGTERM
			s.signals <- syscall.SIGHUP // once this is heard, so is the other
			s.eventually("both are heard", func() bool { return len(s.signals) == 0 })
		}
		return nil
	}
	ended := s.reloads(func() (configs.Config, error) { return next, nil })
	defer s.running("s1")()
	s.signals <- syscall.SIGHUP
	s.end(ended)
	if r := s.answer("s1"); r.Reason != delegation.ReasonShutdown {
		t.Errorf("the run that was there: %+v", r)
	}
	s.nothingIsHeld()
}
