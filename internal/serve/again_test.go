package serve

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"torno/configs"
	"torno/sandbox"
)

// TestAParentDoesNotSetThePace: it moves its directory to and fro for ten minutes. Everything is opened anew less and less often, and
// at once again when it has been calm.
func TestAParentDoesNotSetThePace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p paced
		times := 0
		for begin := time.Now(); time.Since(begin) < 10*time.Minute; times++ {
			<-time.After(p.due())
			p.asked()
		}
		if times > 16 {
			t.Errorf("everything was opened anew %d times", times)
		}
		<-time.After(calmPace*longestPace + time.Nanosecond)
		p.asked()
		if p.pause != shortestPace {
			t.Errorf("after a calm time the pause is %s", p.pause)
		}
	})
}

// TestASiteThatGoesAgainEndsNothing: another site answers, and is gone while the launchers are opened on it.
func TestASiteThatGoesAgainEndsNothing(t *testing.T) {
	s := newShop(t)
	for _, o := range s.config.Outboxes {
		s.must(os.MkdirAll(filepath.Join(o.Dir, "workspaces"), 0o755))
	}
	s.timing.Exchange, s.config.Shutdown.Running = 10*time.Millisecond, configs.Keep
	ended := s.open()
	release := s.running("s1")
	defer release()
	fails := 0
	s.beforeOpen = func(context.Context) error {
		if fails++; fails <= 2 {
			return sandbox.ErrUnavailable
		}
		return nil
	}
	s.world.Exchange("site-2")
	s.eventually("it serves again", func() bool { return strings.Count(s.said.String(), "msg=serving ") == 2 })
	select {
	case err := <-ended:
		t.Error("the watcher ended with", err)
	default:
	}
}
