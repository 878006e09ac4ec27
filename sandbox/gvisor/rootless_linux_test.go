package gvisor_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"torno/delegation"
	"torno/sandbox"
	"torno/sandbox/gvisor"
	"torno/sandbox/local"
	"torno/test/attack"
	"torno/test/prober/verdict"
	"torno/test/tied"
)

// ordinary is a user without any right, and stranger another one. This machine need not know them.
const (
	ordinary = 54321
	stranger = 4242
)

// TestAsAnOrdinaryUser runs the contract, and what is special without root, in a process of an ordinary user's.
func TestAsAnOrdinaryUser(t *testing.T) {
	asAnOrdinaryUser(t, "^(TestContract|TestOrdinary.*|TestRunscIsNamed.*|TestASlotIsLookedAt.*|TestRoot.*|TestTheKeeperHoldsTheImage)$")
}

// TestExhaustionAsAnOrdinaryUser runs there what takes long and is much the same for root: what a child may take, what is exchanged while a
// sandbox starts, and images.
func TestExhaustionAsAnOrdinaryUser(t *testing.T) {
	asAnOrdinaryUser(t, "^(TestExhaustion|TestForkBomb|TestThreads|TestFlood|TestNestedContextsAreExchanged|TestImageFromALayout|TestProgramsOverAnImage|TestLinksOfAnImage)$")
}

func asAnOrdinaryUser(t *testing.T, tests string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("an ordinary user runs these tests already")
	}
	tester(t).runs(tests)
}

// tester is a user with what these tests need, and the tests.
func tester(t *testing.T) *user {
	t.Helper()
	u := newUser(t)
	u.installs("tests", u.self())
	prober := verdict.Build(t)
	u.installs("prober", prober)
	u.installs("home/set-uid", prober)
	u.must(os.Chmod(filepath.Join(u.home, "set-uid"), 0o755|os.ModeSetuid))
	programs := build(t)
	u.installs("sandbox-init", programs.init)
	u.installs("sandbox-keeper", programs.keeper)
	u.installs("runsc", programs.runsc)
	u.installs("sleeper", sleeper(t))
	for _, page := range []string{"docs/THREATS.md", "test/prober/verdicts.md"} {
		u.must(os.MkdirAll(filepath.Join(u.dir, filepath.Dir(page)), 0o755))
		u.installs(page, filepath.Join(attack.Root(), page))
	}
	return u
}

// user is an ordinary user, which can neither build anything nor read root's files.
type user struct {
	*testing.T
	dir  string // root's; the user's home is in it
	home string
}

func newUser(t *testing.T) *user {
	t.Helper()
	before := syscall.Umask(0o022)
	t.Cleanup(func() { syscall.Umask(before) })
	dir, err := os.MkdirTemp("/tmp", "torno-ordinary-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	u := &user{t, dir, filepath.Join(dir, "home")}
	strange := filepath.Join(dir, strangers)
	u.must(errors.Join(
		os.Chmod(dir, 0o755), os.Mkdir(u.home, 0o700), os.Chown(u.home, ordinary, ordinary),
		os.Mkdir(strange, 0o755), os.Chown(strange, stranger, stranger)))
	return u
}

// strangers is a directory that belongs to the stranger.
const strangers = "strange"

func (u *user) must(err error) {
	u.Helper()
	if err != nil {
		u.Fatal(err)
	}
}

func (u *user) self() string {
	u.Helper()
	self, err := os.Executable()
	u.must(err)
	return self
}

// installs copies a file to where the user can read and execute it.
func (u *user) installs(name, from string) {
	u.Helper()
	content, err := os.ReadFile(from)
	u.must(err)
	u.must(os.WriteFile(filepath.Join(u.dir, name), content, 0o755))
}

func (u *user) runs(pattern string) {
	u.Helper()
	command := exec.CommandContext(u.Context(), filepath.Join(u.dir, "tests"), "-test.run="+pattern, fmt.Sprintf("-test.v=%t", testing.Verbose()))
	command.Dir = u.home
	command.Env = append(os.Environ(), "HOME="+u.home, "TMPDIR="+u.home, verdict.Programs+"="+u.dir, attack.RootVariable+"="+u.dir, "DOCKER_HOST="+u.engine())
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}}
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	u.must(tied.Start(command))
	err := command.Wait()
	u.Logf("%s", &out)
	if err != nil {
		u.Errorf("as user %d: %v", ordinary, err)
	}
}

// engine is a way for the user to root's engine, in which the tests make places without walls.
func (u *user) engine() string {
	u.Helper()
	theirs, ok := strings.CutPrefix(os.Getenv("DOCKER_HOST"), "unix://")
	if !ok {
		theirs = "/var/run/docker.sock"
	}
	socket := filepath.Join(u.dir, "engine.sock")
	listener, err := net.Listen("unix", socket)
	u.must(err)
	u.must(os.Chmod(socket, 0o666))
	var serving sync.WaitGroup
	u.Cleanup(func() { listener.Close(); serving.Wait() })
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { join(conn, theirs) })
		}
	})
	return "unix://" + socket
}

