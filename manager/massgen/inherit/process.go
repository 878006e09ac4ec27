package inherit

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"torno/delegation"
)

// Command says which program to run, and how.
type Command struct {
	Argv    []string
	Dir     string
	Timeout time.Duration
}

// End describes how a process ended.
type End struct {
	Reason         delegation.Reason
	ExitCode       int
	Stdout, Stderr string // the ends of the two streams
	At             time.Time
}

// Process is a child that runs or has run.
type Process struct {
	Began time.Time

	cmd    *exec.Cmd
	out    tail
	err    tail
	cancel chan struct{}
	once   sync.Once
	done   chan struct{}
	end    End // valid after done is closed
}

// step is a signal, and how long to wait before the next one.
type step struct {
	signal syscall.Signal
	wait   time.Duration
}

var (
	onCancel   = []step{{syscall.SIGINT, 10 * time.Second}, {syscall.SIGTERM, 5 * time.Second}, {syscall.SIGKILL, 5 * time.Second}}
	onDeadline = []step{{syscall.SIGTERM, 5 * time.Second}, {syscall.SIGKILL, 5 * time.Second}}
)

// Start starts a process.
func Start(c Command) (*Process, error) {
	if len(c.Argv) == 0 {
		return nil, errors.New("there is no command")
	}
	p := &Process{Began: time.Now(), cancel: make(chan struct{}), done: make(chan struct{})}
	p.cmd = exec.Command(c.Argv[0], c.Argv[1:]...) //nolint:noctx // carry ends the whole group, step by step
	p.cmd.Dir, p.cmd.Env = c.Dir, environment(os.Environ())
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.WaitDelay = time.Second // because other processes of the group may hold the pipes
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.carry(c.Timeout)
	return p, nil
}

// environment returns the parent's environment without the variable that tells Claude Code that it runs within itself.
func environment(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(entry string) bool { return strings.HasPrefix(entry, "CLAUDECODE=") })
}

// carry waits until the process ends, or ends it, and then records its end.
func (p *Process) carry(timeout time.Duration) {
	exited := make(chan struct{})
	go func() {
		_ = p.cmd.Wait() // the state says how it ended
		close(exited)
	}()
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	reason := delegation.ReasonExited
	select {
	case <-exited:
	case <-deadline.C:
		reason = delegation.ReasonDeadline
		p.endBy(onDeadline, exited)
	case <-p.cancel:
		reason = delegation.ReasonCancelled
		p.endBy(onCancel, exited)
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // the rest of the group
	<-exited
	p.end = End{Reason: reason, ExitCode: exitCode(p.cmd.ProcessState), Stdout: p.out.text(), Stderr: p.err.text(), At: time.Now()}
	close(p.done)
}

// endBy sends one signal after the other until the process has exited.
func (p *Process) endBy(steps []step, exited <-chan struct{}) {
	for _, s := range steps {
		_ = syscall.Kill(-p.cmd.Process.Pid, s.signal)
		select {
		case <-exited:
			return
		case <-time.After(s.wait):
		}
	}
}

// exitCode returns the code that a shell would report: 128 plus the signal for a killed process.
func exitCode(state *os.ProcessState) int {
	if state == nil {
		return -1
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

// Cancel asks for the end of the process, and does not wait for it.
func (p *Process) Cancel() { p.once.Do(func() { close(p.cancel) }) }

// Done returns a channel that is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// End waits until the process has ended, and returns how it ended.
func (p *Process) End() End {
	<-p.done
	return p.end
}

// tail keeps the end of the text written to it.
type tail struct {
	mu   sync.Mutex
	data []byte
}

func (t *tail) Write(part []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := part[max(0, len(part)-delegation.TailBytes):]
	t.data = append(t.data[max(0, len(t.data)+len(kept)-delegation.TailBytes):], kept...)
	return len(part), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return delegation.Tail(t.data)
}
