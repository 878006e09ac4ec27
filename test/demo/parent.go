package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"torno/delegation"
	"torno/manager"
)

// agent is the parent: a program in a container that has tasks done by children.
type agent struct {
	manager *manager.Manager
	project string // what it shares with its children: they can read it and not write it
	out     *json.Encoder
}

// parent is the whole life of the agent. Everything in it is what any agent could do with its outbox.
//
// With no outbox named it is the one of the environment, and no child of the agent can reach a model.
func parent(ctx context.Context, outbox string, out io.Writer) error {
	talks := outbox != ""
	if !talks {
		outbox = os.Getenv("TORNO_OUTBOX")
	}
	m, err := manager.New(outbox, manager.Options{})
	if err != nil {
		return err
	}
	defer m.Close()
	a := &agent{manager: m, project: filepath.Join(outbox, manager.Workspaces, "project"), out: json.NewEncoder(out)}
	acts := []func(context.Context) error{a.lookAround, a.prepare, a.three, a.cancel, a.timeOut, a.refuse}
	if talks {
		acts = append(acts, a.talk)
	}
	for _, act := range acts {
		if err := act(ctx); err != nil {
			return err
		}
	}
	return nil
}

// lookAround tells how the agent itself is shut in.
func (a *agent) lookAround(context.Context) error {
	c := cage{UID: os.Getuid()}
	interfaces, err := net.Interfaces()
	if err != nil {
		return err
	}
	for _, i := range interfaces {
		if i.Flags&net.FlagUp != 0 {
			c.Interfaces = append(c.Interfaces, i.Name)
		}
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for field := range strings.Lines(string(status)) {
		if name, value, _ := strings.Cut(field, ":"); name == "CapBnd" || name == "CapEff" {
			c.Capabilities = strings.TrimSpace(c.Capabilities + " " + strings.TrimSpace(value))
		}
	}
	for _, path := range []string{"/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock"} {
		if _, err := os.Lstat(path); err == nil {
			c.Socket = true
		}
	}
	return a.out.Encode(line{Cage: &c})
}

// prepare writes the numbers that the three children will look through.
func (a *agent) prepare(context.Context) error {
	if err := os.MkdirAll(a.project, 0o755); err != nil {
		return err
	}
	for i := range helpers {
		var numbers strings.Builder
		for n := i*perHelper + 1; n <= (i+1)*perHelper; n++ {
			fmt.Fprintln(&numbers, n)
		}
		if err := os.WriteFile(a.numbers(i), []byte(numbers.String()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (a *agent) numbers(i int) string {
	return filepath.Join(a.project, fmt.Sprintf("numbers-%d", i+1))
}

// three has three children work at once. None begins before all of them are there, which is how one can be sure.
func (a *agent) three(ctx context.Context) error {
	start := filepath.Join(a.project, "start")
	work := `echo ready >&2; until test -e %s; do sleep 0.01; done; factor <%s | grep -c '^[0-9]*: [0-9]*$'`
	runs := make([]started, helpers)
	for i := range runs {
		var err error
		runs[i], err = a.spawn(ctx, manager.SpawnOptions{
			ID: helper(i), Task: fmt.Sprintf(work, start, a.numbers(i)), ContextPaths: []string{a.project},
		})
		if err != nil {
			return err
		}
	}
	for _, r := range runs {
		if err := r.says(ctx, "ready"); err != nil {
			return err
		}
	}
	if err := os.WriteFile(start, nil, 0o644); err != nil {
		return err
	}
	return a.takeAll(ctx, runs)
}

// takeAll waits for several runs at once, and tells their ends in the given order.
func (a *agent) takeAll(ctx context.Context, runs []started) error {
	var wait sync.WaitGroup
	endings, errs := make([]ending, len(runs)), make([]error, len(runs))
	for i, r := range runs {
		wait.Go(func() { endings[i], errs[i] = r.end(ctx) })
	}
	wait.Wait()
	for i := range endings {
		if errs[i] == nil {
			errs[i] = a.out.Encode(line{Ending: &endings[i]})
		}
	}
	return errors.Join(errs...)
}

// cancel ends a child that runs. It is asked to stop, and has time for its last words.
func (a *agent) cancel(ctx context.Context) error {
	r, err := a.spawn(ctx, manager.SpawnOptions{
		ID:   digger,
		Task: `trap 'echo my notes are saved; exit' INT; echo digging >&2; while :; do sleep 0.05; done`,
	})
	if err != nil {
		return err
	}
	if err := r.says(ctx, "digging"); err != nil {
		return err
	}
	if err := r.Cancel(ctx); err != nil {
		return err
	}
	return a.takeAll(ctx, []started{r})
}

// timeOut gives a child less time than it wants.
func (a *agent) timeOut(ctx context.Context) error {
	r, err := a.spawn(ctx, manager.SpawnOptions{
		ID: dawdler, Task: `echo a first draft; exec sleep 600`, Timeout: time.Second,
	})
	if err != nil {
		return err
	}
	return a.takeAll(ctx, []started{r})
}

// refuse asks for what the operator does not share.
func (a *agent) refuse(ctx context.Context) error {
	r, err := a.spawn(ctx, manager.SpawnOptions{
		ID: snooper, Task: `cat /etc/shadow`, ContextPaths: []string{"/etc"},
	})
	if err != nil {
		return err
	}
	return a.takeAll(ctx, []started{r})
}

// talk has a child that is an agent itself, with a model of its own. The child's program is this one.
func (a *agent) talk(ctx context.Context) error {
	own, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	program := filepath.Join(a.project, "agent")
	if err := os.WriteFile(program, own, 0o755); err != nil {
		return err
	}
	r, err := a.spawn(ctx, manager.SpawnOptions{
		ID: talker, Profile: "talks", ContextPaths: []string{a.project},
		Task: program + " talk '" + question + "'",
	})
	if err != nil {
		return err
	}
	return a.takeAll(ctx, []started{r})
}

// started is a run and when it was asked for.
type started struct {
	*manager.Run
	asked time.Time
}

func (a *agent) spawn(ctx context.Context, o manager.SpawnOptions) (started, error) {
	asked := time.Now()
	run, err := a.manager.Spawn(ctx, o)
	return started{run, asked}, err
}

// says waits until the child has printed a word.
func (s started) says(ctx context.Context, word string) error {
	var seen strings.Builder
	for event, err := range s.Events(ctx, 1, true) {
		if err != nil {
			return err
		}
		if event.Type == delegation.EventStderr {
			seen.WriteString(event.Text)
		}
		if strings.Contains(seen.String(), word) {
			return nil
		}
	}
	return fmt.Errorf("%s ended and never said %q, but %q", s.ID(), word, seen.String())
}

// end waits for the end of a run.
func (s started) end(ctx context.Context) (ending, error) {
	result, err := s.Wait(ctx)
	if err == nil {
		err = s.Acknowledge(result)
	}
	e := ending{
		Child: s.ID(), Status: result.Status, Reason: result.Reason, Answer: strings.TrimSpace(result.Answer),
		Refusal: result.Error, Stderr: strings.TrimSpace(result.StderrTail), Took: time.Since(s.asked), Timings: result.Timings,
	}
	if e.Refusal != nil {
		e.Text = e.Refusal.Text // which is not in its JSON
	}
	return e, err
}
