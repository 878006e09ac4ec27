package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"torno/delegation"
	"torno/manager"
	"torno/test/house"
)

// shell is a subagent command that runs in the parent's shell.
type shell struct {
	*exec.Cmd
	out, errors note
}

// note is what a command writes, and may be read while it does.
type note struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (n *note) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(p)
}

func (n *note) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}

// parent starts a command of the client.
func parent(h *house.House, args ...string) *shell {
	h.Helper()
	s := &shell{Cmd: exec.CommandContext(h.Context(), house.Program("subagent"), args...)}
	s.Env, s.Stdout, s.Stderr = append(os.Environ(), "TORNO_OUTBOX="+h.Outbox), &s.out, &s.errors
	h.Must(s.Start())
	return s
}

// done waits for a command's end and wants its exit code.
func (s *shell) done(h *house.House, exit int) string {
	h.Helper()
	err := s.Wait()
	if s.ProcessState.ExitCode() != exit {
		h.Errorf("%v: %v, want %d\n%s", s.Args[1:], err, exit, s.errors.String())
	}
	return s.out.String()
}

// hears waits until a command says something.
func (s *shell) hears(h *house.House, text string) {
	h.Helper()
	h.Eventually(fmt.Sprintf("%v says %q", s.Args[1:], text), func() bool { return strings.Contains(s.errors.String(), text) })
}

const untilGo = "echo ready; while ! test -e go; do sleep 0.05; done; echo went"

// The watcher is killed while one child runs and another one waits, and the client of the first is killed too.
func TestClientsOutliveTheirWatcher(t *testing.T) {
	house.Together(t, house.Each, clientsOutliveTheirWatcher) // most of it is waiting for three heartbeats
}

func clientsOutliveTheirWatcher(t *testing.T, sandbox string) {
	h := house.New(t, house.Plan{Sandbox: sandbox, MaxRunning: 1})
	running := parent(h, "spawn", "--wait", "--id", "running", "--", untilGo)
	h.Says(house.Ask{ID: "running", Request: "running"}, "ready")
	queued := parent(h, "spawn", "--wait", "--id", "queued", "--", "echo queued")
	h.Eventually("the second waits", func() bool { return h.Exists("status_queued.json") })

	h.Signal(syscall.SIGKILL)
	running.hears(h, "nobody is serving")
	queued.hears(h, "nobody is serving")
	h.Must(running.Process.Kill())
	running.Wait()

	h.Start()
	queued.hears(h, "the outbox is served again")
	if list := parent(h, "list", "--quiet").done(h, 0); !strings.Contains(list, "running\n") || !strings.Contains(list, "queued\n") {
		t.Errorf("a later client finds %q", list)
	}
	later := parent(h, "wait", "running")
	h.Touch("workspaces/running/go")
	if got := later.done(h, 0); got != "ready\nwent\n" {
		t.Errorf("a later client takes %q", got)
	}
	if got := queued.done(h, 0); got != "queued\n" {
		t.Errorf("the client takes %q", got)
	}
	nothingIsLeft(h)
}

// A later client cancels what an earlier one asked for; a second interrupt leaves at once, and leaves nothing.
func TestClientsThatLeave(t *testing.T) {
	t.Parallel() // most of it is waiting for a child that does not want to end
	h := house.New(t, house.Plan{})
	parent(h, "spawn", "--id", "s1", "--", "echo ready; exec sleep 1000").done(h, 0)
	h.Says(house.Ask{ID: "s1"}, "ready")
	parent(h, "cancel", "--wait", "s1").done(h, 0)

	stubborn := parent(h, "spawn", "--wait", "--id", "s2", "--", "trap '' INT TERM; echo ready; while :; do sleep 0.1; done")
	h.Says(house.Ask{ID: "s2"}, "ready")
	h.Must(stubborn.Process.Signal(syscall.SIGTERM))
	stubborn.hears(h, "cancelling s2; interrupt again to leave at once")
	h.Must(stubborn.Process.Signal(syscall.SIGINT))
	stubborn.hears(h, "the request was withdrawn before the child had ended")
	stubborn.done(h, 4)
	nothingIsLeft(h)
}

// Clients whose contexts end at any moment of their runs leave nothing, whatever the watcher is writing just then.
func TestClientsThatLeaveAtAnyMoment(t *testing.T) {
	house.Together(t, house.Each, clientsThatLeaveAtAnyMoment)
}

func clientsThatLeaveAtAnyMoment(t *testing.T, sandbox string) {
	h := house.New(t, house.Plan{Sandbox: sandbox, MaxRunning: 2})
	client, err := manager.New(h.Outbox, manager.Options{})
	h.Must(err)
	defer client.Close()
	var clients sync.WaitGroup
	var results, left int
	var mu sync.Mutex
	for n := range 24 {
		clients.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), rand.N(6*time.Second))
			defer cancel()
			run, err := client.Spawn(ctx, manager.SpawnOptions{ID: fmt.Sprint("s", n), Task: "echo x; sleep 0.3; echo y", CancelOnDone: true})
			if err == nil {
				var result manager.Result
				if result, err = run.Wait(ctx); err == nil {
					err = run.Acknowledge(result)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				results++
			case errors.Is(err, context.DeadlineExceeded):
				left++
			default:
				t.Error(err)
			}
		})
	}
	clients.Wait()
	t.Logf("%d clients took a result, %d left before", results, left)
	if left == 0 {
		t.Error("nobody left")
	}
	nothingIsLeft(h)
}

func TestClientsAreToldThatNobodyServes(t *testing.T) {
	t.Parallel() // most of it is waiting for three heartbeats
	h := house.New(t, house.Plan{})
	h.Must(h.Signal(syscall.SIGTERM))
	parent(h, "spawn", "--wait", "--", "true").done(h, 6)
	stopped := parent(h, "list")
	stopped.done(h, 0)
	stopped.hears(h, "its watcher stopped at")

	h.Start()
	h.Signal(syscall.SIGKILL)
	h.Eventually("a client notices that the watcher was killed", func() bool {
		list := parent(h, "list")
		list.done(h, 0)
		return strings.Contains(list.errors.String(), "nobody is serving")
	})
	parent(h, "spawn", "--", "true").done(h, 6)
	nobodyAsked, err := os.ReadDir(h.Path("workspaces"))
	if err != nil || len(nobodyAsked) > 0 {
		t.Errorf("a client that was told so leaves %v, %v", nobodyAsked, err)
	}
	h.Start()
	if got := parent(h, "spawn", "--wait", "--", "echo served").done(h, 0); got != "served\n" {
		t.Errorf("the client takes %q", got)
	}
	nothingIsLeft(h)
}

// nothingIsLeft wants an outbox with nothing in it but the heartbeat, the workspaces and what the client keeps, and no
// sandbox.
func nothingIsLeft(h *house.House) {
	h.Helper()
	h.Eventually("nothing is left", func() bool {
		entries, err := os.ReadDir(h.Outbox)
		h.Must(err)
		for _, e := range entries {
			if e.Name() != delegation.HeartbeatName && e.Name() != manager.Workspaces && e.Name() != manager.TakenDir {
				return false
			}
		}
		return len(h.Sandboxes()) == 0
	})
}
