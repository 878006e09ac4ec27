//go:build linux

package initproc

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/sys/unix"

	"torno/internal/pipes"
	"torno/internal/runfile"
)

// reachTime bounds how long an address may take to answer, in seconds.
const reachTime = 2

// reach tries to connect to each address. For each it writes a line to standard output, in the same order:
// runfile.Reached, or the reason why not. `watcher doctor` runs it in a sandbox. It also runs it outside of a sandbox,
// to see that the attempt can succeed.
func reach(addresses []string) int {
	for _, address := range addresses {
		said := runfile.Reached
		if err := connect(address); err != nil {
			said = strings.ReplaceAll(err.Error(), "\n", " ")
		}
		if pipes.WriteAll(unix.Stdout, []byte(said+"\n")) != nil {
			return 1
		}
	}
	return 0
}

// connect connects to "unix:PATH" or "tcp:IP:PORT".
func connect(address string) error {
	family, to, err := parseAddress(address)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("socket: %w", err)
	}
	defer unix.Close(fd)
	// If connect takes longer than this, it ends with EINPROGRESS.
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &unix.Timeval{Sec: reachTime}); err != nil {
		return fmt.Errorf("setsockopt: %w", err)
	}
	for {
		err = unix.Connect(fd, to)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EINPROGRESS), errors.Is(err, unix.EALREADY):
			return errors.New("connect: the host does not reply")
		case err != nil:
			return fmt.Errorf("connect: %w", err)
		default:
			return nil
		}
	}
}

func parseAddress(address string) (family int, to unix.Sockaddr, err error) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return unix.AF_UNIX, &unix.SockaddrUnix{Name: path}, nil
	}
	text, ok := strings.CutPrefix(address, "tcp:")
	if !ok {
		return 0, nil, fmt.Errorf("%q is neither unix:PATH nor tcp:IP:PORT", address)
	}
	ip, err := netip.ParseAddrPort(text)
	switch {
	case err != nil:
		return 0, nil, err
	case ip.Addr().Is4():
		return unix.AF_INET, &unix.SockaddrInet4{Port: int(ip.Port()), Addr: ip.Addr().As4()}, nil
	}
	return unix.AF_INET6, &unix.SockaddrInet6{Port: int(ip.Port()), Addr: ip.Addr().As16()}, nil
}
