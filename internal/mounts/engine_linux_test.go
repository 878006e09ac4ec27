package mounts

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// engine is a real Docker engine, reached by its own command line, with an empty image into which the host's programs
// are bound.
type engine struct {
	t       *testing.T
	image   string
	started int
}

func needEngine(t *testing.T) *engine {
	t.Helper()
	needRoot(t)
	if out, err := exec.Command("docker", "version", "--format", "{{.Server.Version}}").CombinedOutput(); err != nil {
		unproved(t, fmt.Sprintf("no Docker engine answers (DOCKER_HOST=%q): %v: %s", os.Getenv("DOCKER_HOST"), err, out))
	}
	e := &engine{t: t, image: fmt.Sprintf("torno-mounts-test:%d", os.Getpid())}
	e.docker(emptyImage(t), "import", "-", e.image)
	t.Cleanup(func() { e.docker(nil, "image", "rm", e.image) })
	return e
}

func emptyImage(t *testing.T) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, dir := range []string{"usr", "dev", "proc", "sys", "etc", "tmp"} {
		must(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o755}))
	}
	for _, link := range []string{"bin", "lib", "lib64"} {
		must(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: link, Linkname: "usr/" + link, Mode: 0o777}))
	}
	must(t, w.Close())
	return buf.Bytes()
}

