package sandboxtest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"torno/delegation"
	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/sandboxtest"
)

// user has a world and one launcher in it.
type user struct {
	*testing.T
	world *sandboxtest.World
	fake  *sandboxtest.Fake
	dir   string
}

func newUser(t *testing.T, options ...sandboxtest.Option) *user {
	t.Helper()
	world := sandboxtest.NewWorld(t, options...)
	return &user{T: t, world: world, fake: world.Launcher("here"), dir: t.TempDir()}
}

func (u *user) must(err error) {
	u.Helper()
	if err != nil {
		u.Fatal(err)
	}
}

// as has an agent run as a subagent's.
func as(subagent string, spec sandbox.Spec) sandbox.Spec {
	spec.Process.Env = []string{"TORNO_SUBAGENT_ID=" + subagent}
	return spec
}

func (u *user) spec(argv ...string) sandbox.Spec {
	return sandbox.Spec{
		Process: sandbox.Process{Argv: argv, Dir: "/workspace"},
		Mounts: []sandbox.Mount{{
			Source: sandbox.Source{Base: u.dir, Rel: "."}, Target: "/workspace", Prefix: "/workspace", Workspace: true,
		}},
	}
}

// start creates, starts, attaches and releases.
func (u *user) start(spec sandbox.Spec) (sandbox.Handle, sandbox.Attachment) {
	u.Helper()
	h, err := u.fake.Create(u.Context(), sandbox.NewSandboxID(), spec)
	u.must(err)
	u.must(u.fake.Start(u.Context(), h))
	a, err := u.fake.Open(u.Context(), h, "")
	u.must(err)
	u.must(a.Release(u.Context()))
	return h, a
}

// rest is what still comes on a stream.
func rest(a sandbox.Attachment, stream sandbox.Stream) string {
	var text strings.Builder
	for chunk := range a.Output() {
		if chunk.Stream == stream {
			text.Write(chunk.Bytes)
		}
	}
	return text.String()
}

func (u *user) wait(a sandbox.Attachment) sandbox.Exit {
	u.Helper()
	exit, err := a.Wait(u.Context())
	u.must(err)
	return exit
}

func TestInitFails(t *testing.T) {
	u := newUser(t)
	u.world.Fail(sandboxtest.OpInit, 1, &sandboxtest.InitError{Failure: runfile.FailureMount, Text: "another directory"})
	u.world.Fail(sandboxtest.OpInit, 2, errors.New("no pipe"))
	for _, want := range []string{"torno-init 1 failed mount another directory\n", "torno-init 1 failed setup no pipe\n"} {
		_, a := u.start(u.spec("echo", "never"))
		if got := rest(a, sandbox.Stderr); got != runfile.Holding+want {
			t.Errorf("init says %q, want %q", got, want)
		}
		if exit := u.wait(a); exit.Code != runfile.FailedExit {
			t.Errorf("%+v", exit)
		}
	}
}

// A sandbox that dies before init could say anything has no first line at all.
func TestKilledBeforeTheStartedLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUser(t)
		free := make(chan struct{})
		u.world.Before(sandboxtest.OpInit, func() { <-free })
		_, a := u.start(u.spec("echo", "never"))
		u.must(a.Signal(t.Context(), sandbox.Kill))
		close(free)
		if got := rest(a, sandbox.Stderr); got != runfile.Holding {
			t.Errorf("init says %q", got)
		}
		if exit := u.wait(a); exit.Code != 137 {
			t.Errorf("%+v", exit)
		}
	})
}

func TestShellCommandsAreWords(t *testing.T) {
	u := newUser(t)
	for _, argv := range [][]string{
		{"echo", "two words"},
		{"sh", "-c", "echo two words"},
		{"/bin/sh", "-c", "--", "echo two words"},
		{"/bin/bash", "/run/torno/run/task"},
		{"/bin/sh", "script"},
	} {
		spec := u.spec(argv...)
		spec.Files = []sandbox.File{{Name: "task", Content: []byte("echo two words")}}
		u.must(os.WriteFile(filepath.Join(u.dir, "script"), []byte("echo\ntwo words\n"), 0o644))
		_, a := u.start(spec)
		if got := rest(a, sandbox.Stdout); got != "two words\n" {
			t.Errorf("%q says %q", argv, got)
		}
	}
	_, a := u.start(u.spec("/bin/sh", "-c", "unheard of"))
	if exit := u.wait(a); exit.Code != 127 {
		t.Errorf("an unknown word: %+v", exit)
	}
}

func TestRegisteredProgram(t *testing.T) {
	u := newUser(t)
	u.world.Register("claude", func(_ context.Context, p sandboxtest.ProgramIO) int {
		line, err := io.ReadAll(p.Stdin)
		fmt.Fprintf(p.Stdout, "%s %q %v", p.Args, line, err)
		return 5
	})
	_, a := u.start(u.spec("claude", "-p", "do it"))
	if got := rest(a, sandbox.Stdout); got != `[-p do it] "" <nil>` || u.wait(a).Code != 5 {
		t.Errorf("it says %q", got)
	}
}

