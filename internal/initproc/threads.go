//go:build linux

package initproc

import (
	"runtime"
	"sync"
)

// Four threads can wait in the kernel at once: the threads of main, of the signal receiver, of the tee, and of Go's
// timers. A fifth runs whatever is ready. On gVisor each thread adds more than a millisecond to a start.
const (
	processors = 1
	threads    = 4 + processors
)

// waiting counts the threads that already wait. The signal receiver began when init first asked for signals. With one
// processor it runs before anything that begins later.
const waiting = 1

// reserveThreads makes all the threads that will ever be needed. With more it makes that many in addition, for doors:
// during the hold init does not know yet whether there will be doors. It makes only the missing threads. Once the agent
// has used up the sandbox's process limit, Go's runtime could not make another thread. It would end init with an exit
// code of its own, and with init the sandbox.
func reserveThreads(more int) {
	runtime.GOMAXPROCS(processors)
	var ready, done sync.WaitGroup
	release := make(chan struct{})
	for range threads + more - waiting - 1 { // main gets a thread when all the others have theirs
		ready.Add(1)
		done.Go(func() {
			runtime.LockOSThread() // take a thread of its own, and give it back at the end
			defer runtime.UnlockOSThread()
			ready.Done()
			<-release
		})
	}
	ready.Wait()
	close(release)
	done.Wait()
}
