//go:build linux

package adapter

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"torno/internal/agent"
)

// Start starts a program in this process's group, with an empty signal mask and this process's standard error.
type Start func(argv, env []string, stdin, stdout int) (pid int, cannot *Cannot)

// Cannot says why a program did not start, with the exit code for that: 127 if the program does not exist, 126 if it
// cannot be run, 1 if the adapter itself failed.
type Cannot struct {
	Code int
	Why  string
}

const (
	codeFailed = 1
	codeUsage  = 2
	codeNone   = 127
)

// maxTask is the longest task, in bytes.
const maxTask = 16 << 20

// patience is how long an agent may print nothing before the adapter reports it.
const patience = 30 * time.Second

// run is one run of an agent. The main goroutine owns it.
type run struct {
	options

	out      teller
	patience time.Duration
	signals  chan os.Signal
	task     *os.File // the agent's standard input; nil when it is closed
	memory   *said
	keeper   keeper
	given    given // by the settings
	quiet    bool  // the agent has printed nothing yet
	ear      *ear
	beside   *beside // nil for an agent that reports everything on its output

	mu    sync.Mutex         // guards the fields below
	waits int                // inputs that the agent's pipe has not taken yet
	idle  bool               // the agent's turn is over
	shut  bool               // the agent's input is closed: it gets nothing more
	known map[int]agent.Line // the acknowledgements, by the number of their input
}

// Main runs the adapter. args are the words after "agent". Main returns the exit code.
func Main(args []string, start Start) int {
	r := &run{out: teller{fd: unix.Stdout}, patience: patience, signals: make(chan os.Signal, 16), quiet: true}
	signal.Notify(r.signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2)
	var err error
	if r.options, err = parse(args); err != nil {
		return r.fails(codeUsage, fmt.Sprintf("the adapter was called with wrong arguments: %v; %s", err, Usage))
	}
	return r.run(start)
}

// run runs the agent from its start to its end, and returns the exit code.
func (r *run) run(start Start) int {
	r.memory = r.kind.parser.memory()
	r.ear = r.newEar()
	r.listenToAgent()
	task, err := readTask(r.options.task)
	if err != nil {
		return r.fails(codeFailed, fmt.Sprintf("the task cannot be read: %v; --task must name a file that the sandbox sees", err))
	}
	if err := r.resume(); err != nil {
		return r.fails(codeFailed, r.cannotGoOn(err))
	}
	if r.given, err = r.takeSettings(); err != nil {
		return r.fails(codeFailed, fmt.Sprintf("the settings of this run cannot be given to %s: %v; ask again without them, or ask the operator to check the sandbox's temporary directory", r.kind.name, err))
	}
	if sig, came := r.signal(); came {
		return r.fails(128+int(sig), fmt.Sprintf("%s came before %s was started", unix.SignalName(sig), r.kind.name))
	}
	if err := r.prepareFiles(task); err != nil {
		return r.fails(codeFailed, fmt.Sprintf("the files of %s cannot be followed: %v; the sandbox needs its working directory and its temporary directory", r.kind.name, err))
	}
	c, cannot := r.start(start)
	if cannot != nil {
		return r.fails(cannot.Code, r.cannotStart(cannot))
	}
	over := make(chan struct{})
	defer close(over)
	go r.speak(r.kind.input(task), over)
	r.follow(c)
	end := <-c.end
	r.closeTask()
	r.endFiles(end)
	code := r.ends(end)
	r.keepSession(true)
	return code
}

// fails reports why there is no good result, in a failed result and on standard error. It returns code.
func (r *run) fails(code int, why string) int {
	r.out.tell(tell(agent.Line{Kind: agent.Result, Failed: true, Text: why}))
	warn("%s", why)
	return code
}

func (r *run) cannotStart(cannot *Cannot) string {
	next := fmt.Sprintf("the profile's command names the program of %s, which the sandbox must see: in its image, or in a directory that the profile lets it read", r.kind.title)
	if cannot.Code == codeNone {
		return fmt.Sprintf("%s is not there: %s; %s", r.kind.name, cannot.Why, next)
	}
	return fmt.Sprintf("%s does not start: %s; %s", r.kind.name, cannot.Why, next)
}

// signal returns a signal that came before the agent was there to get it too, if there was one.
func (r *run) signal() (unix.Signal, bool) {
	select {
	case sig := <-r.signals:
		number, ok := sig.(unix.Signal)
		return number, ok
	default:
		return 0, false
	}
}

// readTask reads the task from a file or a pipe.
func readTask(name string) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxTask+1))
	if err == nil && len(data) > maxTask {
		err = fmt.Errorf("%s has more than %d bytes", name, maxTask)
	}
	return valid(string(data)), err
}

// closeTask closes the agent's input, so that an agent that waits for more ends. It may be called twice.
func (r *run) closeTask() {
	r.mu.Lock()
	r.shut = true
	r.mu.Unlock()
	_ = r.task.Close()
}

// take handles one line that the agent printed.
func (r *run) take(line []byte) {
	before := r.memory.turns
	r.out.tell(read(r.kind.parser, line))
	r.mu.Lock()
	r.idle = r.memory.over
	r.mu.Unlock()
	r.closeUnlessWaited()
	if r.memory.turns > before {
		r.keepSession(false)
	}
}

// closeUnlessWaited closes the agent's input at the end of a turn, so that an agent that waits for more ends. It keeps
// the input open while something waits to be told, and while the agent still owes an answer. The agent gives that
// answer in a turn of its own, or has given it in this one. The adapter calls closeUnlessWaited after each line of the
// agent and after each input that the agent has received: either may come last, because an agent can answer an input
// before the adapter knows that the agent has it.
func (r *run) closeUnlessWaited() {
	if r.kind.server != nil && r.kind.server.busy() { // it would be cut off; more lines come
		return
	}
	if r.closeIdle() && r.kind.asks != nil {
		r.out.tell(r.kind.asks.end())
	}
}

func (r *run) closeIdle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.idle || r.waits > 0 {
		return false
	}
	r.shut = true
	_ = r.task.Close()
	return true
}

func (r *run) tooLong(length int64) {
	r.out.tell(raw(fmt.Appendf(nil, "a line of %d bytes was left out: the limit is %d", length, maxLine)))
}

// tellQuiet reports that the agent has printed nothing for a while.
func (r *run) tellQuiet() {
	r.out.tell(notice(fmt.Sprintf("%s has printed nothing for %v: see whether it reaches its model", r.kind.name, r.patience)))
}
