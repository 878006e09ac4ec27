package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"torno/internal/gateway/control"
	"torno/internal/gateway/credential"
)

// inherited returns the places that the warden has opened for this process.
func (s *serving) inherited(_ context.Context, stop func()) (places, error) {
	signal.Ignore(syscall.SIGPIPE) // the log is a pipe to the warden; if the warden is gone, a log line must not kill us
	asks, err := credential.ConnOf(os.NewFile(asksFD, "warden"))
	if err != nil {
		return places{}, fmt.Errorf("--apart is only for the process that serve --user starts: %w", err)
	}
	if err := stayOneProcess(); err != nil {
		return places{}, err
	}
	s.access = credential.NewAccess(asks)
	go func() {
		_, _ = asks.Read(make([]byte, 1)) // the warden never writes here, so a return means that it is gone
		stop()
	}()
	for fd := listenFD; fd <= cachesFD; fd++ {
		unix.CloseOnExec(fd)
	}
	return places{
		doors: descriptor(doorsFD), budget: descriptor(budgetFD), records: descriptor(recordsFD), caches: descriptor(cachesFD),
		listen: func() (net.Listener, error) { return control.Taken(os.NewFile(listenFD, control.SocketName)) },
	}, nil
}

func descriptor(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }
