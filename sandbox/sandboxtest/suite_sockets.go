package sandboxtest

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"torno/internal/runfile"
	"torno/sandbox"
	"torno/test/attack"
)

// listen makes a socket in the case's directory that everybody may use. Each connection gets back the bytes that it
// sends.
func (b *bench) listen(rel string) string {
	b.Helper()
	name := filepath.Join(b.dir, rel)
	listener, err := net.Listen("unix", name)
	b.must(err)
	b.Cleanup(func() { listener.Close() })
	b.must(os.Chmod(name, 0o666))
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn) // then the end of writing goes back as well
			}()
		}
	}()
	return name
}

// socketCarries uses many connections at once. Each carries more than all buffers on the way hold, and ends its writing
// before its reading. A socket may also lie in a private file system.
func socketCarries(b *bench) {
	for _, target := range []string{"/run/model/socket", "/tmp/deep/socket"} {
		spec := b.probe("echo", target)
		spec.Sockets = []sandbox.Socket{{Host: b.listen(filepath.Base(filepath.Dir(target))), Target: target}}
		r := b.runs(spec)
		b.same("stdout", r.stdout, "all of it is back\n")
		b.succeeds(r)
	}
}

// portsLead checks that a port of the sandbox's loopback address leads to a socket from the agent's first moment on,
// and carries as much as the socket. No other port leads to it, and outside of the sandbox no port does.
func portsLead(b *bench) {
	spec := b.probe("echo", "127.0.0.1:8000")
	spec.Sockets = []sandbox.Socket{{Host: b.listen("model"), Target: "/run/model/socket", Port: 8000}}
	r := b.runs(spec)
	b.same("stdout", r.stdout, "all of it is back\n")
	b.succeeds(r)

	spec = b.command(runfile.Init, "reach", "tcp:127.0.0.1:8000", "tcp:127.0.0.1:8001", "unix:/run/model/socket")
	spec.Sockets = []sandbox.Socket{{Host: b.listen("other"), Target: "/run/model/socket", Port: 8000}}
	r = b.runs(spec)
	b.succeeds(r)
	said := strings.Split(strings.TrimSuffix(string(r.stdout), "\n"), "\n")
	if len(said) != 3 || said[0] != runfile.Reached || said[1] == runfile.Reached || said[2] != runfile.Reached {
		b.Errorf("the agent said %q", said)
	}
}

// lastingSocket makes a socket anew while the sandbox lives. The agent must reach both sockets.
func lastingSocket(b *bench) {
	b.must(os.Mkdir(filepath.Join(b.dir, "door"), 0o755))
	socket := filepath.Join(b.dir, "door", "sock")
	anew := func() net.Listener {
		os.Remove(socket)
		listener, err := net.Listen("unix", socket)
		b.must(err)
		b.must(os.Chmod(socket, 0o666))
		return listener
	}
	first := anew()
	defer first.Close()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		conn, err := first.Accept()
		if err != nil {
			return
		}
		first.Close()
		second := anew() // before the agent gets its answer
		defer second.Close()
		answer(conn)
		conn.Close()
		greet(second)
	}()
	spec := b.probe("talk", sandbox.DoorSocket, sandbox.DoorSocket)
	spec.Sockets = []sandbox.Socket{{Host: socket, Target: sandbox.DoorSocket, Lasting: true}}
	r := b.runs(spec)
	b.same("stdout", r.stdout, "hello, agent\nhello, agent\n")
	b.succeeds(r)
	<-ended
}

