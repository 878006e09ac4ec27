package doctor

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"

	"torno/test/hungfs"
	"torno/test/missing"
)

func namespaceOf(pid int) (string, error) { return os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", pid)) }

// TestAUnitThatHidesMounts is found by the process in it, which really has a mount namespace of its own, and the lines are named.
func TestAUnitThatHidesMounts(t *testing.T) {
	if os.Geteuid() != 0 {
		missing.Skip(t, "a mount namespace takes root")
	}
	process := exec.Command("unshare", "--mount", "sh", "-c", "echo there; read x")
	stdin, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	defer process.Wait()
	defer stdin.Close()
	if _, err := stdout.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	pid := process.Process.Pid
	machine := fstest.MapFS{
		fmt.Sprintf("proc/%d/cgroup", pid):                         {Data: []byte("0::/system.slice/torno-watcher.service\n")},
		"usr/lib/systemd/system/torno-watcher.service":             {Data: []byte("[Service]\nExecStart=/x\nPrivateTmp=no\n# ProtectHome=yes\n")},
		"etc/systemd/system/torno-watcher.service.d/hardened.conf": {Data: []byte("[Service]\nProtectSystem=full\n")},
		"etc/systemd/system/another.service.d/hardened.conf":       {Data: []byte("[Service]\nProtectHome=yes\n")},
	}
	s := fit()
	byPath(&s)
	s.Running = &Running{PID: pid, Version: "v1", Ours: "v1"}
	LookAtRunning(s.Running, machine, namespaceOf)
	found := lookAtRunning(s)
	const line = "take out of its unit /etc/systemd/system/torno-watcher.service.d/hardened.conf: ProtectSystem=full; then"
	if len(found) != 1 || found[0].Verdict != Warn || !strings.HasPrefix(found[0].Do, line) {
		t.Errorf("%+v", found)
	}
	s = fit()
	s.Running = &Running{PID: os.Getpid(), Version: "v1", Ours: "v1"}
	machine[fmt.Sprintf("proc/%d/cgroup", os.Getpid())] = machine[fmt.Sprintf("proc/%d/cgroup", pid)]
	LookAtRunning(s.Running, machine, func(int) (string, error) { return namespaceOf(os.Getpid()) })
	if found := lookAtRunning(s); len(found) != 1 || found[0].Verdict != OK {
		t.Errorf("of one with the machine's mounts: %+v", found)
	}
}

// TestAnotherVersionRuns: a package was installed over it.
func TestAnotherVersionRuns(t *testing.T) {
	s := fit()
	s.Running = &Running{PID: 7, Version: "v0.0.1", Ours: "v0.0.2"}
	found := lookAtRunning(s)
	if len(found) != 1 || found[0].Verdict != Warn || !strings.Contains(found[0].Seen, "v0.0.1, and this program of v0.0.2") || !strings.Contains(found[0].Do, "systemctl restart torno-watcher") {
		t.Errorf("%+v", found)
	}
}

// TestARootOfAnotherMachine: a real FUSE mount is told of, and one whose other side has gone holds the doctor for a moment only.
func TestARootOfAnotherMachine(t *testing.T) {
	dir := t.TempDir()
	remote := hungfs.Mount(t, dir, "outbox")
	s := fit()
	s.Roots = LookAtRoots([]string{dir, t.TempDir()}, false)
	found := lookAtFileSystems(s)
	if len(found) != 2 || found[0].Verdict != Warn || !strings.Contains(found[0].Seen, "is on fuse") || !strings.Contains(found[0].Do, "another directory in dir, allow or read") || found[1].Verdict != OK {
		t.Errorf("%+v", found)
	}
	remote.Hang()
	roots := LookAtRoots([]string{dir + "/outbox/1"}, false)
	if !strings.Contains(roots[0].Error, "has not answered") {
		t.Errorf("%+v", roots)
	}
	for _, kind := range []string{"virtiofs", "fuse.sshfs", "nfs4", "9p"} {
		if !(Root{Kind: kind, FileSystem: "fuse"}).far() {
			t.Errorf("%s is taken for this machine's own", kind)
		}
	}
}
