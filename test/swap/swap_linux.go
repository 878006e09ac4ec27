// Package swap exchanges names in tests while somebody looks, as a parent or a child can that may write in their directories.
//
//	stop := swap.Names(t, [2]string{dir + "/file", dir + "/link"})
package swap

import (
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// Names exchanges the two names of each pair, one pair after the other, as fast as it goes, until stop is called or the test ends.
func Names(t testing.TB, pairs ...[2]string) (stop func()) {
	done := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				for _, p := range pairs {
					_ = unix.Renameat2(unix.AT_FDCWD, p[0], unix.AT_FDCWD, p[1], unix.RENAME_EXCHANGE) // the next one may succeed
				}
			}
		}
	})
	stop = sync.OnceFunc(func() { close(done); swapping.Wait() })
	t.Cleanup(stop)
	return stop
}