func (e *engine) docker(stdin []byte, args ...string) string {
	e.t.Helper()
	cmd := exec.Command("docker", args...)
	cmd.Stdin = bytes.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		e.t.Fatalf("docker %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// bind is a view in a sandbox.
type bind struct {
	view, prefix string
	writable     bool
	naive        bool // an ordinary recursive bind instead
}

// start runs a container of the child's that sleeps, and returns what runs a script in it.
func (e *engine) start(binds ...bind) func(script string) string {
	e.t.Helper()
	e.started++
	name := fmt.Sprintf("torno-mounts-test-%d-%d", os.Getpid(), e.started)
	args := []string{
		"run", "-d", "--name", name, "--network", "none", "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
		"--user", fmt.Sprintf("%d:%d", child.UID, child.GID), "-v", "/usr:/usr:ro",
	}
	for _, b := range binds {
		mount := "type=bind,src=" + b.view + ",dst=" + b.prefix
		if !b.naive {
			mount += ",bind-propagation=rslave"
		}
		if !b.writable {
			mount += ",readonly"
		}
		args = append(args, "--mount", mount)
	}
	e.t.Cleanup(func() { e.docker(nil, "rm", "-f", name) })
	e.docker(nil, append(args, e.image, "/bin/sleep", "infinity")...)
	return func(script string) string {
		e.t.Helper()
		return e.docker(nil, "exec", name, "/bin/sh", "-c", script)
	}
}

// try is a script that says of each command whether it succeeded.
func try(commands ...string) string {
	var script strings.Builder
	for _, command := range commands {
		fmt.Fprintf(&script, "if (%s) >/dev/null 2>&1; then echo yes; else echo no; fi\n", command)
	}
	return script.String()
}

func wantLines(t *testing.T, what, got string, want ...string) {
	t.Helper()
	if got != strings.Join(want, "\n") {
		t.Errorf("%s: got %q, want %q", what, strings.Fields(got), want)
	}
}

// One container, from its start to its end: what is there before, what comes late, what goes.
func TestMountsReachARunningContainer(t *testing.T) {
	e, w := needEngine(t), newWorld(t)
	w.dir("ctx", 0)
	alice, root := w.dir("ctx/alice", 1000), w.dir("ctx/root", 0)
	foreign := w.file("ctx/alice/foreign", "", 4242)
	w.ok(os.Chmod(foreign, 0o666))
	tmpfs(t, w.dir("ctx/sub", 0))
	w.file("ctx/sub/secret", "", 0)

	slot := w.slot()
	w.ok(w.mount(slot, "ctx", "ctx", true))
	w.ok(w.mount(slot, "ctx/alice", "ctx/alice", false))
	sh := e.start(bind{view: view(t, slot, 0, "."), prefix: "/work"}, bind{view: w.root + "/ctx", prefix: "/naive", naive: true})

	wantLines(t, "writing", sh(try(
		"echo x > /work/ctx/alice/new", "mkdir /work/ctx/alice/dir", "echo x >> /work/ctx/alice/foreign",
		"touch /work/x", "touch /work/ctx/x", "touch /work/ctx/root/x", "touch /work/ctx/alice/../x",
		"test -e /naive/sub/secret", "test -e /work/ctx/sub/secret", "chown 0:0 /work/ctx/alice/new",
	)), "yes", "yes", "yes", "no", "no", "no", "no", "yes", "no", "no")
	wantLines(t, "owners inside", sh("stat -c %u:%g /work/ctx/alice /work/ctx/alice/new /work/ctx/alice/foreign"),
		"2000000001:2000000001", "2000000001:2000000001", "4242:4242")
	for path, want := range map[string]uint32{alice: 1000, alice + "/new": 1000, alice + "/dir": 1000, foreign: 4242} {
		if got := owner(t, path); got != (Identity{want, want}) {
			t.Errorf("on the host %s belongs to %v, want %d", path, got, want)
		}
	}

	w.ok(w.mount(slot, "ctx/root", "late/ws", false))
	w.ok(w.mount(slot, "ctx/root", "ctx/root", false)) // into a context that is in use
	wantLines(t, "writing where a mount came late", sh(try("touch /work/late/ws/one", "touch /work/ctx/root/two", "touch /work/late/x")),
		"yes", "yes", "no")
	for _, name := range []string{"one", "two"} {
		if got := owner(t, filepath.Join(root, name)); got != (Identity{}) {
			t.Errorf("on the host %s belongs to %v, want root", name, got)
		}
	}

	w.ok(slot.Clear())
	wantLines(t, "after the end", sh("ls -A /work; grep -c idmapped /proc/self/mountinfo || true"), "0")
	w.ok(w.mount(slot, "ctx/root", "again", false))
	wantLines(t, "after a new beginning", sh("ls /work/again"), "one", "two")
	if _, err := os.Stat(filepath.Join(root, "one")); err != nil {
		t.Errorf("clearing removed a file of the user's: %v", err)
	}
}

// The case of the package comment: mounts that cover a view.
func TestMountsOnAViewReachAContainer(t *testing.T) {
	e, w := needEngine(t), newWorld(t)
	for _, dir := range []string{"early", "ctx/ws", "late"} {
		w.dir(dir, 1000)
	}
	slot := w.slot()
	place := func(source string, i int, rel string, readOnly bool) {
		w.ok(slot.Place(w.tree(source, readOnly), i, rel))
	}
	place("early", 0, ".", false)
	place("ctx", 1, ".", true)
	place("ctx/ws", 1, "ws", false)
	sh := e.start(
		bind{view: view(t, slot, 0, "."), prefix: "/early", writable: true},
		bind{view: view(t, slot, 1, "."), prefix: "/ctx"},
		bind{view: view(t, slot, 2, "."), prefix: "/late"},
	)
	wantLines(t, "before", sh(try("touch /early/x", "touch /ctx/x", "touch /ctx/ws/x", "touch /late/x")), "yes", "no", "yes", "no")
	place("late", 2, ".", false)
	wantLines(t, "late", sh(try("touch /late/x", "test -e /late/x")), "yes", "yes")
	for _, path := range []string{"early/x", "ctx/ws/x", "late/x"} {
		if got := owner(t, filepath.Join(w.root, path)); got.UID != 1000 {
			t.Errorf("on the host %s belongs to %v", path, got)
		}
	}
	w.ok(slot.Clear())
	wantLines(t, "after the end", sh(try("test -e /late/x")), "no")
	if _, err := os.Stat(filepath.Join(w.root, "late/x")); err != nil {
		t.Errorf("clearing removed a file of the user's: %v", err)
	}
}

// Two sandboxes do not see each other's mounts, though both hang on one shared mount.
func TestMountsReachTheirOwnContainerOnly(t *testing.T) {
	e, w := needEngine(t), newWorld(t)
	w.dir("ws", 1000)
	one, two := w.slot(), w.slot()
	first := e.start(bind{view: view(t, one, 0, "."), prefix: "/work"})
	second := e.start(bind{view: view(t, two, 0, "."), prefix: "/work"})
	w.ok(w.mount(one, "ws", "ws", false))
	wantLines(t, "its own", first(try("touch /work/ws/x")), "yes")
	wantLines(t, "the other's", second("ls -A /work; grep -c idmapped /proc/self/mountinfo || true"), "0")
}

// An engine that has a sandbox's mount in its hands does not keep a freed slot alive.
func TestReleaseWhileAContainerRuns(t *testing.T) {
	e, w := needEngine(t), newWorld(t)
	dir := w.dir("ws", 1000)
	slot := w.slot()
	w.ok(w.mount(slot, "ws", "ws", false))
	sh := e.start(bind{view: view(t, slot, 0, "."), prefix: "/work"})
	path := slot.Path()
	w.ok(slot.Free())
	if _, err := os.Stat(path); !errors.Is(err, unix.ENOENT) {
		t.Errorf("the slot is still there: %v", err)
	}
	wantLines(t, "in the container", sh(try("test -e /work/ws")), "no")
	w.ok(unix.Rmdir(dir))
}
