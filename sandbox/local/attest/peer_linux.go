package attest

import (
	"context"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// RootBehind returns the directory where the process behind a unix socket has its root. An engine finds its machine's
// programs there; a watcher in a container has other programs at its own root. If the process cannot be seen, the host
// cannot look into the engine's sandboxes either, and RootBehind returns our own root.
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
