package outbox

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"torno/delegation"
	"torno/sandbox"
	"torno/watcher/run"
)

// TestAnInputThatIsNeverWhole is touched as fast as it is read. Its runs get at most half a core for it.
func TestAnInputThatIsNeverWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box := newBox(t, Host{}, Settings{})
		id, err := delegation.ParseSubagentID("s1")
		if err != nil {
			t.Fatal(err)
		}
		a := &Admission{Request: run.Request{Key: sandbox.RunKey{Subagent: id}}, box: box}
		path := filepath.Join(box.Dir.Path(), delegation.InputName(id, a.Key.Request, 1))
		if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		most := int(time.Minute/leastLook/eventShare) + 1
		looks := 0
		for begin := time.Now(); time.Since(begin) < time.Minute && looks <= most; looks++ {
			if err := os.Chtimes(path, time.Now(), time.Now()); err != nil {
				t.Fatal(err)
			}
			if _, refusal, there := a.ReadInput(t.Context(), 1); there || refusal != nil {
				t.Fatal("the file is taken for a whole one:", refusal)
			}
		}
		if looks > most {
			t.Errorf("it was read %d times in a minute", looks)
		}
		time.Sleep(settle)
		if _, refusal, there := a.ReadInput(t.Context(), 1); !there || refusal == nil {
			t.Error("it is not refused when it has settled")
		}
	})
}

// TestALookThatStoodStillIsNoDebt: the process was frozen for a day in the middle of a look; and a run that ends does not
// wait for the rest of another one.
func TestALookThatStoodStillIsNoDebt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLooks()
		begin := time.Now()
		l.rest(t.Context(), 24*time.Hour)
		for range 3 {
			l.rest(t.Context(), 0)
		}
		if took := time.Since(begin); took > 3*mostLook {
			t.Errorf("it rested for %s", took)
		}
		l.turn <- struct{}{}
		ended, end := context.WithCancel(t.Context())
		end()
		l.rest(ended, 0)
	})
}
