package serve

import (
	"context"
	"os"
	"sync"
	"syscall"
)

// asked holds the requests that signals have made to a watcher.
type asked struct {
	stopping context.Context // done at the first TERM or INT, and at a HUP if there is nothing to reload
	hurry    chan struct{}   // closed at the second TERM or INT
	reload   chan struct{}   // HUP, if there is something to reload; several at once count as one
}

// listen receives signals until quit is called. Without a file to reload, HUP means that the terminal is gone, and ends
// the watcher as TERM does. A second HUP does not hurry it, because both the kernel and a shell send one when a
// terminal closes.
func listen(ctx context.Context, signals <-chan os.Signal, reloads bool) (a asked, quit func()) {
	stopping, stop := context.WithCancel(ctx)
	a = asked{stopping: stopping, hurry: make(chan struct{}), reload: make(chan struct{}, 1)}
	done := make(chan struct{})
	var listening sync.WaitGroup
	listening.Go(func() {
		for heard := 0; ; {
			select {
			case <-done:
				return
			case s := <-signals:
				hangup := s == syscall.SIGHUP
				if hangup && reloads {
					a.askReload()
					continue
				}
				if hangup && heard > 0 {
					continue
				}
				if heard++; heard == 1 {
					stop()
				} else if heard == 2 {
					close(a.hurry)
				}
			}
		}
	})
	return a, sync.OnceFunc(func() { close(done); listening.Wait(); stop() })
}

// unhurried returns a context that is done at the second TERM or INT.
func (a asked) unhurried(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-a.hurry:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() { cancel(); waiting.Wait() }
}

func (a asked) askReload() {
	select {
	case a.reload <- struct{}{}:
	default:
	}
}
