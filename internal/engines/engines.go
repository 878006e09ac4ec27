// Package engines is the one list of where engines of containers listen on most machines. With an engine's socket one is
// root on the host, so no sandbox sees any of them: not by a mount that is, holds or lies at one, not by a socket of a
// profile, and the doctor has a child try to reach each. The socket that the configuration names counts beside these.
package engines

import (
	"path"
	"slices"
	"strings"
)

// engine is where one listens, and what it keeps beside its socket.
type engine struct{ socket, dir string }

// usual are Docker, containerd, also that of k3s, Podman, CRI-O and BuildKit.
var usual = []engine{
	{"/run/docker.sock", "/run/docker"},
	{"/run/containerd/containerd.sock", "/run/containerd"},
	{"/run/k3s/containerd/containerd.sock", "/run/k3s/containerd"},
	{"/run/podman/podman.sock", "/run/podman"},
	{"/run/crio/crio.sock", "/run/crio"},
	{"/run/buildkit/buildkitd.sock", "/run/buildkit"},
}

// Sockets are the usual sockets.
func Sockets() (all []string) {
	for _, e := range usual {
		all = append(all, e.socket)
	}
	return all
}

// Dirs are the directories that engines keep.
func Dirs() (all []string) {
	for _, e := range usual {
		all = append(all, e.dir)
	}
	return all
}

// Places are the sockets and the directories by the names under which they are usually reached: /var/run is a link to /run
// on most machines, and a path that is compared as text has to be compared with both.
func Places() (all []string) {
	for _, place := range slices.Concat(Sockets(), Dirs()) {
		all = append(all, place, "/var"+place)
	}
	return all
}

// IsSocket says whether a path has the name of an engine's socket, wherever it lies.
func IsSocket(name string) bool {
	return slices.ContainsFunc(usual, func(e engine) bool { return path.Base(e.socket) == path.Base(name) })
}

// IsUsual says whether a socket is one of the usual ones.
func IsUsual(socket string) bool {
	return slices.Contains(Sockets(), strings.TrimPrefix(socket, "/var"))
}
