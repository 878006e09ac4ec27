// Package engines is the only list of the places where container engines listen on most machines. A process that
// reaches an engine's socket is root on the host, so no sandbox sees any of these places. No mount may be, hold or lie
// at such a place, no profile may name one as a socket, and the doctor has a child try to reach each. The socket that
// the configuration names counts as well.
package engines

import (
	"path"
	"slices"
	"strings"
)

// engine is the socket on which an engine listens, and the directory that it keeps beside the socket.
type engine struct{ socket, dir string }

// usual lists Docker, containerd, k3s with its own containerd, Podman, CRI-O and BuildKit.
var usual = []engine{
	{"/run/docker.sock", "/run/docker"},
	{"/run/containerd/containerd.sock", "/run/containerd"},
	{"/run/k3s/containerd/containerd.sock", "/run/k3s/containerd"},
	{"/run/podman/podman.sock", "/run/podman"},
	{"/run/crio/crio.sock", "/run/crio"},
	{"/run/buildkit/buildkitd.sock", "/run/buildkit"},
}

// Sockets returns the usual sockets.
func Sockets() (all []string) {
	for _, e := range usual {
		all = append(all, e.socket)
	}
	return all
}

// Dirs returns the directories that engines keep.
func Dirs() (all []string) {
	for _, e := range usual {
		all = append(all, e.dir)
	}
	return all
}

// Places returns the sockets and the directories, each by both of its usual names. /var/run is a link to /run on most
// machines, so a path that is compared as text must be compared with both names.
func Places() (all []string) {
	for _, place := range slices.Concat(Sockets(), Dirs()) {
		all = append(all, place, "/var"+place)
	}
	return all
}

// IsSocket reports whether a path has the name of an engine's socket, wherever it lies.
func IsSocket(name string) bool {
	return slices.ContainsFunc(usual, func(e engine) bool { return path.Base(e.socket) == path.Base(name) })
}

// IsUsual reports whether a socket is one of the usual sockets.
func IsUsual(socket string) bool {
	return slices.Contains(Sockets(), strings.TrimPrefix(socket, "/var"))
}
