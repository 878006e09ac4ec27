package serve

import (
	"context"
	"os"
	"sync"
	"syscall"

	"torno/internal/control"
	"torno/watcher"
)

// serve runs the watcher. The door is open as long as it works, which is longer than it takes requests.
func (h *host) serve(ctx context.Context, hurry <-chan struct{}) error {
	open, shut := context.WithCancel(context.WithoutCancel(ctx))
	var around sync.WaitGroup
	around.Go(func() {
		operator := &watcher.Operator{Journal: h.journal, Watcher: h.watcher}
		if err := control.Serve(open, h.door, h.Config.State, operator, h.Log); err != nil {
			h.Log.Error("operators cannot reach this watcher any more", "error", err)
		}
	})
	around.Go(func() {
		select {
		case <-h.watcher.Ready():
			h.greet(open)
		case <-open.Done():
		}
	})
	around.Go(func() {
		select {
		case <-hurry:
			h.watcher.Hurry()
		case <-open.Done():
		}
	})
	err := h.watcher.Run(ctx)
	shut()
	around.Wait()
	if err == nil {
		h.Log.Info("stopped; everybody is answered")
	}
	return err
}

// listen reacts to signals until quit is called: the first TERM or INT calls stop, the second closes hurry.
func (h *host) listen(stop func()) (hurry <-chan struct{}, quit func()) {
	second, done := make(chan struct{}), make(chan struct{})
	var listening sync.WaitGroup
	listening.Go(func() {
		heard := 0
		for {
			select {
			case <-done:
				return
			case s := <-h.Signals:
				if s == syscall.SIGHUP {
					h.Log.Info("SIGHUP changes nothing; restart the watcher for a new configuration")
					continue
				}
				heard++
				h.obey(s, heard, stop, second)
			}
		}
	})
	return second, sync.OnceFunc(func() { close(done); listening.Wait() })
}

func (h *host) obey(s os.Signal, heard int, stop func(), second chan struct{}) {
	switch heard {
	case 1:
		h.notify.send("STOPPING=1")
		h.Log.Info("stopping: nothing new is taken; once more kills what still runs", "signal", s.String(),
			"running", h.Config.Shutdown.Running, "budget", h.Config.Shutdown.Budget)
		stop()
	case 2:
		h.Log.Warn("killing what still runs", "signal", s.String())
		close(second)
	}
}
