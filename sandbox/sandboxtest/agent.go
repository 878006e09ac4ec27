package sandboxtest

import (
	"context"
	"io"
	"path"
	"strings"

	"torno/sandbox"
)

// runAgent runs the program that argv names, and returns the exit code that a shell would report.
func (b *box) runAgent() int {
	program, args := b.program()
	if program == nil {
		return 127
	}
	defer context.AfterFunc(b.agent, func() { b.stdin.CloseWithError(io.ErrClosedPipe) })()
	code := program(b.agent, ProgramIO{
		Args:   args,
		Env:    b.spec.Process.Env,
		Dir:    b.spec.Process.Dir,
		Stdin:  b.stdin,
		Stdout: writer{b, b.agent, sandbox.Stdout},
		Stderr: writer{b, b.agent, sandbox.Stderr},
		box:    b,
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.life.Err() != nil && b.death == 0 {
		b.death = 9
	}
	if b.death != 0 {
		return 128 + b.death
	}
	return code
}

// signal delivers a signal to the agent's group, for Attachment.Signal.
func (b *box) signal(s sandbox.Signal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state != sandbox.HandleRunning {
		return
	}
	trap, trapped := b.traps[s]
	switch {
	case s == sandbox.Kill:
		b.die(9, b.kill)
	case trapped:
		select {
		case trap <- s:
		default:
		}
	case s == sandbox.Interrupt:
		b.die(2, b.killAgent)
	case s == sandbox.Terminate:
		b.die(15, b.killAgent)
	}
}

// die notes the first deadly signal and calls end. The caller holds the lock.
func (b *box) die(number int, end context.CancelFunc) {
	if b.death == 0 {
		b.death = number
	}
	end()
}

func (b *box) trap(signals []sandbox.Signal) <-chan sandbox.Signal {
	b.mu.Lock()
	defer b.mu.Unlock()
	caught := make(chan sandbox.Signal, 16)
	for _, s := range signals {
		b.traps[s] = caught
	}
	return caught
}

func (b *box) spawn(process func(context.Context)) {
	b.spawned.Go(func() { process(b.life) })
}

func (b *box) outOfMemory() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.outOfMem = true
	b.die(9, b.killAgent)
	return 128 + 9
}

// program finds the program that argv means. A shell's command line counts as a program with arguments, so a profile
// whose command is a shell can run the fake's own words.
func (b *box) program() (Program, []string) {
	argv := b.spec.Process.Argv
	if p := b.world.program(argv[0]); p != nil {
		return p, argv[1:]
	}
	if words := strings.Fields(b.script()); len(words) > 0 {
		return b.world.program(words[0]), words[1:]
	}
	return nil, nil
}

// script returns the text that argv gives to a shell, or "" if argv does not run a shell.
func (b *box) script() string {
	argv := b.spec.Process.Argv
	if name := path.Base(argv[0]); name != "sh" && name != "bash" {
		return ""
	}
	args := argv[1:]
	fromArgument := len(args) > 0 && args[0] == "-c"
	for len(args) > 0 && (args[0] == "-c" || args[0] == "--") {
		args = args[1:]
	}
	switch {
	case len(args) == 0:
		return ""
	case fromArgument:
		return args[0]
	}
	text, err := b.readFile(absolute(b.spec.Process.Dir, args[0]))
	if err != nil {
		return ""
	}
	return string(text)
}

// writer is one output stream. It fails after its context has ended.
type writer struct {
	box    *box
	ctx    context.Context
	stream sandbox.Stream
}

func (w writer) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	if w.stream == sandbox.Stdout {
		w.box.keepAnswer(p)
	}
	return w.box.log.write(w.ctx, w.stream, p)
}
