//go:build linux

package initproc

import (
	"runtime"
	"sync"
)

// Four threads can wait in the kernel at once: main's, that of the receiver of signals, the tee's, and one that waits for
// Go's timers. One more runs what is ready. Each costs a start on gVisor more than a millisecond.
const (
	processors = 1
	threads    = 4 + processors
)

// waiting are those that wait already: the receiver of signals began when they were first asked for, and with one processor
// it comes before whatever is begun later.
const waiting = 1

// reserveThreads makes all the threads that will ever be needed, with more where doors wait as well. Later there may be no more to be had: when the agent has
// used up the sandbox's process limit, Go's runtime could not make a thread, would end init with an exit code of its own,
// and with init the sandbox.
func reserveThreads(more int) {
	runtime.GOMAXPROCS(processors)
	var ready, done sync.WaitGroup
	release := make(chan struct{})
	for range threads + more - waiting - 1 { // main has one when all the others have theirs
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
