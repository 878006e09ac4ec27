package sandboxtest

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torno/sandbox"
	"torno/test/prober/inside"
	"torno/test/prober/verdict"
)

var wallCases = []testCase{
	{"what an agent finds", whatAgentFinds},
	{"what an agent tries", whatAgentTries},
	{"what an agent leaves on the host", whatAgentLeaves},
	{"whose kernel answers", whoseKernel},
	{"what is mounted below a workspace", submountsHidden},
	{"init cannot be harmed", initUnharmed},
	{"user namespaces and mounts are denied to tools", toolsDenied},
	{"a workspace that is swapped before the start", swappedWorkspace},
	{"a socket of the operator's can be used", socketUsable},
	{"a socket carries much", socketCarries},
	{"a port leads to a socket", portsLead},
	{"a socket is made anew", lastingSocket},
	{"a socket is exchanged for a link", exchangedSocket},
	{"sockets of others", foreignSockets},
}

// probe returns a run of the prober, which it puts into the workspace.
func (b *bench) probe(args ...string) sandbox.Spec {
	b.Helper()
	b.chown(b.plant("prober", 0o755), owner)
	return b.command(append([]string{"/workspace/prober"}, args...)...)
}

// plant copies the prober into the workspace.
func (b *bench) plant(name string, mode fs.FileMode) string {
	b.Helper()
	content, err := os.ReadFile(b.suite.prober)
	b.must(err)
	file := filepath.Join(b.home, name)
	b.must(os.WriteFile(file, content, 0o755))
	b.must(os.Chmod(file, mode))
	return file
}

// plantSetUID plants a prober that belongs to root and is set-user-id. If root runs the test as an ordinary user, root
// has left such a prober for us.
func (b *bench) plantSetUID() {
	b.Helper()
	if left := verdict.SetUID(); left != "" {
		b.must(os.Rename(left, filepath.Join(b.home, "set-uid")))
		return
	}
	b.plant("set-uid", 0o755|fs.ModeSetuid)
}

// whatAgentFinds has the agent look at everything once, and checks the report.
func whatAgentFinds(b *bench) {
	spec := b.probe(append([]string{"look"}, private...)...)
	spec.Process.Umask = 0o027
	spec.Limits.Tmp, spec.Limits.Home, spec.Limits.Shm = 8*mib, 16*mib, 4*mib
	spec.Limits.OpenFiles, spec.Limits.FileSize = 333, 64*mib
	r := b.runs(spec)
	var report inside.Report
	if err := json.Unmarshal(r.stdout, &report); err != nil || r.exit.Code != 0 {
		b.Fatalf("the prober failed: %v, exit %d, %s", err, r.exit.Code, tail(r.errors))
	}
	enforced, scene := b.check(), scene{spec: spec, namespaces: hostNamespaces(b.T), ownKernel: b.ownKernel()}
	for _, c := range checks {
		b.Run(c.what, func(t *testing.T) {
			if c.key != "" && !enforced[c.key].Enforced {
				t.Skipf("%s is not enforced here: %s", c.key, enforced[c.key].By)
			}
			if !c.ok(report, scene) {
				t.Errorf("no; this was found:\n%s", found(report))
			}
		})
	}
}

// whatAgentTries has the agent try everything that must fail in a sandbox, and some things that must work. It tries the
// same where the walls are down.
func whatAgentTries(b *bench) {
	spec := b.probe("try", "")
	b.plantSetUID()
	b.put("secret", "the host's\n")
	b.mkdir("workspace/strong", owner)
	b.must(os.Chmod(b.mkdir("workspace/weak", owner), 0o777))

	if b.suite.Controls == nil {
		b.Skip("NOTHING WAS TRIED: no place without walls can be had here")
	}
	controls := b.suite.Controls(b.T, b.dir)
	ground := controls.Ground
	ground.Dir, ground.SetUID, ground.Secret = "/workspace/strong", "/workspace/set-uid", filepath.Join(b.dir, "secret")
	spec.Process.Argv[2] = encode(b, ground)
	r := b.runs(spec)
	var strong []inside.Outcome
	if err := json.Unmarshal(r.stdout, &strong); err != nil || r.exit.Code != 0 {
		b.Fatalf("the prober failed: %v, exit %d, %s", err, r.exit.Code, tail(r.errors))
	}
	ground.Dir = "/workspace/weak"
	column, _, _ := strings.Cut(b.suite.Name, " ")
	verdict.Judge(b.T, verdict.Case{
		Where: b.suite.Name, Column: column, OwnKernel: b.ownKernel(), Attestation: r.attestation, Strong: strong, Weak: controls.Try(encode(b, ground)),
	})
}

