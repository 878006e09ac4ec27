//go:build linux

package initproc

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"torno/internal/agent/adapter"
	"torno/internal/boot"
	"torno/internal/pipes"
	"torno/internal/runfile"
	"torno/internal/version"
)

// Main runs the whole program. It returns the exit code when nothing but itself is left in the sandbox. The first
// argument can give it other work. With the single argument "version" it prints the version and does nothing else, so
// it serves as an agent that does nothing. With "reach" and addresses it is an agent that tries to get out. With "shut"
// and a socket it is the agent of a launcher's trial. With "agent" it is the adapter of another agent.
func Main(args []string) int {
	if len(args) > 1 && args[1] == "agent" {
		return adapter.Main(args[2:], adapted)
	}
	if len(args) > 2 && args[1] == "reach" {
		return reach(args[2:])
	}
	if len(args) == 3 && args[1] == "shut" {
		return tryShut(args[2])
	}
	if len(args) == 2 && args[1] == "version" {
		if pipes.WriteAll(unix.Stdout, []byte("sandbox-init "+version.String()+"\n")) != nil {
			return 1
		}
		return 0
	}
	r, err := prepare(args)
	if errors.Is(err, errAbandoned) {
		return runfile.AbandonedExit
	}
	if err != nil {
		return sayFailed(err)
	}
	return r.run()
}

// run is one run of an agent. The main goroutine owns it.
type run struct {
	file     runfile.File
	token    string           // for the end mark; "" without one
	signals  <-chan os.Signal // to pass on to the agent
	children <-chan os.Signal // tells that some children have ended
	answer   *answer          // nil without one
	stdout   *tee             // nil when the agent writes to ours
	warnings []string         // faults from before the started line could be written
}

// prepare does everything that can fail before the agent exists. The hold comes first. During the hold init does the
// work that is the same for every run. In a sandbox that was made ahead, no run waits for that work; in every other
// one, the host looks at the sandbox meanwhile.
func prepare(args []string) (*run, error) {
	r := &run{}
	r.signals, r.children = catchSignals()
	if err := sayHolding(); err != nil {
		return nil, err
	}
	unready := getReady()
	var err error
	if r.token, err = awaitRelease(); err != nil {
		return nil, err
	}
	if unready != nil { // not earlier: before the release the host expects no line about it
		return nil, unready
	}
	if len(args) != 2 {
		return nil, refuse(runfile.FailureRunFile, "takes one argument, the nonce of its run file, and got %d", len(args)-1)
	}
	if err := shutOut(); err != nil {
		return nil, err
	}
	if err := r.readFile(args[1]); err != nil {
		return nil, err
	}
	if len(r.file.Doors)+len(r.file.Forwards) > 0 {
		reserveThreads(1) // one thread serves all of them
	}
	return r, r.setUp()
}

// getReady does the work that is the same for every run. It reads nothing of a run.
func getReady() error {
	if err := closeOnExec(); err != nil {
		return err
	}
	if err := setActions(uncaught, byDefault); err != nil {
		return err
	}
	if err := proveIdentity(); err != nil {
		return err
	}
	// Do this while there are few threads: gVisor goes through the filter for each of them.
	if err := applyFilter(); err != nil {
		return err
	}
	reserveThreads(0)
	return nil
}

func (r *run) readFile(nonce string) error {
	var err error
	if r.file, err = runfile.Read(runfile.Path); err != nil {
		return &failure{runfile.FailureRunFile, err}
	}
	if !r.file.For(nonce) {
		return refuse(runfile.FailureRunFile, "run file %s: was made for another sandbox", runfile.Path)
	}
	return nil
}

// setUp proves the mounts, and gives this process everything that the agent will inherit.
func (r *run) setUp() error {
	mounts, err := proveMounts(r.file.Mounts)
	if err != nil {
		return err
	}
	defer mounts.Close()
	if err := mounts.shut(r.file); err != nil {
		return err
	}
	if err := mounts.enter(r.file); err != nil {
		return err
	}
	if err := setLimits(r.file.Umask, r.file.Rlimits); err != nil {
		return err
	}
	if !r.file.Stdin {
		if err := closeInput(); err != nil {
			return err
		}
	}
	if r.file.Answer.Path != "" {
		if r.answer, err = mounts.answer(r.file); err != nil {
			return err
		}
		r.warnings = r.answer.moveAside(r.warnings)
	}
	if len(r.file.Doors)+len(r.file.Forwards) > 0 {
		doors, err := newDoors(r.file)
		if err != nil {
			return err
		}
		go doors.serve()
	}
	if r.file.Answer.FromStdout {
		if r.stdout, err = newTee(r.file.Answer.Max, r.answer); err != nil {
			return err
		}
	}
	return nil
}

// run writes the started line. From there on it always returns the agent's exit code.
func (r *run) run() int {
	_ = pipes.WriteAll(unix.Stderr, runfile.StartedLine(time.Now())) // if this fails, the exit code still tells
	for _, warning := range r.warnings {
		warn("%s", warning)
	}
	if sig, ok := pending(r.signals); ok {
		warn("%s came before the agent was started", unix.SignalName(sig))
		return 128 + int(sig)
	}
	if err := setActions(fatal, ignore); err != nil {
		warn("%v", err)
	}
	limit := boot.NewBackstop(r.file.Allowed, r.file.Grace)
	defer limit.Stop()
	pid, cannot := r.start()
	if cannot != nil {
		warn("%s", cannot.why)
		return cannot.code
	}
	if err := setActions(libraries, ignore); err != nil {
		warn("%v", err)
	}
	code, alone := r.supervise(pid, limit)
	r.finish()
	told := runfile.ExitFor(code)
	if seen, _ := runfile.AgentExit(told); seen != code {
		warn("the exit code %d is reported as %d", code, seen)
	}
	if r.token != "" && alone {
		sayEnd(r.token, runfile.End{Code: told, Memory: seeMemory(), Up: boot.Up()})
	}
	return told
}

// finish passes on the rest of the agent's output and writes the answer. No process is left that could touch the
// workspace from inside.
func (r *run) finish() {
	if r.stdout == nil {
		return
	}
	for _, line := range r.answer.settle(r.stdout.finish()) {
		warn("%s", line)
	}
}