func TestTrappedSignal(t *testing.T) {
	u := newUser(t)
	u.world.Register("tidy", func(ctx context.Context, p sandboxtest.ProgramIO) int {
		signals := p.Trap(sandbox.Terminate)
		fmt.Fprintln(p.Stdout, "ready")
		select {
		case s := <-signals:
			fmt.Fprintf(p.Stdout, "tidied up after %s\n", s)
			return 0
		case <-ctx.Done():
			return 1
		}
	})
	_, a := u.start(u.spec("tidy"))
	for chunk := range a.Output() {
		if chunk.Stream == sandbox.Stdout {
			break
		}
	}
	u.must(a.Signal(t.Context(), sandbox.Terminate))
	if got, exit := rest(a, sandbox.Stdout), u.wait(a); got != "tidied up after TERM\n" || exit.Code != 0 {
		t.Errorf("%q, %+v", got, exit)
	}
}

// An hour of a child is nothing in a bubble, and a reader that does not read its output stops it there too.
func TestInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUser(t)
		begin := time.Now()
		spec := u.spec("lines", "60", "60")
		spec.Limits.Log = 100
		_, a := u.start(spec)
		<-time.After(2 * time.Hour)
		if list, err := u.fake.List(t.Context()); err != nil || list[0].State != sandbox.HandleRunning {
			t.Errorf("a stream that nobody reads does not stop the child: %v, %v", list, err)
		}
		if lines := strings.Count(rest(a, sandbox.Stdout), "\n"); lines != 60 {
			t.Errorf("%d lines of 60", lines)
		}
		exit := u.wait(a)
		if took := exit.FinishedAt.Sub(exit.StartedAt); took < time.Hour || !exit.StartedAt.Equal(begin) {
			t.Errorf("it took %s of the bubble's time", took)
		}
	})
}

func TestLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUser(t)
		u.must(os.Mkdir(filepath.Join(u.dir, "inner"), 0o755))
		inner, beside := u.spec("sleep"), u.spec("sleep")
		inner.Mounts[0].Source.Rel = "inner"
		beside.Mounts = nil
		first, _ := u.start(as("s", u.spec("sleep")))
		u.start(as("s", beside))
		third, _ := u.start(as("other", inner))
		u.must(u.fake.Remove(t.Context(), first))
		fourth, _ := u.start(as("s", inner))
		shared := []sandboxtest.Shared{{Earlier: first.Sandbox, Later: third.Sandbox}, {Earlier: third.Sandbox, Later: fourth.Sandbox}}
		if got := u.world.SharedWorkspaces(); !slices.Equal(got, shared) {
			t.Errorf("shared workspaces: %v, want %v", got, shared)
		}
		if a, b, c := u.world.MostAtOnce("s"), u.world.MostAtOnce("other"), u.world.MostOfAll(); a != 2 || b != 1 || c != 3 {
			t.Errorf("at once: %d of s, %d of the other, %d of all", a, b, c)
		}
		if all := u.world.Sandboxes(); len(all) != 4 || all[0] != first.Sandbox {
			t.Errorf("sandboxes: %v", all)
		}
		if all := u.world.Released(); len(all) != 4 || all[3] != fourth.Sandbox {
			t.Errorf("released: %v", all)
		}
	})
}

func TestWhatIsNotEnforcedIsRefused(t *testing.T) {
	u := newUser(t)
	u.world.Enforce(sandbox.MemoryLimit, false, "no such cgroup")
	spec := u.spec("echo")
	spec.AtLeast = []sandbox.GuaranteeKey{sandbox.NoNetwork, sandbox.MemoryLimit}
	_, err := u.fake.Create(t.Context(), sandbox.NewSandboxID(), spec)
	var refusal *delegation.Refusal
	if !errors.As(err, &refusal) || refusal.Code != delegation.CodeNotEnforced {
		t.Errorf("Create: %v", err)
	}
	if g, err := u.fake.Check(t.Context()); err != nil || g[sandbox.MemoryLimit].By != "no such cgroup" {
		t.Errorf("Check: %v, %v", g[sandbox.MemoryLimit], err)
	}
}

func TestHostDir(t *testing.T) {
	dir := t.TempDir()
	u := newUser(t, sandboxtest.HostDir(func(s sandbox.Source) string { return filepath.Join(dir, s.Rel) }))
	u.dir = "/nowhere"
	_, a := u.start(u.spec("write", "file", "text"))
	if exit := u.wait(a); exit.Code != 0 {
		t.Errorf("%+v: %s", exit, rest(a, sandbox.Stderr))
	}
	if text, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || string(text) != "text\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestStdinEndsWithItsAttachment(t *testing.T) {
	u := newUser(t)
	spec := u.spec("cat")
	spec.Process.Stdin = true
	h, a := u.start(spec)
	second, err := u.fake.Open(t.Context(), h, "")
	u.must(err)
	if _, err := second.Input().Write([]byte("x")); err == nil {
		t.Error("two attachments have the standard input")
	}
	u.must(a.Close())
	if exit := u.wait(second); exit.Code != 0 {
		t.Errorf("%+v", exit)
	}
}
