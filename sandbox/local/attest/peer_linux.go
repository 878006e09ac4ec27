package attest

import (
	"context"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// RootBehind is the directory below which the process behind a unix socket finds its files, as an engine the programs of its
// machine: a watcher in a container has others. Where that process is not to be seen, the host cannot look into its sandboxes
// either, and the directory is our own root.
func RootBehind(ctx context.Context, socket string) string {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return "/"
	}
	defer conn.Close()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return "/"
	}
	var peer *unix.Ucred
	_ = raw.Control(func(fd uintptr) { peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err != nil || peer == nil || peer.Pid == 0 {
		return "/"
	}
	root := fmt.Sprintf("/proc/%d/root/", peer.Pid)
	if _, err := os.Stat(root); err != nil {
		return "/"
	}
	return root
}
