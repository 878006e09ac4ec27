package serve

import (
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"torno/configs"
	"torno/delegation"
	"torno/internal/control"
	"torno/internal/launcher"
	"torno/sandbox/sandboxtest"
)

// TestAnExchangeOpensTheLaunchersAnew, on the site that answers, and again when the first one is back.
func TestAnExchangeOpensTheLaunchersAnew(t *testing.T) {
	s := newShop(t)
	ended := s.open()
	release := s.running("s1")
	s.world.Exchange("site-2")
	s.eventually("a launcher of the other site serves", func() bool { return s.servings() == 2 })
	s.eventually("the run is stranded", func() bool {
		run, err := control.Dial(s.config.State).Run(s.Context(), "s1")
		return err == nil && run.Stranded != "" && run.State == delegation.StateRunning
	})
	s.ask("s2", "echo new")
	if r := s.answer("s2"); r.Status != delegation.StatusCompleted {
		t.Errorf("a request on the other site: %+v", r)
	}
	s.world.Exchange(sandboxtest.FirstSite)
	s.eventually("a launcher of the first site serves", func() bool { return s.servings() == 3 })
	release()
	if r := s.answer("s1"); r.Status != delegation.StatusCompleted || r.StdoutTail != "before\n" || r.Attempt != 1 {
		t.Errorf("the run that was stranded: %+v", r)
	}
	s.stop(ended)
}

// TestAnExchangeWhileAWatcherRecovers: it waits for its own site in vain, and leaves everything to the host that comes next.
func TestAnExchangeWhileAWatcherRecovers(t *testing.T) {
	s := newShop(t)
	s.config.Shutdown.Budget = 2 * patience
	s.world.Before(sandboxtest.OpList, sync.OnceFunc(func() { s.world.Exchange("site-2") }))
	ended := s.open()
	s.ask("s1", "echo new")
	if r := s.answer("s1"); r.Status != delegation.StatusCompleted {
		t.Errorf("a request on the other site: %+v", r)
	}
	s.stop(ended)
}

// TestTheReturnOfASiteThatOnlyAnUnservedRunHas: the sandbox of an outbox that is not in the configuration any more is found there and removed.
func TestTheReturnOfASiteThatOnlyAnUnservedRunHas(t *testing.T) {
	s := newShop(t)
	s.config.Shutdown.Running = configs.Keep
	ended := s.open()
	release := s.running("s1")
	s.stop(ended)
	defer release()
	s.world.Exchange("site-2")
	s.addOutbox(filepath.Join(s.dir, "second"), filepath.Join(s.dir, "free"))
	s.config.Outboxes = s.config.Outboxes[1:]
	s.said.reset()
	ended = s.open()
	client := control.Dial(s.config.State)
	if run, err := client.Run(t.Context(), "s1"); err != nil || run.Stranded == "" {
		t.Errorf("the run is %+v, %v", run, err)
	}
	s.world.Exchange(sandboxtest.FirstSite)
	s.eventually("a launcher of the first site serves", func() bool { return s.servings() == 2 })
	s.eventually("the run is ended", func() bool {
		run, err := client.Run(t.Context(), "s1")
		return err == nil && run.Reason == delegation.ReasonOperator
	})
	s.stop(ended)
}

// TestAnExchangeOfAMomentChangesNothing but that it is waited for.
func TestAnExchangeOfAMomentChangesNothing(t *testing.T) {
	s := newShop(t)
	s.timing.Exchange = patience // so that it is a moment until the first site is back
	ended := s.open()
	release := s.running("s1")
	s.world.Exchange("site-2")
	s.eventually("it is noticed", func() bool { return s.told(delegation.NoticeStranded) })
	s.world.Exchange(sandboxtest.FirstSite)
	release()
	if r := s.answer("s1"); r.Status != delegation.StatusCompleted {
		t.Errorf("the run: %+v", r)
	}
	if n := s.servings(); n != 1 {
		t.Errorf("the launchers were opened %d times", n)
	}
	s.stop(ended)
}

// TestASiteIsAskedAgain some time after the news that another one answers: only where it still does are the launchers opened anew.
func TestASiteIsAskedAgain(t *testing.T) {
	for site, exchanged := range map[string]bool{sandboxtest.FirstSite: false, "site-2": true} {
		world := sandboxtest.NewWorld(t)
		l := world.Launcher("0123456789abcdef")
		synctest.Test(t, func(t *testing.T) {
			h := &host{Options: Options{Log: slog.New(slog.DiscardHandler)}, launchers: map[string]launcher.Launcher{"docker": fake{Fake: l}}}
			world.Exchange("site-2")
			begin := time.Now()
			time.AfterFunc(time.Second, func() { world.Exchange(site) })
			if h.isExchanged(t.Context()) != exchanged || time.Since(begin) < 2*time.Second {
				t.Errorf("with %s it decides otherwise, after %s", site, time.Since(begin))
			}
		})
	}
}
