package serve

import (
	"context"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"torno/configs"
	"torno/internal/control"
)

// serve runs the watcher. The door is open as long as the watcher works, which is longer than it takes requests. next
// holds the options of the host that takes its place, or nil.
func (h *host) serve(a asked) (next *Options, err error) {
	taking, leave := context.WithCancel(a.stopping)
	defer leave()
	open, shut := context.WithCancel(context.Background())
	var around sync.WaitGroup
	around.Go(func() {
		if err := control.Serve(open, h.door, h.Config.State, h.operator, h.metrics.Handler(), h.Log); err != nil {
			h.Log.Error("operators cannot reach this watcher any more", "error", err)
		}
	})
	around.Go(func() { h.metrics.Loop(open) })
	around.Go(func() { h.showMetrics(open) })
	around.Go(func() {
		select {
		case <-h.watcher.Ready():
			h.greet(open)
			debug.FreeOSMemory() // a start needs more memory than the work after it, which may last for days
		case <-open.Done():
		}
	})
	around.Go(func() { h.notify.showProgress(open, h.watcher.Turn) })
	around.Go(func() {
		h.awaitReady(open) // sandboxes that an earlier watcher left belong to no run, and are removed first
		h.pools.fill(open, h.policies(openOnes(h.decided, h.closed)))
	})
	around.Go(func() { h.sayStop(open, a) })
	around.Go(func() { h.awaitClosed(open) })
	around.Go(func() {
		if next = h.awaitReload(open, a); next != nil {
			h.watcher.Keep()
			leave()
		}
	})
	err = h.watcher.Run(taking)
	shut()
	around.Wait()
	if err == nil && next == nil {
		h.sayStopped()
	}
	return next, err
}

// sayStop announces the effect of the first and of the second signal to stop. At the second it kills the runs.
func (h *host) sayStop(open context.Context, a asked) {
	select {
	case <-a.stopping.Done():
	case <-open.Done():
		return
	}
	h.notify.send("STOPPING=1")
	h.Log.Info("stopping: the watcher takes no new requests; a second signal kills the children that still run",
		"running", h.Config.Shutdown.Running, "budget", h.Config.Shutdown.Budget)
	select {
	case <-a.hurry:
		h.awaitReady(open)
		h.Log.Warn("killing the children that still run")
		h.watcher.Hurry()
	case <-open.Done():
	}
}

// awaitReady waits until the watcher has taken up the runs of an earlier watcher. It can kill no runs before that.
func (h *host) awaitReady(open context.Context) {
	select {
	case <-h.watcher.Ready():
	case <-open.Done():
	}
}

func (h *host) sayStopped() {
	if h.Config.Shutdown.Running == configs.Keep {
		h.Log.Info("stopped; running and waiting requests are left to the next watcher")
		return
	}
	if len(h.closed) > 0 {
		h.Log.Info("stopped; every request has its response, except in outboxes that are not served", "outboxes", strings.Join(slices.Sorted(maps.Keys(h.closed)), ", "))
		return
	}
	h.Log.Info("stopped; every request has its response")
}
