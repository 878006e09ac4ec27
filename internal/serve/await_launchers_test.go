package serve

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"torno/configs"
	"torno/delegation"
	"torno/internal/control"
)

// moody is an engine that answers, hangs, or is away.
type moody struct {
	mu    sync.Mutex
	hangs bool
	err   error
	asked int // since its mood changed
}

func (m *moody) answer(ctx context.Context) error {
	m.mu.Lock()
	m.asked++
	hangs, err := m.hangs, m.err
	m.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

func (m *moody) be(hangs bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hangs, m.err, m.asked = hangs, err, 0
}

func (m *moody) wasAsked() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked > 0
}

func (s *shop) moody() *moody {
	m := new(moody)
	s.about = m.answer
	return m
}

// newHungShop serves a run, and is told to reload, once and perhaps twice, while its engine hangs.
func newHungShop(t *testing.T) (s *shop, engine *moody, ended <-chan error, release func()) {
	t.Helper()
	s = newShop(t)
	s.timing = Timing{Respond: Timing{}.respond() / 100, Pause: Timing{}.pause() / 100}
	s.config.Shutdown.Running = configs.Cancel
	engine = s.moody()
	next, read := s.config, 0
	next.MaxRunning++
	ended = s.reloads(func() (configs.Config, error) {
		if read++; read > 1 {
			return configs.Config{}, errors.New("line 3: no such key")
		}
		return next, nil
	})
	release = s.running("s1")
	engine.be(true, nil)
	s.signals <- syscall.SIGHUP
	s.eventually("everybody is told that the reload waits", func() bool { return s.told(delegation.NoticeReload) })
	return s, engine, ended, release
}

// told says whether clients and operators are told of something.
func (s *shop) told(code delegation.NoticeCode) bool {
	data, err := os.ReadFile(filepath.Join(s.config.Outboxes[0].Dir, delegation.HeartbeatName))
	s.must(err)
	beat, err := delegation.DecodeHeartbeat(data)
	s.must(err)
	status, err := control.Dial(s.config.State).Status(s.Context())
	is := func(n delegation.Notice) bool { return n.Code == code }
	return err == nil && slices.ContainsFunc(beat.Notices, is) && slices.ContainsFunc(status.Outboxes[0].Notices, is)
}

func (s *shop) servings() int { return strings.Count(s.said.String(), "msg=serving ") }

// TestAReloadWaitsForAnEngineThatHangs: meanwhile everything goes on as it was, also where the engine is started again.
func TestAReloadWaitsForAnEngineThatHangs(t *testing.T) {
	s, engine, ended, release := newHungShop(t)
	s.ask("s2", "echo meanwhile")
	if r := s.answer("s2"); r.Status != delegation.StatusCompleted {
		t.Errorf("a request meanwhile: %+v", r)
	}
	release()
	if r := s.answer("s1"); r.Status != delegation.StatusCompleted {
		t.Errorf("the run that was there: %+v", r)
	}
	engine.be(false, errors.New("it begins"))
	s.eventually("it is asked again", engine.wasAsked)
	if n := s.servings(); n != 1 {
		t.Errorf("it served %d times before the engine answered", n)
	}
	engine.be(false, nil)
	s.eventually("the new configuration serves", func() bool { return s.servings() == 2 && !s.told(delegation.NoticeReload) })
	s.stop(ended)
}

// TestAnEngineThatNobodyNeedsMayHang: the way out for an operator is another launcher.
func TestAnEngineThatNobodyNeedsMayHang(t *testing.T) {
	s := newAutoShop(t)
	s.config.Profiles[0].Sandbox = "docker"
	engine := s.moody()
	next := s.config
	next.Profiles = slices.Clone(next.Profiles)
	next.Profiles[0].Sandbox = "gvisor"
	ended := s.reloads(func() (configs.Config, error) { return next, nil })
	engine.be(true, nil)
	s.signals <- syscall.SIGHUP
	s.eventually("the new configuration serves", func() bool { return s.servings() == 2 })
	s.stop(ended)
}

// TestAReloadThatWaitsIsOvertaken by a newer configuration, here by one with a mistake.
func TestAReloadThatWaitsIsOvertaken(t *testing.T) {
	s, _, ended, _ := newHungShop(t)
	s.signals <- syscall.SIGHUP
	s.eventually("the newer one is read, and nobody waits", func() bool {
		return strings.Contains(s.said.String(), "line 3") && !s.told(delegation.NoticeReload)
	})
	s.stop(ended)
}

func TestAStopDoesNotWaitForAReloadThatWaits(t *testing.T) {
	s, _, ended, _ := newHungShop(t)
	s.stop(ended)
	if r := s.answer("s1"); r.Reason != delegation.ReasonShutdown {
		t.Errorf("the run that was there: %+v", r)
	}
	if strings.Contains(s.said.String(), "is not reloaded") {
		t.Errorf("a stop is told as a mistake of the configuration:\n%s", &s.said)
	}
}

// TestTheSecondStopEndsAReloadThatHangs: the engine answers, and hangs in the next moment. What ran is the next start's.
func TestTheSecondStopEndsAReloadThatHangs(t *testing.T) {
	s := newShop(t)
	next := s.config
	next.MaxRunning++
	opened, opening := 0, make(chan struct{})
	s.beforeOpen = func(ctx context.Context) error {
		if opened++; opened != 2 {
			return nil
		}
		close(opening)
		<-ctx.Done()
		return ctx.Err()
	}
	ended := s.reloads(func() (configs.Config, error) { return next, nil })
	release := s.running("s1")
	s.signals <- syscall.SIGHUP
	select {
	case <-opening:
	case <-time.After(patience):
		t.Fatal("it does not reload")
	}
	s.signals <- syscall.SIGTERM
	s.signals <- syscall.SIGTERM
	select {
	case err := <-ended:
		if !errors.Is(err, ErrBetween) {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
	s.nothingIsHeld()
	s.said.reset()
	s.signals = make(chan os.Signal, 8)
	ended = s.open()
	release()
	if r := s.answer("s1"); r.Status != delegation.StatusCompleted {
		t.Errorf("the next start answers %+v", r)
	}
	s.stop(ended)
}
