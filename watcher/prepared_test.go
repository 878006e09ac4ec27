package watcher

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"torno/delegation"
	"torno/sandbox"
	"torno/sandbox/pool"
	"torno/sandbox/sandboxtest"
	"torno/watcher/run"
)

// pooled is a desk whose watcher has sandboxes that were made ahead of runs.
type pooled struct {
	*desk
	pool *pool.Pool
	end  func()
}

func newPooled(t *testing.T) *pooled {
	d := &pooled{desk: newDesk(t, nil)}
	d.stop()
	d.wrap = func(l sandbox.Launcher) sandbox.Launcher {
		d.pool = pool.New(l, l.(*sandboxtest.Fake), pool.Options{Size: 2, Idle: time.Hour, Most: 4})
		d.config.Prepared = map[string]run.Prepared{sandboxtest.LauncherName: d.pool}
		return d.pool
	}
	d.reopen()
	return d
}

// reopen starts a watcher and fills its pool from the first request on.
func (d *pooled) reopen() {
	d.open()
	ctx, cancel := context.WithCancel(context.Background())
	var filling sync.WaitGroup
	<-d.watcher.Ready()
	one := d.pool
	filling.Go(func() { one.Run(ctx) })
	d.end = sync.OnceFunc(func() {
		cancel()
		filling.Wait()
		_ = one.Close(context.Background()) // a fake that has crashed removes nothing
	})
	d.Cleanup(func() { d.stop(); d.end() })
}

// fill has a first request open the shelf, and waits until it is full.
func (d *pooled) fill() {
	d.Helper()
	d.want(d.response(d.submit(ask{id: "first", task: "echo first"})), delegation.StatusCompleted, delegation.ReasonExited, 0)
	d.isFull()
}

func (d *pooled) isFull() {
	d.Helper()
	d.eventually("two sandboxes are ready", func() bool {
		shelves := d.pool.Shelves()
		return len(shelves) == 1 && shelves[0].Ready == 2
	})
}

// TestARunInASandboxThatWasReady: nothing is created or started for it, the journal has its sandbox's id before anything of the run is
// brought in, and the response is that of any run.
func TestARunInASandboxThatWasReady(t *testing.T) {
	d := newPooled(t)
	d.fill()
	creates := d.world.Calls(sandboxtest.OpCreate)
	bound := make(chan sandbox.SandboxID, 1)
	d.world.Before(sandboxtest.OpFurnish, func() { bound <- d.latest("s1").Sandbox })
	resp := d.response(d.submit(ask{id: "s1", task: "echo hello"}))
	d.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	record := d.latest("s1")
	if id := <-bound; id == "" || id != record.Sandbox {
		t.Errorf("the journal had sandbox %q before the run was brought in, and has %q", id, record.Sandbox)
	}
	if more := d.world.Calls(sandboxtest.OpCreate) - creates; more != 0 || resp.StdoutTail != "hello\n" {
		t.Errorf("%d sandboxes were created for the run, which said %q", more, resp.StdoutTail)
	}
	d.world.Before(sandboxtest.OpFurnish, nil)
	d.isFull()
	d.onceEach()
}

// TestACrashWithAPool: what was ready is removed by the next watcher, whether a run had claimed it or not, and the run that had is
// run once.
func TestACrashWithAPool(t *testing.T) {
	d := newPooled(t)
	d.fill()
	reached, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	d.world.Before(sandboxtest.OpFurnish, func() { once.Do(func() { close(reached) }); <-release })
	a := d.submit(ask{id: "s1", task: "echo hello"})
	<-reached
	earlier := d.pool
	d.crash(func() { close(release) })
	d.world.Before(sandboxtest.OpFurnish, nil)
	d.end()
	d.reopen()
	if d.pool == earlier {
		t.Fatal("the pool is the earlier one")
	}
	resp := d.response(a)
	d.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if resp.Attempt != 1 {
		t.Errorf("it is attempt %d", resp.Attempt)
	}
	d.onceEach()
	d.isFull()
	d.eventually("what the dead watcher had made ahead is gone", func() bool {
		all, err := d.fake.List(context.Background())
		return err == nil && len(all) == 2
	})
}

// TestAPoolThatBroke: every sandbox that was ready has ended, and no run is lost by it.
func TestAPoolThatBroke(t *testing.T) {
	d := newPooled(t)
	d.fill()
	d.world.Before(sandboxtest.OpFurnish, func() { // when its run has claimed it
		all, _ := d.fake.List(context.Background())
		for _, h := range all {
			d.world.Vanish(h)
		}
	})
	resp := d.response(d.submit(ask{id: "s1", task: "echo hello"}))
	d.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if resp.StdoutTail != "hello\n" || resp.Attempt != 1 {
		t.Errorf("%q in attempt %d", resp.StdoutTail, resp.Attempt)
	}
	d.onceEach()
}

// TestACancelledClaim: a run that ends before it is brought in leaves nothing of what it has claimed.
func TestACancelledClaim(t *testing.T) {
	d := newPooled(t)
	d.fill()
	d.world.FailAfter(sandboxtest.OpFurnish, 1, errors.New("the slot is gone"))
	resp := d.response(d.submit(ask{id: "s1", task: "echo hello"}))
	d.want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	d.stop()
	d.end()
	if left, err := d.fake.List(context.Background()); err != nil || len(left) > 0 {
		t.Errorf("left: %+v, %v", left, err)
	}
}
