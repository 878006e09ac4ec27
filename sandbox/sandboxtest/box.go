package sandboxtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"torno/internal/runfile"
	"torno/sandbox"
)

// box is one sandbox. What is above the blank line never changes.
type box struct {
	world        *World
	installation string
	id           string
	number       int // in the order of their making
	slot         int
	key          sandbox.RunKey
	spec         sandbox.Spec
	log          *replay
	stdin        *io.PipeReader
	input        *io.PipeWriter
	life, agent  context.Context // of the whole sandbox, and of the agent's group in it
	kill         context.CancelFunc
	killAgent    context.CancelFunc
	done         chan struct{} // closed when the last process is gone
	gone         chan struct{} // closed when somebody took the sandbox away
	spawned      sync.WaitGroup

	mu       sync.Mutex
	state    sandbox.HandleState
	death    int // the number of the signal that the agent died of
	traps    map[sandbox.Signal]chan sandbox.Signal
	outOfMem bool
	exit     sandbox.Exit
	answer   bytes.Buffer
	vanished sync.Once
}

func newBox(w *World, installation string, key sandbox.RunKey, spec sandbox.Spec) *box {
	b := &box{
		world:        w,
		installation: installation,
		key:          key,
		spec:         spec,
		log:          newReplay(spec.Limits.Log, w.chunk),
		done:         make(chan struct{}),
		gone:         make(chan struct{}),
		state:        sandbox.HandleCreated,
		traps:        make(map[sandbox.Signal]chan sandbox.Signal),
	}
	b.life, b.kill = context.WithCancel(context.Background())
	b.agent, b.killAgent = context.WithCancel(b.life)
	b.stdin, b.input = io.Pipe()
	if !spec.Process.Stdin {
		b.input.Close()
	}
	return b
}

// handle is the box as List shows it.
func (b *box) handle() sandbox.Handle {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := sandbox.Handle{Launcher: LauncherName, ID: b.id, Key: b.key.Hash(), Slot: b.slot, State: b.state}
	if b.state == sandbox.HandleExited {
		exit := b.exit
		h.Exit = &exit
	}
	return h
}

// start runs a box that never ran.
func (b *box) start() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state != sandbox.HandleCreated {
		return
	}
	b.state = sandbox.HandleRunning
	b.exit.StartedAt = time.Now()
	b.world.begin(b)
	go b.run()
}

// run is the sandbox's life.
func (b *box) run() {
	code := b.init()
	b.kill()
	b.spawned.Wait()
	b.stdin.CloseWithError(io.ErrClosedPipe)
	b.world.end(b)
	b.mu.Lock()
	b.state = sandbox.HandleExited
	b.exit.Code, b.exit.OutOfMemory, b.exit.FinishedAt = code, b.outOfMem, time.Now()
	b.mu.Unlock()
	b.log.close()
	close(b.done)
}

// init is sandbox-init: it may fail, says that it started, runs the agent, writes the answer.
func (b *box) init() int {
	err := b.world.step(OpInit, b.life.Err, b.moveAnswerAside)
	switch {
	case b.life.Err() != nil:
		return 128 + 9
	case err != nil:
		fmt.Fprintf(writer{b, b.life, sandbox.Stderr}, "%s%s %s\n", runfile.Failed, failure(err), err)
		return runfile.FailedExit
	}
	fmt.Fprintf(writer{b, b.life, sandbox.Stderr}, "%s%d\n", runfile.Started, time.Now().UnixNano())
	code := b.runAgent()
	if err := b.writeAnswer(); err != nil {
		fmt.Fprintln(writer{b, b.life, sandbox.Stderr}, "the answer could not be written:", err)
	}
	return code
}

// runAgent runs the program that argv names, and tells how it ended as a shell does.
func (b *box) runAgent() int {
	program, args := b.world.program(b.spec.Process.Argv)
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

// signal is what Attachment.Signal does to the agent's group.
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

// die notes the first deadly signal. The lock is held.
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

// end kills the box and waits until nothing of it runs. One that was never started never will be.
func (b *box) end() {
	b.mu.Lock()
	if b.state == sandbox.HandleCreated {
		b.state = sandbox.HandleExited
		close(b.done)
	}
	b.mu.Unlock()
	b.kill()
	<-b.done
}

// vanish ends the box without telling anybody how.
func (b *box) vanish() {
	b.vanished.Do(func() { close(b.gone) })
	b.end()
}

// moveAnswerAside makes room for an answer: what is there is not this run's.
func (b *box) moveAnswerAside() error {
	if b.spec.Answer.Path == "" {
		return nil
	}
	host, _, err := b.resolve(b.spec.Answer.Path)
	if err != nil {
		return err
	}
	if err := os.Rename(host, host+".stale"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// writeAnswer writes what was kept of the agent's standard output.
func (b *box) writeAnswer() error {
	if !b.spec.Answer.FromStdout {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	host, _, err := b.resolve(b.spec.Answer.Path)
	if err != nil {
		return err
	}
	return os.WriteFile(host, b.answer.Bytes(), 0o640)
}

// writer is one output stream, until its context ends.
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

// keepAnswer keeps what fits of the standard output.
func (b *box) keepAnswer(p []byte) {
	if !b.spec.Answer.FromStdout {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	room := b.spec.Answer.Max - int64(b.answer.Len())
	b.answer.Write(p[:max(0, min(room, int64(len(p))))])
}

// InitError is an error for Fail(OpInit, …) that says which of init's failures it is; without one it is its set-up.
type InitError struct {
	Failure runfile.Failure
	Text    string
}

func (e *InitError) Error() string { return e.Text }

func failure(err error) runfile.Failure {
	var failed *InitError
	if errors.As(err, &failed) {
		return failed.Failure
	}
	return runfile.FailureSetup
}
