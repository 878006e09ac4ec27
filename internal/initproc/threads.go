//go:build linux

package initproc

import (
	"runtime"
	"sync"
)

// Three goroutines have something to do, and each of them can run or wait in the kernel: main, which the receiver of
// signals wakes, the reaper and the tee.
const (
	processors = 3
	threads    = 2 * processors
)

// reserveThreads makes all the threads that will ever be needed. Later there may be no more to be had: when the agent has
// used up the sandbox's process limit, Go's runtime could not make a thread, would end init with an exit code of its own,
// and with init the sandbox.
func reserveThreads() {
	runtime.GOMAXPROCS(processors)
	var ready, done sync.WaitGroup
	release := make(chan struct{})
	for range threads {
		ready.Add(1)
		done.Go(func() {
			runtime.LockOSThread() // a thread of its own, which goes back to the others at the end
			defer runtime.UnlockOSThread()
			ready.Done()
			<-release
		})
	}
	ready.Wait()
	close(release)
	done.Wait()
}
