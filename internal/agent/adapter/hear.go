//go:build linux

package adapter

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"torno/internal/agent"
)

// maxHeard is how many inputs wait for the agent to read them. The watcher sends fewer before it has an answer.
const maxHeard = 64

// ear takes what the parent says, on standard input, and hands it to the agent. The main goroutine reads; one goroutine writes to the
// agent, which may read slowly, and acknowledges what the agent's pipe has taken whole. What came twice is handed on once.
type ear struct {
	lines splitter
	ended bool // standard input has
	last  int  // the highest number that was taken
	queue chan agent.Input

	replies chan []byte // the agent's own lines of decisions, and what its server is asked
}

// maxReplies is how many of them wait for the agent to read them. An agent that asks on without reading gets no more.
const maxReplies = 256

func (r *run) newEar() *ear {
	r.known = make(map[int]agent.Line)
	e := &ear{queue: make(chan agent.Input, maxHeard), replies: make(chan []byte, maxReplies)}
	e.lines = splitter{most: agent.MaxInputLine, whole: r.hear, tooLong: func(int64) {}}
	return e
}

// listenToAgent has what the agent asks be answered: its server's requests, and its questions, where it was told to ask.
func (r *run) listenToAgent() {
	if r.kind.server != nil {
		r.kind.server.reply = r.reply
	}
	if r.ask != "" {
		r.kind.asks.on = true
		r.kind.asks.answer = r.reply
	}
}

// reply has the agent read a line of its own protocol. It does not wait.
func (r *run) reply(line []byte) {
	select {
	case r.ear.replies <- line:
	default:
		warn("%s asks without reading the answers; one is left out", r.kind.name)
	}
}

// hear takes one line. A line that is no input was torn; the watcher sends it again.
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

// expect counts an input that waits. After the last turn there is none.
func (r *run) expect() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shut {
		return false
	}
	r.waits++
	return true
}

// acknowledge tells the watcher what became of an input, and remembers it.
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

// keptAnswers is how many answers are remembered. The watcher asks again for the last few, after its own restart.
const keptAnswers = 1024

// repeat acknowledges once more what was taken before. An input that still waits is acknowledged later.
func (r *run) repeat(in agent.Input) {
	r.mu.Lock()
	l, known := r.known[in.N]
	r.mu.Unlock()
	if known {
		r.out.tell([]agent.Line{l})
	}
}

// speak writes to the agent: its task, and what is said later, until its input is closed.
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

// heard says that an input does not wait any more.
func (r *run) heard() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waits--
}

// say hands an input to the agent, and calls done when it has it, or will not have it.
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

// listen reads what has come on standard input.
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
