package sandboxtest

import (
	"fmt"
	"strings"

	"torno/sandbox"
)

var processCases = []testCase{
	{"stdin reaches the agent until it is closed", stdinReaches},
	{"a write to an agent that does not read ends with its attachment", unreadInput},
	{"without stdin it is at its end", stdinAtEnd},
	{"exit codes are the agent's", exitCodes},
	{"a program that is none", noProgram},
	{"a signal of the agent's own", ownSignals},
	{"signals end the agent", signalsEnd},
	{"an agent that ignores signals dies by KILL", killEnds},
	{"a signal after the end is nothing", lateSignal},
	{"what the agent leaves behind is killed", orphansDie},
	{"out of memory is said", outOfMemory},
	{"arguments are whole and go through no shell", argumentsWhole},
	{"the environment is the spec's", environmentWhole},
	{"the agent begins in its directory", beginsInDir},
}

func stdinReaches(b *bench) {
	spec := b.spec("cat")
	spec.Process.Stdin = true
	_, a, seen := b.run(spec)
	b.say(a, "one\n")
	b.read(a, seen, seen.says("one\n"))
	b.say(a, "two\n")
	b.must(a.Input().Close())
	b.exits(b.end(a, seen), 0)
	b.same("stdout", seen.stdout, "one\ntwo\n")
}

// unreadInput fills the input of an agent that reads nothing.
func unreadInput(b *bench) {
	spec := b.spec("sleep")
	spec.Process.Stdin, spec.Process.Lasting = true, true
	h, a, _ := b.run(spec)
	written := make(chan error, 1)
	go func() {
		for {
			if _, err := a.Input().Write(make([]byte, 64<<10)); err != nil {
				written <- err
				return
			}
		}
	}()
	b.must(a.Close())
	select {
	case <-written:
	case <-b.ctx.Done():
		b.Error("a write outlives its attachment")
	}
	next := b.open(h, "")
	b.must(next.Signal(b.ctx, sandbox.Kill))
	b.exits(b.wait(next), 128+9)
}

// say writes to the agent's standard input.
func (b *bench) say(a sandbox.Attachment, text string) {
	b.Helper()
	_, err := a.Input().Write([]byte(text))
	b.must(err)
}

func stdinAtEnd(b *bench) {
	_, a, seen := b.run(b.spec("cat"))
	if _, err := a.Input().Write([]byte("nobody reads this\n")); err == nil {
		b.Error("Input takes what nobody can read")
	}
	b.must(a.Input().Close())
	r := b.rest(a, seen)
	b.same("stdout", r.stdout, "")
	b.succeeds(r)
}

// exitCodes tries exit codes of the agent. All of init's own codes are among them.
func exitCodes(b *bench) {
	for _, code := range []int{0, 1, 42, 125, 126, 127, 137, 143, 255} {
		e := b.runs(b.spec("exit", fmt.Sprint(code))).exit
		b.exits(e, code)
		if e.OutOfMemory || e.StartedAt.IsZero() || e.FinishedAt.Before(e.StartedAt) {
			b.Errorf("an exit that is not plausible: %+v", e)
		}
	}
}

func noProgram(b *bench) {
	b.exits(b.runs(b.command("/nonexistent/program")).exit, 127)
	b.exits(b.runs(b.command(notExecutable)).exit, 126)
}

func ownSignals(b *bench) {
	for _, signal := range []int{1, 6, 9, 15} {
		b.exits(b.runs(b.spec("self-signal", fmt.Sprint(signal))).exit, 128+signal)
	}
}

func signalsEnd(b *bench) {
	for signal, code := range map[sandbox.Signal]int{sandbox.Interrupt: 130, sandbox.Terminate: 143, sandbox.Kill: 137} {
		a, seen := b.ready(b.spec("sleep"))
		b.must(a.Signal(b.ctx, signal))
		e := b.end(a, seen)
		b.exits(e, code)
		if e.OutOfMemory {
			b.Errorf("%s: %+v", signal, e)
		}
	}
}

func killEnds(b *bench) {
	a, seen := b.ready(b.spec("ignore-term"))
	for _, signal := range []sandbox.Signal{sandbox.Interrupt, sandbox.Terminate} {
		b.must(a.Signal(b.ctx, signal))
		b.read(a, seen, seen.has(strings.Count(string(seen.stdout), "\n")+3))
	}
	b.must(a.Signal(b.ctx, sandbox.Kill))
	b.exits(b.end(a, seen), 137)
}

func lateSignal(b *bench) {
	_, a, seen := b.run(b.spec("exit", "0"))
	b.rest(a, seen)
	for _, signal := range []sandbox.Signal{sandbox.Interrupt, sandbox.Terminate, sandbox.Kill} {
		b.must(a.Signal(b.ctx, signal))
	}
	b.exits(b.wait(a), 0)
}

func orphansDie(b *bench) {
	r := b.runs(b.spec("orphan", "beats"))
	b.succeeds(r)
	b.still("workspace/beats")
}

// outOfMemory tries three times at most. An engine can lose the news that memory ended a sandbox, if the end itself
// overtakes the news, and a busy machine makes that likelier. If the news never comes, that is a fault.
func outOfMemory(b *bench) {
	b.enforced(sandbox.MemoryLimit)
	for range 3 {
		spec := b.spec("hog")
		spec.Limits.Memory = 48 * mib
		e := b.runs(spec).exit
		b.exits(e, 137)
		if e.OutOfMemory {
			return
		}
		b.Logf("the launcher lost the news of memory: %+v", e)
	}
	b.Error("it is never said that memory ended a sandbox")
}

// argumentsWhole uses one argument that is nearly as long as Linux accepts; engines cut arguments at less.
func argumentsWhole(b *bench) {
	text := long(120_000)
	b.same("stdout", b.runs(b.spec("echo", text)).stdout, text+"\n")
}

func environmentWhole(b *bench) {
	spec := b.spec("env", "SUITE_TEXT")
	text := long(100_000)
	spec.Process.Env = append(spec.Process.Env[:len(spec.Process.Env):len(spec.Process.Env)], "SUITE_TEXT="+text)
	b.same("stdout", b.runs(spec).stdout, text+"\n")
}

func beginsInDir(b *bench) {
	b.mkdir("workspace/deeper", owner)
	spec := b.spec("pwd")
	spec.Process.Dir = "/workspace/deeper"
	b.same("stdout", b.runs(spec).stdout, "/workspace/deeper\n")
}
