package sandboxtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"torno/internal/runfile"
	"torno/sandbox"
)

// box is one sandbox. The fields above the blank line never change.
type box struct {
	world        *World
	installation string
	site         string // the site that it belongs to
	id           string
	number       int // 1 for the first box that the world made, and so on
	slot         int
	sandbox      sandbox.SandboxID
	spec         sandbox.Spec // for a prepared box it is final before the release
	log          *replay
	stdin        *io.PipeReader
	input        *io.PipeWriter
	handed       chan []byte     // bytes that attachments write to an input that lasts
	life, agent  context.Context // of the whole sandbox, and of the agent's group in it
	kill         context.CancelFunc
	killAgent    context.CancelFunc
	released     chan struct{} // closed when init has its word
	done         chan struct{} // closed when the last process is gone
	gone         chan struct{} // closed when somebody took the sandbox away
	spawned      sync.WaitGroup

	mu         sync.Mutex
	state      sandbox.HandleState
	inputTaken bool // an attachment has the standard input
	held       bool // init waits for its word
	abandoned  bool // init will never get its word
	death      int  // the number of the signal that the agent died of
	traps      map[sandbox.Signal]chan sandbox.Signal
	outOfMem   bool
	exit       sandbox.Exit
	answer     bytes.Buffer
	vanished   sync.Once
}

func newBox(w *World, installation string, id sandbox.SandboxID, spec sandbox.Spec) *box {
	b := &box{
		world:        w,
		installation: installation,
		sandbox:      id,
		spec:         spec,
		log:          newReplay(spec.Limits.Log, w.chunk),
		released:     make(chan struct{}),
		done:         make(chan struct{}),
		gone:         make(chan struct{}),
		state:        sandbox.HandleCreated,
		traps:        make(map[sandbox.Signal]chan sandbox.Signal),
	}
	b.life, b.kill = context.WithCancel(context.Background())
	b.agent, b.killAgent = context.WithCancel(b.life)
	b.stdin, b.input = io.Pipe()
	b.handed = make(chan []byte)
	if !spec.Process.Stdin {
		b.input.Close()
	}
	return b
}

// handle returns the box as List shows it.
func (b *box) handle() sandbox.Handle {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := sandbox.Handle{Launcher: LauncherName, ID: b.id, Site: b.site, Sandbox: b.sandbox, Slot: b.slot, State: b.state}
	if b.state == sandbox.HandleExited {
		exit := b.exit
		h.Exit = &exit
	}
	return h
}

// start runs a box that has never run.
func (b *box) start() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state != sandbox.HandleCreated {
		return
	}
	b.state, b.held = sandbox.HandleRunning, true
	b.exit.StartedAt = b.world.now()
	go b.run()
}

// run takes the sandbox through its life, from the hold to the exit.
func (b *box) run() {
	if b.spec.Process.Lasting {
		b.spawned.Go(b.handOn)
	}
	code := b.init()
	b.kill()
	b.stdin.CloseWithError(io.ErrClosedPipe)
	b.spawned.Wait()
	b.stdin.CloseWithError(io.ErrClosedPipe)
	b.world.end(b)
	b.mu.Lock()
	b.state = sandbox.HandleExited
	b.exit.Code, b.exit.OutOfMemory, b.exit.FinishedAt = code, b.outOfMem, b.world.now()
	b.mu.Unlock()
	b.log.close()
	close(b.done)
}

// hand gives the agent the bytes that an attachment writes, unless the attachment is closed first.
func (b *box) hand(open context.Context, p []byte) (int, error) {
	b.mu.Lock()
	held := b.held
	b.mu.Unlock()
	if held || open.Err() != nil {
		return 0, io.ErrClosedPipe
	}
	select {
	case b.handed <- bytes.Clone(p):
		return len(p), nil
	case <-open.Done():
	case <-b.life.Done():
	}
	return 0, io.ErrClosedPipe
}

// handOn passes bytes from the attachments to the agent.
func (b *box) handOn() {
	for {
		select {
		case p := <-b.handed:
			if _, err := b.input.Write(p); err != nil {
				return
			}
		case <-b.life.Done():
			return
		}
	}
}

// init does the work of sandbox-init: it holds, may fail, says that it started, runs the agent and writes the answer.
func (b *box) init() int {
	if !b.hold() {
		return runfile.AbandonedExit
	}
	err := b.world.step(OpInit, b.life.Err, b.moveAnswerAside)
	switch {
	case b.life.Err() != nil:
		return 128 + 9
	case err != nil:
		b.say(runfile.FailedLine(failure(err), err.Error()))
		return runfile.FailedExit
	}
	b.say(runfile.StartedLine(b.world.now()))
	code := b.runAgent()
	if err := b.writeAnswer(); err != nil {
		b.say(fmt.Appendf(nil, "torno-init: the answer was not written: %v\n", err))
	}
	return code
}

// hold waits until the box is released, let go of, or killed. It returns false only if the box was let go of.
func (b *box) hold() bool {
	b.say([]byte(runfile.Holding))
	select {
	case <-b.released:
	case <-b.life.Done():
		return true // init looks whether the box was killed
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.abandoned
}

// release gives init its word, or lets go of it for good. It reports whether init was waiting.
func (b *box) release(word bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.held {
		return false
	}
	b.held, b.abandoned = false, !word
	if word {
		b.world.begin(b)
	}
	close(b.released)
	return true
}

// say writes a line of init to standard error. If the sandbox is being killed, the line is dropped.
func (b *box) say(line []byte) { _, _ = b.log.write(b.life, sandbox.Stderr, line) }

// end kills the box and waits until nothing in it runs. If the box was never started, it cannot be started any more.
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

// vanish ends the box without telling anybody how it ended.
func (b *box) vanish() {
	b.vanished.Do(func() { close(b.gone) })
	b.end()
}

// InitError is an error for Fail(OpInit, …) that says how init failed. Any other error counts as a failure of init's
// set-up.
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
