package watcher

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"torno/delegation"
	"torno/sandbox/sandboxtest"
)

// untilTold registers a program that says so and ends well when tell is called.
func (d *desk) untilTold() (tell func()) {
	told := make(chan struct{})
	d.world.Register("until-told", func(ctx context.Context, p sandboxtest.ProgramIO) int {
		select {
		case <-told:
			fmt.Fprintln(p.Stdout, "told")
			return 0
		case <-ctx.Done():
			return 1
		}
	})
	return func() { close(told) }
}

// filed waits until the journal knows the request file as it is now.
func (d *desk) filed(a ask) {
	d.Helper()
	name := "request_" + a.id + ".json"
	d.eventually("the journal knows the new file of "+a.id, func() bool {
		stamp, err := d.watcher.boxes[0].Dir.Stat(name)
		d.must(err)
		r, ok, err := d.journal.ByFile(t0(), d.box("main"), name, stamp)
		d.must(err)
		return ok && r.Request.String() == a.request
	})
}

func TestARequestThatIsWrittenAgainRunsOn(t *testing.T) {
	d := newDesk(t, nil)
	tell := d.untilTold()
	a := d.submit(ask{id: "s1", task: "until-told"})
	d.started(a)
	d.submit(a)
	d.filed(a)
	forbidden := a
	forbidden.workspace = d.outbox
	d.submit(forbidden)
	d.filed(a)
	if r := d.latest("s1"); r.State != delegation.StateRunning {
		t.Errorf("the same request again made of a running run one that is %s, %s", r.State, r.Reason)
	}
	tell()
	d.want(d.response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
	if ran := d.world.Released(); len(ran) != 1 {
		t.Errorf("it ran as %v", ran)
	}
}

func TestAnAnsweredRequestThatIsWrittenAgainIsAnsweredOnce(t *testing.T) {
	d := newDesk(t, nil)
	a := d.submit(ask{id: "s1", task: "echo"})
	d.response(a)
	d.ended(a)
	d.submit(a)
	d.filed(a)
	d.want(d.response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
}

func TestARequestThatComesBackBehindAnotherIsAnswered(t *testing.T) {
	d := newDesk(t, nil)
	a := d.submit(ask{id: "s1", request: "r1", task: "ignore-term"})
	d.started(a)
	d.submit(ask{id: "s1", request: "r2", task: "sleep"})
	d.eventually("the second waits or runs", func() bool { return d.status("s1").RequestID == "r2" })
	d.submit(a)
	resp := d.response(a)
	d.want(resp, delegation.StatusCancelled, delegation.ReasonSuperseded, -1)
	d.eventually("the second has ended", func() bool {
		r := d.latest("s1")
		return r.Request.String() == "r2" && r.State == delegation.StateEnded
	})
}

func TestANonsenseSuccessorEndsTheRun(t *testing.T) {
	d := newDesk(t, nil)
	a := d.submit(ask{id: "s1", task: "sleep"})
	d.started(a)
	key := d.latest("s1").Key
	d.drop(d.outbox, "request_s1.json", []byte("nonsense"))
	if resp := d.response(ask{id: "s1"}); resp.Error == nil || resp.Error.Code != delegation.CodeUnparsable {
		t.Errorf("nonsense is answered %+v", resp)
	}
	d.eventually("the run has ended", func() bool {
		r, err := d.journal.Get(t0(), key)
		d.must(err)
		return r.Reason == delegation.ReasonSuperseded
	})
}

func TestNonsenseFromTheFutureIsAnswered(t *testing.T) {
	d := newDesk(t, nil)
	temp := filepath.Join(d.outbox, "aside")
	d.must(os.WriteFile(temp, []byte("nonsense"), 0o644))
	ahead := time.Now().Add(time.Hour)
	d.must(os.Chtimes(temp, ahead, ahead))
	d.must(os.Rename(temp, filepath.Join(d.outbox, "request_s1.json")))
	if resp := d.response(ask{id: "s1"}); resp.Error == nil || resp.Error.Code != delegation.CodeUnparsable {
		t.Errorf("it is answered %+v", resp)
	}
}

// TestAListingFindsASentinel of a run that waits: its event is passed over, as where notifications are lost.
func TestAListingFindsASentinel(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.MaxRunning = 1 })
	d.started(d.submit(ask{id: "first", task: "sleep"}))
	a := d.submit(ask{id: "s1", task: "echo"})
	d.eventually("it waits", func() bool { return d.status("s1").State == delegation.StateQueued })
	d.watcher.boxes[0].Away.Store(true) // until the next look at the outbox's place, after which a listing comes
	d.touch("cancel_s1")
	d.want(d.response(a), delegation.StatusCancelled, delegation.ReasonCancelled, -1)
}

// TestNamesThatCannotBeAnsweredAreReportedOnce and not with every listing. A response without a request shows when one
// has been.
func TestNamesThatCannotBeAnsweredAreReportedOnce(t *testing.T) {
	var said counter
	d := newDesk(t, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&said, nil)) })
	long := "request_" + strings.Repeat("x", 255-len("request_.json")) + ".json"
	d.must(os.WriteFile(filepath.Join(d.outbox, long), nil, 0o644))
	d.eventually("it is reported", func() bool { return said.times("response name") > 0 })
	for range 2 {
		d.touch("response_none.json")
		d.eventually("there was a listing", func() bool { return !d.exists("response_none.json") })
	}
	if n := said.times("response name"); n != 1 {
		t.Errorf("it is reported %d times", n)
	}
}

// counter is a log in which a test looks for words.
type counter struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (c *counter) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.buf.Write(p)
}

func (c *counter) times(words string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Count(c.buf.String(), words)
}

// TestAResponseThatIsMissingIsWrittenAgain: its request lies there, so its client does not have it.
func TestAResponseThatIsMissingIsWrittenAgain(t *testing.T) {
	d := newDesk(t, nil)
	a := d.submit(ask{id: "s1", task: "echo"})
	want := d.response(a)
	d.must(os.Remove(filepath.Join(d.outbox, "response_s1.json")))
	if got := d.response(a); got.RequestID != want.RequestID || got.Reason != want.Reason {
		t.Errorf("written again: %+v, and before: %+v", got, want)
	}
	d.onceEach()
}
