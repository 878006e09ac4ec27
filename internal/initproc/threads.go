//go:build linux

package initproc

import (
	"runtime"
	"sync"
)

// Four goroutines can wait in the kernel at once: main, the receiver of signals, the reaper and the tee. One thread more runs
// what is ready.
const (
	processors = 1
	threads    = 4 + processors
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
