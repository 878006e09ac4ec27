package main

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// outliveReaders keeps the process alive after the reader of its log has gone. Otherwise a broken pipe would end the
// process before it has written its responses. Later log lines are dropped.
func outliveReaders() (stop func()) {
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	return func() { signal.Stop(broken) }
}

// hangupPause is how long it takes at most to notice that a terminal has gone, if the kernel sends no HUP. The kernel
// sends none if the watcher runs in the background or the terminal belongs to another session.
const hangupPause = time.Second

// watchHangup sends a HUP to signals when the terminal or the pipe behind the stream has gone. A file, or /dev/null,
// never goes.
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

// hungUp reports whether the reader of a stream has gone.
func hungUp(stream *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(stream.Fd())}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
}