// join brings a connection to where a socket leads, until both ends have said all.
func join(conn net.Conn, socket string) {
	defer conn.Close()
	there, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	defer there.Close()
	var copying sync.WaitGroup
	for to, from := range map[*net.UnixConn]*net.UnixConn{conn.(*net.UnixConn): there.(*net.UnixConn), there.(*net.UnixConn): conn.(*net.UnixConn)} {
		copying.Go(func() {
			_, _ = io.Copy(to, from)
			_ = to.CloseWrite()
		})
	}
	copying.Wait()
}

// asOrdinary skips a test that says nothing where root runs it.
func asOrdinary(t *testing.T) *house {
	t.Helper()
	if os.Geteuid() == 0 {
		t.Skip("TestAsAnOrdinaryUser runs it")
	}
	return newHouse(t)
}

// trial is a launcher whose bases are a directory, and a sandbox with that as its workspace.
func (h *house) trial(dir string, owner uint32) (*gvisor.Launcher, sandbox.SandboxID, sandbox.Spec) {
	h.Helper()
	spec := local.Trial{Dir: dir, Owner: owner}.Spec()
	return h.launch(dir, "here"), sandbox.NewSandboxID(), spec
}

// TestOrdinaryWorkspaceOfAnother: what another user owns, even one that the operator allows, cannot be written as ourselves.
func TestOrdinaryWorkspaceOfAnother(t *testing.T) {
	h := asOrdinary(t)
	l, id, spec := h.trial(filepath.Join(os.Getenv(verdict.Programs), strangers), stranger)
	_, err := l.Create(t.Context(), id, spec)
	refusal, ok := errors.AsType[*delegation.Refusal](err)
	if !ok || refusal.Code != delegation.CodeIdentity {
		t.Errorf("Create: %v, want a refusal because of the owner", err)
	}
}

// TestOrdinaryRestart: a sandbox that an earlier life has made gets the workspace that was found then, or none.
func TestOrdinaryRestart(t *testing.T) {
	h := asOrdinary(t)
	dir := t.TempDir()
	work := filepath.Join(dir, "work")
	for _, swapped := range []bool{false, true} {
		if err := os.Mkdir(work, 0o755); err != nil {
			t.Fatal(err)
		}
		l, id, spec := h.trial(dir, uint32(os.Geteuid()))
		spec.Mounts[0].Source = sandbox.Source{Base: dir, Rel: "work"}
		created, err := l.Create(t.Context(), id, spec)
		if err != nil {
			t.Fatal(err)
		}
		h.crash(l)
		if swapped {
			err = errors.Join(os.Rename(work, work+".old"), os.Mkdir(work, 0o755))
		}
		again := h.launch(dir, "here")
		if startErr := again.Start(t.Context(), created); (startErr != nil) != swapped || err != nil {
			t.Errorf("swapped: %t, Start: %v, %v", swapped, startErr, err)
		}
		if err := errors.Join(again.Remove(t.Context(), created), os.RemoveAll(work)); err != nil {
			t.Error(err)
		}
		h.crash(again)
	}
}

// TestOrdinaryRestartWithPrograms: so it is with the profile's programs.
func TestOrdinaryRestartWithPrograms(t *testing.T) {
	h := asOrdinary(t)
	dir, tools := t.TempDir(), filepath.Join(t.TempDir(), "tools")
	for _, swapped := range []bool{false, true} {
		if err := os.Mkdir(tools, 0o755); err != nil {
			t.Fatal(err)
		}
		l, id, spec := h.trial(dir, uint32(os.Geteuid()))
		spec.Mounts = append(spec.Mounts, sandbox.Mount{
			Source: sandbox.Source{Base: tools, Rel: "."}, Target: "/usr/local/tools", Prefix: "/usr/local", Programs: true,
		})
		created, err := l.Create(t.Context(), id, spec)
		if err != nil {
			t.Fatal(err)
		}
		h.crash(l)
		if swapped {
			err = errors.Join(os.Rename(tools, tools+".old"), os.Mkdir(tools, 0o755))
		}
		again := h.launch(dir, "here")
		if startErr := again.Start(t.Context(), created); (startErr != nil) != swapped || err != nil {
			t.Errorf("swapped: %t, Start: %v, %v", swapped, startErr, err)
		}
		if err := errors.Join(again.Remove(t.Context(), created), os.RemoveAll(tools)); err != nil {
			t.Error(err)
		}
		h.crash(again)
	}
}

// TestOrdinaryGuarantees: what an ordinary user cannot give is not promised, with the reason.
func TestOrdinaryGuarantees(t *testing.T) {
	h := asOrdinary(t)
	l := h.launch(t.TempDir(), "here")
	given, err := l.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[sandbox.GuaranteeKey]bool{
		sandbox.OwnIdentity: false, sandbox.MountsByHandle: true, sandbox.MountProof: true, sandbox.KernelIsolation: true,
	} {
		if g := given[key]; g.Enforced != want || g.By == "" {
			t.Errorf("%s: %+v, want %t", key, g, want)
		}
	}
}
