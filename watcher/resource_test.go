package watcher

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"torno/delegation"
	"torno/sandbox"
	"torno/sandbox/sandboxtest"
	"torno/watcher/run"
)

// thing is a resource that does what a test says. A step that is nil is done at once.
type thing struct {
	ready    func(context.Context, run.Holder) error
	acquire  func(context.Context, *run.Holder) error
	attested func(context.Context, run.Holder) error
	end      func(context.Context, run.Holder) (run.Used, error)
	release  func(context.Context, sandbox.SandboxID) error

	mu       sync.Mutex
	acquired []sandbox.SandboxID
	released []sandbox.SandboxID
	ended    int
}

func (r *thing) Ready(ctx context.Context, h run.Holder) error {
	if r.ready == nil {
		return nil
	}
	return r.ready(ctx, h)
}

func (r *thing) Acquire(ctx context.Context, h *run.Holder) error {
	if r.acquire != nil {
		if err := r.acquire(ctx, h); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.acquired = append(r.acquired, h.Sandbox)
	return nil
}

func (r *thing) Attested(ctx context.Context, h run.Holder, _ sandbox.Attestation) error {
	if r.attested == nil {
		return nil
	}
	return r.attested(ctx, h)
}

func (r *thing) End(ctx context.Context, h run.Holder) (run.Used, error) {
	r.mu.Lock()
	r.ended++
	r.mu.Unlock()
	if r.end == nil {
		return run.Used{}, nil
	}
	return r.end(ctx, h)
}

func (r *thing) Release(ctx context.Context, id sandbox.SandboxID) error {
	if r.release != nil {
		if err := r.release(ctx, id); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.released = append(r.released, id)
	return nil
}

// allReleased says whether everything that was acquired was let go of.
func (r *thing) allReleased() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !slices.ContainsFunc(r.acquired, func(id sandbox.SandboxID) bool { return !slices.Contains(r.released, id) })
}

func newDeskWith(t *testing.T, r *thing) *desk {
	return newDesk(t, func(c *Config) {
		c.Resources = []run.Resource{r}
		c.Outboxes[0].Policy.Profiles[0].Attempts = 2
	})
}

// hangs is a call that only its context ends.
func hangs(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestWhatALostAttemptHadIsLetGo: the next attempt has a sandbox of its own, and a door of the lost one would stay open for hours.
func TestWhatALostAttemptHadIsLetGo(t *testing.T) {
	r := &thing{}
	d := newDeskWith(t, r)
	var once sync.Once
	d.world.Register("second", func(ctx context.Context, _ sandboxtest.ProgramIO) int {
		first := false
		once.Do(func() { first = true })
		if first {
			<-ctx.Done()
		}
		return 0
	})
	a := d.submit(ask{id: "s1", task: "second"})
	d.started(a)
	d.world.Vanish(*d.latest("s1").Handle)
	resp := d.response(a)
	d.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if resp.Attempt != 2 {
		t.Errorf("it is attempt %d", resp.Attempt)
	}
	d.eventually("both sandboxes' resources are let go of", r.allReleased)
}

// TestASecondAttemptThatNeverBeginsTellsWhatTheFirstUsed: it waits in the queue when its client cancels it.
func TestASecondAttemptThatNeverBeginsTellsWhatTheFirstUsed(t *testing.T) {
	r := &thing{end: func(context.Context, run.Holder) (run.Used, error) {
		return run.Used{Model: &delegation.ModelUsage{Requests: 3}}, nil
	}}
	d := newDesk(t, func(c *Config) { keep(c); c.Resources = []run.Resource{r} })
	d.gate()
	a, b := d.submit(ask{id: "s1", task: "gated"}), d.submit(ask{id: "s2", task: "gated"})
	d.started(a)
	d.started(b)
	gone := *d.latest("s1").Handle
	d.stop()
	d.world.Vanish(gone)
	d.config.MaxRunning = 1
	d.open()
	d.eventually("the second attempt waits", func() bool {
		r := d.latest("s1")
		return r.Attempt == 2 && r.State == delegation.StateQueued
	})
	d.touch("cancel_s1")
	resp := d.response(a)
	d.want(resp, delegation.StatusCancelled, delegation.ReasonCancelled, -1)
	if resp.Usage == nil || resp.Usage.Model == nil || resp.Usage.Model.Requests != 3 {
		t.Errorf("the answer says that it used %+v", resp.Usage)
	}
}

// TestWhatIsGoneBeforeTheReleaseIsMadeAnew: a gateway that lost a door would be asked for it for ever.
func TestWhatIsGoneBeforeTheReleaseIsMadeAnew(t *testing.T) {
	r := &thing{}
	var lost sandbox.SandboxID
	r.attested = func(_ context.Context, h run.Holder) error {
		if lost == "" || lost == h.Sandbox {
			lost = h.Sandbox
			return run.ErrGone
		}
		return nil
	}
	d := newDeskWith(t, r)
	d.want(d.response(d.submit(ask{id: "s1", task: "echo"})), delegation.StatusCompleted, delegation.ReasonExited, 0)
	d.eventually("everything is let go of", r.allReleased)
}

// TestAResourceRefusesWhatWasBuilt: what never becomes right is no reason to wait.
func TestAResourceRefusesWhatWasBuilt(t *testing.T) {
	r := &thing{attested: func(context.Context, run.Holder) error {
		return &delegation.Refusal{Code: delegation.CodeLaunch, Text: "not so"}
	}}
	d := newDeskWith(t, r)
	resp := d.response(d.submit(ask{id: "s1", task: "echo"}))
	d.want(resp, delegation.StatusError, delegation.ReasonLaunchFailed, -1)
	if !strings.Contains(resp.StderrTail, "not so") {
		t.Errorf("it says %q", resp.StderrTail)
	}
	d.eventually("everything is let go of", r.allReleased)
}

// TestACancelWaitsForNoResource: a resource that takes a call and never answers has a run's cancel, its answer and its end wait for nothing.
// Every call that hangs holds the answer here for as long as its context lets it, so none may be made after the cancel.
func TestACancelWaitsForNoResource(t *testing.T) {
	for name, step := range map[string]func(*thing, chan struct{}){
		"acquire": func(r *thing, begun chan struct{}) {
			r.acquire = func(ctx context.Context, _ *run.Holder) error { close(begun); return hangs(ctx) }
		},
		"attested": func(r *thing, begun chan struct{}) {
			r.attested = func(ctx context.Context, _ run.Holder) error { close(begun); return hangs(ctx) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			begun, over := make(chan struct{}), make(chan struct{})
			r := &thing{}
			step(r, begun)
			r.release = func(ctx context.Context, _ sandbox.SandboxID) error {
				select {
				case <-over: // the run is answered: it did not wait
					return nil
				case <-t.Context().Done():
					return errors.New("the test is over")
				}
			}
			d := newDeskWith(t, r)
			a := d.submit(ask{id: "s1", task: "echo"})
			<-begun
			d.touch("cancel_s1")
			resp := d.response(a)
			d.want(resp, delegation.StatusCancelled, delegation.ReasonCancelled, -1)
			if r.ended != 0 || len(resp.Warnings) != 0 {
				t.Errorf("a run that used nothing is asked for what it used, %d times: %q", r.ended, resp.Warnings)
			}
			close(over)
			d.eventually("everything is let go of", r.allReleased)
		})
	}
}

// TestRunsThatNeedNothingGoOn: a gateway that is away keeps a run of its own waiting, without a place, and with it all that need it.
// With the gateway they are done, one at a time, as many as may run.
func TestRunsThatNeedNothingGoOn(t *testing.T) {
	var away atomic.Bool
	away.Store(true)
	var tried, placed atomic.Int64 // runs that asked for the gateway, and those that go on with it
	gateway := func() error {
		if away.Load() {
			return errors.New("away")
		}
		return nil
	}
	seen := sync.Map{}
	r := &thing{
		acquire: func(_ context.Context, h *run.Holder) error {
			if h.Spec.Door == nil {
				return nil
			}
			if _, again := seen.LoadOrStore(h.Sandbox, true); !again {
				tried.Add(1)
			}
			if err := gateway(); err != nil {
				return err
			}
			if placed.Add(1) > 1 {
				return &delegation.Refusal{Code: delegation.CodeLaunch, Text: "two have a place"}
			}
			return nil
		},
		ready: func(context.Context, run.Holder) error { return gateway() },
		end:   func(context.Context, run.Holder) (run.Used, error) { placed.Store(0); return run.Used{}, nil },
	}
	d := newDesk(t, func(c *Config) { c.Resources, c.MaxRunning = []run.Resource{r}, 1 })
	d.stop()
	needy := d.newOutbox("needy")
	settings := d.settings("needy", needy)
	settings.Policy.Profiles[0].Door = &sandbox.Door{}
	d.config.Outboxes = append(d.config.Outboxes, settings)
	d.open()
	var waiting []ask
	for i := range 3 {
		waiting = append(waiting, d.submit(ask{id: numbered("n", i), task: "echo", outbox: needy}))
	}
	d.eventually("one has asked for the gateway", func() bool { return tried.Load() == 1 })
	for i := range 3 {
		d.want(d.response(d.submit(ask{id: numbered("s", i), task: "echo"})), delegation.StatusCompleted, delegation.ReasonExited, 0)
	}
	if n := tried.Load(); n != 1 {
		t.Errorf("%d have asked for the gateway", n)
	}
	away.Store(false)
	for _, a := range waiting {
		d.want(d.response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
	}
}

// TestALaunchGoesOnBesideARemovalThatHangs: a gateway that takes a call and never answers keeps no run's place, and no start of a watcher.
func TestALaunchGoesOnBesideARemovalThatHangs(t *testing.T) {
	over := make(chan struct{})
	r := &thing{release: func(context.Context, sandbox.SandboxID) error { <-over; return nil }}
	d := newDesk(t, func(c *Config) { c.Resources, c.MaxRunning = []run.Resource{r}, 1 })
	for i := range 3 {
		d.want(d.response(d.submit(ask{id: numbered("s", i), task: "echo"})), delegation.StatusCompleted, delegation.ReasonExited, 0)
	}
	close(over)
	d.eventually("everything is let go of", r.allReleased)
}

// TestWhatCannotBeLetGoNowIsTriedAgain: a gateway that is started again has the door of a run that is over.
func TestWhatCannotBeLetGoNowIsTriedAgain(t *testing.T) {
	tries := 0
	r := &thing{release: func(context.Context, sandbox.SandboxID) error {
		if tries++; tries < 3 {
			return errors.New("away")
		}
		return nil
	}}
	d := newDesk(t, func(c *Config) { c.Resources = []run.Resource{r} })
	d.want(d.response(d.submit(ask{id: "s1", task: "echo"})), delegation.StatusCompleted, delegation.ReasonExited, 0)
	d.eventually("everything is let go of", func() bool { return r.allReleased() })
}

// TestAStopWaitsForNoResource: what cannot be let go of does not keep a watcher from stopping.
func TestAStopWaitsForNoResource(t *testing.T) {
	r := &thing{release: func(context.Context, sandbox.SandboxID) error { return errors.New("away") }}
	d := newDesk(t, func(c *Config) { c.Resources = []run.Resource{r} })
	d.want(d.response(d.submit(ask{id: "s1", task: "echo"})), delegation.StatusCompleted, delegation.ReasonExited, 0)
	d.stop() // the budget for that is the test's patience
}
