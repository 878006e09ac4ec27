package main

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// outliveReaders lets the process live when the reader of its log is gone: otherwise a broken pipe would end it before it
// has written its responses. Later log lines are dropped.
func outliveReaders() (stop func()) {
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	return func() { signal.Stop(broken) }
}

// hangupPause is how long a terminal may be gone before that is noticed, where the kernel sends no HUP: the watcher ran in
// the background, or the terminal is another session's.
const hangupPause = time.Second

// watchHangup sends a HUP to signals when the terminal or the pipe behind a stream is gone. A file, or /dev/null, never goes.
func watchHangup(stream *os.File, signals chan<- os.Signal) (stop func()) {
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(hangupPause)
		defer tick.Stop()
		for !hungUp(stream) {
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
		select {
		case signals <- syscall.SIGHUP:
		case <-done:
		}
	})
	return func() { close(done); watching.Wait() }
}

// hungUp says whether nothing that is written to a stream will be read.
func hungUp(stream *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(stream.Fd())}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
}
