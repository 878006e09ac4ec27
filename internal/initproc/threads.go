//go:build linux

package initproc

import (
	"runtime"
	"sync"
)

// Four threads can wait in the kernel at once: main's, the signal receiver's, the tee's, and the one for Go's timers. A
// fifth runs what is ready. On gVisor each costs a start more than a millisecond.
const (
	processors = 1
	threads    = 4 + processors
)

// waiting counts the threads that wait already: the signal receiver began when init first asked for signals, and with one
// processor it runs before anything that begins later.
const waiting = 1

// reserveThreads makes all the threads that will ever be needed, and more of them for doors. It makes those that are missing: in the
// hold it is not known yet whether there will be doors. Once the agent has used up the
// sandbox's process limit, Go's runtime could not make another thread. It would end init with an exit code of its own, and
// with init the sandbox.
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
