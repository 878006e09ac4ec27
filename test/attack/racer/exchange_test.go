//go:build linux

package racer

import (
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// exchanger exchanges a directory for a link to the victim's, over and over.
type exchanger struct {
	t          *testing.T
	place, lie string
	rests      atomic.Int32
	stop       chan struct{}
	done       chan struct{}
	once       sync.Once
	count      int64
}

// rests is for how many calls of the system the directory stays in its place each time.
func exchange(t *testing.T, place, victim string, rests int32) *exchanger {
	t.Helper()
	x := &exchanger{t: t, place: place, lie: place + ".lie", stop: make(chan struct{}), done: make(chan struct{})}
	x.rests.Store(rests)
	must(t, os.Symlink(victim, x.lie))
	go x.work()
	t.Cleanup(func() { x.halt() })
	return x
}

func (x *exchanger) work() {
	defer close(x.done)
	for {
		select {
		case <-x.stop:
			return
		default:
		}
		if err := unix.Renameat2(unix.AT_FDCWD, x.place, unix.AT_FDCWD, x.lie, unix.RENAME_EXCHANGE); err != nil {
			x.t.Errorf("the attacker stopped: %v", err)
			return
		}
		x.count++
		if x.count%2 == 0 { // the directory is in its place
			for range x.rests.Load() {
				_, _ = os.Lstat(x.place)
			}
		}
	}
}

// halt ends the attack and says how many exchanges there were. The directory is back in its place.
func (x *exchanger) halt() int64 {
	x.once.Do(func() {
		close(x.stop)
		<-x.done
		if info, err := os.Lstat(x.place); err == nil && info.Mode()&os.ModeSymlink != 0 {
			must(x.t, unix.Renameat2(unix.AT_FDCWD, x.place, unix.AT_FDCWD, x.lie, unix.RENAME_EXCHANGE))
		}
	})
	return x.count
}
