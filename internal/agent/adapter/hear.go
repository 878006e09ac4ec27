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
	form  func(agent.Input) [][]byte // the agent's own lines for it; nil where the agent takes none
	lines splitter
	ended bool // standard input has
	last  int  // the highest number that was taken
	queue chan agent.Input

	decided chan []byte // the agent's own lines of decisions
}

// maxDecided is how many decisions wait for the agent to read them. An agent that asks on without reading gets no more.
const maxDecided = 256

func (r *run) newEar() *ear {
	r.known = make(map[int]agent.Line)
	e := &ear{form: r.kind.says, queue: make(chan agent.Input, maxHeard), decided: make(chan []byte, maxDecided)}
	e.lines = splitter{most: agent.MaxInputLine, whole: r.hear, tooLong: func(int64) {}}
	return e
}

// listenToAsks has the agent's questions be told, and their answers be written, where it was told to ask.
func (r *run) listenToAsks() {
	if r.ask == "" {
		return
	}
	r.kind.asks.on = true
	r.kind.asks.answer = func(line []byte) {
		select {
		case r.ear.decided <- line:
		default:
			warn("%s asks without reading the answers; one is left out", r.kind.name)
		}
	}
}

// hear takes one line. A line that is no input was torn; the watcher sends it again.
func (r *run) hear(line []byte) {
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
	case e.form == nil:
		e.last = in.N
		r.acknowledge(in, errors.New("it takes no messages while it works"))
		return
	}
	e.last = in.N
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

// errLate is what came when the agent had ended its last turn.
var errLate = errors.New("it had ended its last turn")

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
			err := r.say(in)
			r.heard()
			r.acknowledge(in, err)
		case line := <-r.ear.decided:
			if _, err := r.task.Write(line); err != nil {
				warn("%s does not take a decision: %v", r.kind.name, err)
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

func (r *run) say(in agent.Input) error {
	for _, line := range r.ear.form(in) {
		if _, err := r.task.Write(line); errors.Is(err, os.ErrClosed) {
			return errLate
		} else if err != nil {
			return err
		}
	}
	return nil
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
