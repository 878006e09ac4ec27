//go:build linux

package adapter

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"torno/internal/agent"
)

// maxHeard bounds how many inputs wait for the agent to read them. The watcher sends fewer before it waits for an
// acknowledgement.
const maxHeard = 64

// ear takes the parent's inputs from standard input and hands them to the agent. The main goroutine reads them. Another
// goroutine writes them to the agent, which may read slowly, and acknowledges an input when the agent's pipe has taken
// the whole of it. An input that comes twice is handed on once.
type ear struct {
	lines splitter
	ended bool // standard input has ended
	last  int  // the highest number taken so far
	queue chan agent.Input

	replies chan []byte // lines of the agent's own protocol: decisions, and requests to its server
}

// maxReplies bounds how many replies wait for the agent to read them. An agent that keeps asking without reading gets
// no more.
const maxReplies = 256

func (r *run) newEar() *ear {
	r.known = make(map[int]agent.Line)
	e := &ear{queue: make(chan agent.Input, maxHeard), replies: make(chan []byte, maxReplies)}
	e.lines = splitter{most: agent.MaxInputLine, whole: r.hear, tooLong: func(int64) {}}
	return e
}

// listenToAgent lets the adapter answer the agent: its server's requests, and its questions if it was told to ask.
func (r *run) listenToAgent() {
	if r.kind.server != nil {
		r.kind.server.reply = r.reply
	}
	if r.ask != "" {
		r.kind.asks.on = true
		r.kind.asks.answer = r.reply
	}
}

// reply queues a line of the agent's own protocol for the agent. It does not wait.
func (r *run) reply(line []byte) {
	select {
	case r.ear.replies <- line:
	default:
		warn("%s asks but does not read the answers; one answer was dropped", r.kind.name)
	}
}

// hear takes one line from the watcher. A line that it cannot read was torn; the watcher sends it again.
func (r *run) hear(line []byte) {
	if agent.IsAskAgain(line) {
		if r.kind.asks != nil {
			r.out.tell(r.kind.asks.again())
		}
		return
	}
	if d, ok := agent.DecodeDecision(line); ok {
		if r.kind.asks != nil {
			r.out.tell([]agent.Line{r.kind.asks.decide(d)})
		}
		return
	}
	in, err := agent.DecodeInput(line)
	if err != nil {
		return
	}
	e := r.ear
	switch {
	case in.N <= e.last:
		r.repeat(in)
		return
	case !r.kind.hears():
		e.last = in.N
		r.acknowledge(in, errors.New("it takes no messages while it works"))
		return
	}
	e.last = in.N
	if r.beside != nil {
		r.beside.inbox.take(in)
		return
	}
	if !r.expect() {
		r.acknowledge(in, errLate)
		return
	}
	select {
	case e.queue <- in:
	default:
		r.heard()
		r.acknowledge(in, fmt.Errorf("it has %d messages that it has not read", maxHeard))
	}
}

// expect counts an input that waits. It returns false after the last turn, when no input can wait any more.
func (r *run) expect() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shut {
		return false
	}
	r.waits++
	return true
}

// acknowledge tells the watcher whether the agent got an input, and remembers that.
func (r *run) acknowledge(in agent.Input, err error) {
	l := agent.Line{Kind: agent.Acknowledged, N: in.N}
	l.Text, _ = cut(in.Text, mostSaid)
	if err != nil {
		l.Failed, l.Text = true, fmt.Sprintf("%s did not get it: %v", r.kind.name, err)
	}
	r.mu.Lock()
	r.known[in.N] = l
	delete(r.known, in.N-keptAnswers)
	r.mu.Unlock()
	r.out.tell([]agent.Line{l})
}

// keptAnswers bounds how many acknowledgements are remembered. After a restart the watcher asks again for the last few.
const keptAnswers = 1024

// repeat acknowledges once more an input that was taken before. If the input still waits, it is acknowledged later.
func (r *run) repeat(in agent.Input) {
	r.mu.Lock()
	l, known := r.known[in.N]
	r.mu.Unlock()
	if known {
		r.out.tell([]agent.Line{l})
	}
}

// speak writes the task to the agent, and then inputs and replies, until over is closed.
func (r *run) speak(task []byte, over <-chan struct{}) {
	if _, err := r.task.Write(task); err != nil || !r.kind.converses {
		_ = r.task.Close() // an agent that does not read its task ends, and says why itself
	}
	for {
		select {
		case in := <-r.ear.queue:
			r.say(in, func(err error) {
				r.heard()
				r.acknowledge(in, err)
			})
			r.closeUnlessWaited()
		case line := <-r.ear.replies:
			if _, err := r.task.Write(line); err != nil {
				warn("%s does not take an answer: %v", r.kind.name, err)
			}
		case <-over:
			return
		}
	}
}

// heard notes that one input has stopped waiting.
func (r *run) heard() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waits--
}

// say hands an input to the agent. It calls done when the agent has the input, or never will.
func (r *run) say(in agent.Input, done func(error)) {
	if r.kind.server != nil {
		r.kind.server.say(in, done)
		return
	}
	for _, line := range r.kind.says(in) {
		if _, err := r.task.Write(line); errors.Is(err, os.ErrClosed) {
			done(errLate)
			return
		} else if err != nil {
			done(err)
			return
		}
	}
	done(nil)
}

const hearSize = 64 << 10

// listen reads once from standard input.
func (r *run) listen() {
	buf := make([]byte, hearSize)
	n, err := unix.Read(unix.Stdin, buf)
	switch {
	case n > 0:
		r.ear.lines.add(buf[:n])
	case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
	default:
		r.ear.ended = true
	}
}
