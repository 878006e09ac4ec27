package sandboxtest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"torno/sandbox"
	"torno/sandbox/sandboxtest/inside"
)

var wallCases = []testCase{
	{"what an agent finds", whatAgentFinds},
	{"init cannot be harmed", initUnharmed},
	{"user namespaces and mounts are denied to tools", toolsDenied},
	{"a workspace that is swapped before the start", swappedWorkspace},
	{"a socket of the operator's can be used", socketUsable},
}

// buildProbe compiles the probe for the sandboxes of a real launcher.
func buildProbe(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "probe")
	build := exec.Command("go", "build", "-trimpath", "-o", file, "torno/sandbox/sandboxtest/probe")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the probe cannot be built: %v\n%s", err, out)
	}
	return file
}

// probe is a run of the probe, which lies in the workspace.
func (b *bench) probe(args ...string) sandbox.Spec {
	b.Helper()
	content, err := os.ReadFile(b.suite.probe)
	b.must(err)
	file := filepath.Join(b.home, "probe")
	b.must(os.WriteFile(file, content, 0o755))
	b.chown(file, owner)
	return b.command(append([]string{"/workspace/probe"}, args...)...)
}

// whatAgentFinds has the agent look at everything, and try everything, once.
func whatAgentFinds(b *bench) {
	spec := b.probe(append(append([]string{"look"}, private...), b.targets()...)...)
	spec.Process.Umask = 0o027
	spec.Limits.Tmp, spec.Limits.Home, spec.Limits.Shm = 8*mib, 16*mib, 4*mib
	spec.Limits.OpenFiles, spec.Limits.FileSize = 333, 64*mib
	r := b.runs(spec)
	var report inside.Report
	if err := json.Unmarshal(r.stdout, &report); err != nil || r.exit.Code != 0 {
		b.Fatalf("the probe failed: %v, exit %d, %s", err, r.exit.Code, tail(r.errors))
	}
	if report.Loopback != inside.Done {
		b.Errorf("an agent cannot talk to itself: %s", report.Loopback)
	}
	enforced, scene := b.check(), scene{spec: spec, namespaces: hostNamespaces(b.T)}
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

// targets are addresses that an agent must not reach. Those on the host are alive while the case runs.
func (b *bench) targets() []string {
	abstract := fmt.Sprintf("@torno-suite-%d", numbers.Add(1))
	targets := []string{"tcp 1.1.1.1:53", "udp 1.1.1.1:53", "tcp [2606:4700:4700::1111]:53"}
	for network, address := range map[string]string{"tcp": "127.0.0.1:0", "unix": abstract} {
		listener, err := net.Listen(network, address)
		b.must(err)
		b.Cleanup(func() { listener.Close() })
		targets = append(targets, network+" "+listener.Addr().String())
	}
	return targets
}

// hostNamespaces are those of this process, by kind.
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

// script is a run of a shell's script.
func (b *bench) script(text string, args ...string) sandbox.Spec {
	b.Helper()
	return b.command(append([]string{"/bin/sh", "-c", text, "sh"}, args...)...)
}

func initUnharmed(b *bench) {
	r := b.runs(b.script(`kill -KILL 1; kill -STOP 1; echo x >/proc/1/oom_score_adj; exit 7`))
	b.exits(r.exit, 7)
}

// toolsDenied tries what the probe tries by system calls with the tools that people have.
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

// swappedWorkspace puts a link to a secret in the workspace's place when everything was checked.
func swappedWorkspace(b *bench) {
	b.mkdir("secret", owner)
	b.put("secret/key", "the secret\n")
	b.put("workspace/key", "the agent's own\n")
	h := b.create(b.spec("show", "/workspace/key"))
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
	a := b.open(h, "")
	var seen transcript
	b.read(a, &seen, nil)
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
	if line, err := bufio.NewReader(conn).ReadString('\n'); err == nil && line == "hello\n" {
		io.WriteString(conn, "hello, agent\n")
	}
}
