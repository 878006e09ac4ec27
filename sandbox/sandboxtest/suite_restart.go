package sandboxtest

import (
	"fmt"
	"os"
	"path/filepath"

	"torno/internal/runfile"
	"torno/sandbox"
)

var restartCases = []testCase{
	{"the next launcher finds everything", nextFinds},
	{"the next launcher goes on with what was created", nextStarts},
	{"what a dead launcher held never runs", nextFindsHeld},
	{"the next launcher continues the output", nextContinues},
	{"the next launcher still has what was said", nextReplays},
	{"an input that lasts reaches the agent from the next launcher too", nextSays},
	{"another installation sees and removes nothing", othersAreBlind},
}

// alone gives a case its own installation, whose launcher may crash.
func (b *bench) alone() {
	b.Helper()
	b.installation = fmt.Sprintf("alone-%d", numbers.Add(1))
	b.launcher = b.suite.New(b.T, b.suite.base, b.installation)
}

// crash replaces a dead launcher by a new one.
func (b *bench) crash() {
	b.Helper()
	b.suite.Crash(b.launcher)
	b.launcher = b.suite.New(b.T, b.suite.base, b.installation)
}

func nextFinds(b *bench) {
	b.alone()
	created := b.create(b.spec("sleep"))
	running, _, _ := b.run(b.spec("sleep"))
	ended, a, begun := b.run(b.spec("exit", "3"))
	exit := b.rest(a, begun).exit
	b.crash()
	seen := b.list(b.launcher)
	for want, h := range map[sandbox.HandleState]sandbox.Handle{
		sandbox.HandleCreated: created, sandbox.HandleRunning: running, sandbox.HandleExited: ended,
	} {
		if got := seen[h.Sandbox]; !sameSandbox(got, h) || got.State != want {
			b.Errorf("List shows %+v, want the %s %+v", got, want, h)
		}
	}
	if got := seen[ended.Sandbox].Exit; got == nil || got.Code != 3 || !got.FinishedAt.Equal(exit.FinishedAt) {
		b.Errorf("List shows the exit %+v, want %+v", got, exit)
	}
	for _, h := range []sandbox.Handle{created, running, ended} {
		b.goesAway(h)
	}
}

func nextStarts(b *bench) {
	b.alone()
	id, spec := sandbox.NewSandboxID(), b.spec("append", "ran", "once")
	h, err := b.launcher.Create(b.ctx, id, spec)
	b.must(err)
	b.crash()
	again, err := b.launcher.Create(b.ctx, id, spec)
	b.must(err)
	if !sameSandbox(again, h) {
		b.Errorf("Create after a crash: %+v, before it: %+v", again, h)
	}
	b.must(b.launcher.Start(b.ctx, h))
	a, seen := b.held(h) // a watcher would make a new sandbox, which it can attest
	b.must(a.Release(b.ctx))
	b.must(a.Input().Close())
	b.exits(b.rest(a, seen).exit, 0)
	b.same("the file that each run adds a line to", []byte(b.get("workspace/ran")), "once\n")
	b.goesAway(h)
}

func nextFindsHeld(b *bench) {
	b.alone()
	h := b.start(b.spec("append", "ran", "once"))
	b.held(h)
	b.crash()
	var seen transcript
	next := b.open(h, "")
	if next.Holds() {
		b.Error("a launcher that has not started it says that it can give the word")
	}
	b.exits(b.end(next, &seen), runfile.AbandonedExit)
	if _, err := os.Stat(filepath.Join(b.home, "ran")); err == nil {
		b.Error("the agent ran although nobody released it")
	}
	b.goesAway(h)
}

func nextContinues(b *bench) {
	b.alone()
	h, a, seen := b.run(b.spec("lines", "20", "0.1"))
	b.read(a, seen, seen.has(3))
	b.crash()
	b.exits(b.end(b.open(h, seen.cursor), seen), 0)
	b.same("stdout in two parts", seen.stdout, numbered(20, ""))
}

// nextSays writes to one agent from two launchers. A write that the first launcher did not finish does not count.
func nextSays(b *bench) {
	b.alone()
	spec := b.spec("cat")
	spec.Process.Stdin, spec.Process.Lasting = true, true
	h, a, seen := b.run(spec)
	b.say(a, "one\n")
	b.read(a, seen, seen.says("one\n"))
	b.crash()
	next := b.open(h, seen.cursor)
	b.say(next, "two\n")
	b.read(next, seen, seen.says("two\n"))
	b.must(next.Close())
	last := b.open(h, seen.cursor)
	b.say(last, "three\n")
	b.read(last, seen, seen.says("three\n"))
	b.must(last.Signal(b.ctx, sandbox.Kill))
	b.exits(b.end(last, seen), 128+9)
	b.same("stdout of three attachments", seen.stdout, "one\ntwo\nthree\n")
	b.goesAway(h)
}

func nextReplays(b *bench) {
	b.alone()
	h, a, seen := b.run(b.spec("both", "100"))
	before := b.rest(a, seen)
	b.crash()
	after := b.finish(b.open(h, ""))
	b.same("stdout", after.stdout, string(before.stdout))
	b.same("stderr", after.stderr, string(before.stderr))
	if after.exit.Code != before.exit.Code || !after.exit.FinishedAt.Equal(before.exit.FinishedAt) {
		b.Errorf("it ended twice: %+v, %+v", before.exit, after.exit)
	}
}

func othersAreBlind(b *bench) {
	h, a, begun := b.run(b.spec("lines", "10", "0.1"))
	stranger := b.suite.New(b.T, b.suite.base, "theirs")
	for _, seen := range b.list(stranger) {
		if seen.ID == h.ID || seen.Sandbox == h.Sandbox {
			b.Errorf("a stranger sees %+v", seen)
		}
	}
	// The stranger may answer that there is no such sandbox, or that it is gone. Both are fine.
	if err := stranger.Remove(b.ctx, h); err != nil {
		b.Log(fmt.Errorf("the stranger's Remove: %w", err))
	}
	r := b.rest(a, begun)
	b.same("stdout", r.stdout, numbered(10, ""))
	b.succeeds(r)
}