func encode(b *bench, ground inside.Ground) string {
	b.Helper()
	text, err := json.Marshal(ground)
	b.must(err)
	return string(text)
}

// hostNamespaces returns the namespaces of this process, by kind.
func hostNamespaces(t *testing.T) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, kind := range []string{"cgroup", "ipc", "mnt", "net", "pid", "uts"} {
		link, err := os.Readlink("/proc/self/ns/" + kind)
		if err != nil {
			t.Fatal(err)
		}
		all[kind] = link
	}
	return all
}

// script returns a run of a shell script.
func (b *bench) script(text string, args ...string) sandbox.Spec {
	b.Helper()
	return b.command(append([]string{"/bin/sh", "-c", text, "sh"}, args...)...)
}

func initUnharmed(b *bench) {
	if b.ownKernel() { // it lets an agent kill its init, and with it the whole sandbox
		b.exits(b.runs(b.script(`kill -KILL 1; exit 7`)).exit, 137)
		return
	}
	r := b.runs(b.script(`kill -KILL 1; kill -STOP 1; echo x >/proc/1/oom_score_adj; exit 7`))
	b.exits(r.exit, 7)
}

// ownKernel reports whether a sandbox has its own kernel, which does some things in another way.
func (b *bench) ownKernel() bool { return b.check()[sandbox.KernelIsolation].Enforced }

// toolsDenied tries with ordinary tools the same things that the prober tries by system calls.
func toolsDenied(b *bench) {
	r := b.runs(b.script(`for command; do
			if ! command -v ${command%% *} >/dev/null; then echo "$command: there is no such tool here" >&2
			elif $command >/dev/null 2>&1; then echo "$command"
			fi
		done`,
		"unshare -U true", "unshare -m true", "unshare -n true", "mount -t tmpfs none /tmp", "mount --bind /tmp /workspace",
		"umount /tmp", "mknod /workspace/disk b 8 0", "chown 0 /workspace", "su -c true", "chroot / true", "nsenter -t 1 -m true"))
	b.succeeds(r)
	b.same("commands that were allowed", r.stdout, "")
	if len(r.errors) > 0 {
		b.Logf("%s", r.errors)
	}
}

// swappedWorkspace replaces the workspace by a link to a secret after everything was checked.
func swappedWorkspace(b *bench) {
	b.mkdir("secret", owner)
	b.put("secret/key", "the secret\n")
	b.put("workspace/key", "the agent's own\n")
	spec := b.spec("show", "/workspace/key")
	h := b.create(spec)
	b.must(os.Rename(b.home, b.home+".moved"))
	b.must(os.Symlink("secret", b.home))
	err := b.launcher.Start(b.ctx, h)
	byHandle := b.check()[sandbox.MountsByHandle].Enforced
	if err != nil {
		if byHandle {
			b.Errorf("Start: %v", err)
		}
		return
	}
	a, seen := b.held(h)
	_, err = b.launcher.Attest(b.ctx, h)
	if different := new(sandbox.DifferenceError); !byHandle && errors.As(err, &different) {
		return // the host has noticed the swap
	}
	b.must(err)
	b.must(a.Release(b.ctx))
	b.must(a.Input().Close())
	b.read(a, seen, nil)
	if strings.Contains(string(seen.stdout), "secret") {
		b.Errorf("the agent read what it must not: %q", seen.stdout)
	}
	if byHandle {
		b.same("stdout", seen.stdout, "the agent's own\n")
	}
}

func socketUsable(b *bench) {
	socket := filepath.Join(b.dir, "socket")
	listener, err := net.Listen("unix", socket)
	b.must(err)
	defer listener.Close()
	b.must(os.Chmod(socket, 0o666))
	go greet(listener)
	spec := b.probe("talk", "/run/model/socket")
	spec.Sockets = []sandbox.Socket{{Host: socket, Target: "/run/model/socket"}}
	r := b.runs(spec)
	b.same("stdout", r.stdout, "hello, agent\n")
	b.succeeds(r)
}

// greet answers one line of one caller.
func greet(listener net.Listener) {
	conn, err := listener.Accept()
	if err != nil {
		return
	}
	defer conn.Close()
	answer(conn)
}

func answer(conn net.Conn) {
	if line, err := bufio.NewReader(conn).ReadString('\n'); err == nil && line == "hello\n" {
		io.WriteString(conn, "hello, agent\n")
	}
}