// exchangedSocket: the directory of a lasting socket belongs to its owner, for example a gateway that was taken over.
// That owner replaces the socket by a link to a service of the host. The child must not speak to that service.
func exchangedSocket(b *bench) {
	b.must(os.Mkdir(filepath.Join(b.dir, "door"), 0o755))
	socket, service := b.listen("door/sock"), filepath.Join(b.dir, "service")
	listener, err := net.Listen("unix", service)
	b.must(err)
	defer listener.Close()
	b.must(os.Chmod(service, 0o666))
	go greet(listener)
	spec := b.probe("talk", sandbox.DoorSocket)
	spec.Sockets = []sandbox.Socket{{Host: socket, Target: sandbox.DoorSocket, Lasting: true}}
	h := b.create(spec)
	b.must(os.Remove(socket))
	b.must(os.Symlink("../service", socket)) // this leads past directories that are closed to the sandbox's user
	b.must(b.launcher.Start(b.ctx, h))
	a, seen := b.held(h)
	_, err = b.launcher.Attest(b.ctx, h)
	b.must(err)
	b.must(a.Release(b.ctx))
	b.must(a.Input().Close())
	r := b.rest(a, seen)
	trial := attack.Trial{Where: b.suite.Name, Tried: 1, Note: "the host reaches the service by that name"}
	trial.Row, trial.Oracle = "G45", b.answers([]string{socket})
	if len(r.stdout) == 0 {
		trial.Held = 1
	}
	attack.Record(b.T, trial)
}

// foreignSockets checks that a child reaches the socket of its profile, and no other socket among the files that it
// sees. If a launcher does not promise that, the child does reach a socket in a workspace, and by path also sockets in
// contexts; docs/THREATS.md says so. A parent may name a context within another context, even behind a directory that
// is closed to all but its owner.
func foreignSockets(b *bench) {
	for _, dir := range []string{"context", "outer", "outer/closed", "outer/closed/within"} {
		b.mkdir(dir, owner)
	}
	own := b.listen("own")
	foreign := []string{b.listen("context/socket"), b.listen("outer/socket"), b.listen("outer/closed/within/socket"), b.listen("workspace/socket")}
	b.must(os.Chmod(filepath.Join(b.dir, "outer/closed"), 0o700))
	spec := with(
		b.command(runfile.Init, "reach", "unix:/run/model/socket",
			"unix:/context/socket", "unix:/outer/socket", "unix:/outer/closed/within/socket", "unix:/workspace/socket"),
		b.context("context", "/context", "/context"), b.context("outer", "/outer", "/outer"),
		b.context("outer/closed/within", "/outer/closed/within", "/outer"))
	spec.Sockets = []sandbox.Socket{{Host: own, Target: "/run/model/socket"}}
	r := b.runs(spec)
	b.succeeds(r)
	said := strings.Split(strings.TrimSuffix(string(r.stdout), "\n"), "\n")
	if len(said) != 1+len(foreign) || said[0] != runfile.Reached {
		b.Fatalf("the agent said %q", said)
	}
	said = said[1:]
	contexts, workspace := said[:len(said)-1], said[len(said)-1] == runfile.Reached
	enforced := b.check()
	trial := attack.Trial{Where: b.suite.Name, Note: "the host reaches each of them"}
	trial.Row, trial.Oracle = "C30", b.answers(foreign)
	switch {
	case enforced[sandbox.Sockets].Enforced:
		trial.Tried = len(foreign)
	case enforced[sandbox.MountsByHandle].Enforced:
		trial.Tried = len(contexts)
		trial.Note = "in contexts, where Landlock does not know sockets; " + trial.Note
	}
	if trial.Tried < len(foreign) && !workspace || trial.Tried == 0 && !slices.Contains(contexts, runfile.Reached) {
		b.Errorf("docs/THREATS.md says that one is reached here: %q", said)
	}
	if trial.Tried == 0 {
		return
	}
	for _, word := range said[:trial.Tried] {
		if word != runfile.Reached {
			trial.Held++
		}
	}
	attack.Record(b.T, trial)
}

// answers reports whether all sockets can be used outside of sandboxes.
func (b *bench) answers(sockets []string) bool {
	for _, name := range sockets {
		conn, err := net.Dial("unix", name)
		if err != nil {
			b.Logf("nobody answers: %v", err)
			return false
		}
		conn.Close()
	}
	return true
}
