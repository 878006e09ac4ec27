package serve

import (
	"context"
	"os"
	"sync"
	"syscall"
)

// asked is what signals want of a watcher.
type asked struct {
	stopping context.Context // done at the first TERM or INT
	hurry    chan struct{}   // closed at the second
	reload   chan struct{}   // HUP; several at once are one
}

// listen hears signals until quit is called.
func listen(ctx context.Context, signals <-chan os.Signal) (a asked, quit func()) {
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
				if s == syscall.SIGHUP {
					a.askReload()
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

// unhurried is a context that is done at the second TERM or INT.
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
