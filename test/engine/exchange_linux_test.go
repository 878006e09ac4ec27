package engine

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"torno/delegation"
	"torno/test/house"
)

// switchable is a name for a socket that leads to one engine or another.
type switchable struct {
	*house.House
	name string
}

// twoEngines are two engines of one machine, and a house that knows them by one name. It leads to the first.
func twoEngines(t *testing.T) (s *switchable, first, second *house.Private) {
	t.Helper()
	t.Parallel()
	first, second = house.NewPrivate(t, living), house.NewPrivate(t, living)
	s = &switchable{name: filepath.Join(t.TempDir(), "docker.sock")}
	if err := os.Symlink(first.Socket, s.name); err != nil {
		t.Fatal(err)
	}
	s.House = house.New(t, house.Plan{Engine: &first.Engine, Host: "unix://" + s.name, Shutdown: "keep"})
	return s, first, second
}

// leadTo has the name lead to an engine from now on.
func (s *switchable) leadTo(p *house.Private) {
	s.Helper()
	s.Must(os.Symlink(p.Socket, s.name+".new"))
	s.Must(os.Rename(s.name+".new", s.name))
}

// onceOnly is a task that notes in its workspace when it begins and ends, and ends when there is a file named go.
const onceOnly = "echo start >>ledger; echo ready; while ! test -e go; do sleep 0.05; done; echo end >>ledger"

func (s *switchable) strands(a house.Ask) {
	s.Helper()
	s.Eventually("the operator sees that it is stranded", func() bool {
		run, err := s.Client.Run(s.Context(), "main/"+a.ID)
		return err == nil && run.Stranded != "" && run.State == delegation.StateRunning
	})
	s.Eventually("its client reads that it is stranded", func() bool {
		return strings.Contains(s.Read(s.Path("status_"+a.ID+".json")), "Stranded: ")
	})
	s.Eventually("watcher ps says that it is stranded", func() bool { // its control socket is away while it takes the site in
		out, err := s.Command("watcher", "ps", "--config", s.Config).CombinedOutput()
		return err == nil && strings.Contains(string(out), "stranded")
	})
}

// goesOn ends the child, and wants one answer to one run that went through.
func (s *switchable) goesOn(a house.Ask) {
	s.Helper()
	s.Must(os.WriteFile(filepath.Join(a.Workspace, "go"), nil, 0o644))
	resp := s.Response(a)
	s.Want(resp, delegation.StatusCompleted, delegation.ReasonExited, 0)
	if ledger := s.Read(filepath.Join(a.Workspace, "ledger")); resp.Attempt != 1 || ledger != "start\nend\n" {
		s.Errorf("it was attempt %d, and agents wrote %q", resp.Attempt, ledger)
	}
}

// TestAnotherEngineUnderTheSameName: while no watcher runs, another daemon comes to answer under the socket's name. What the first one
// runs is not gone, and nothing is run again.
func TestAnotherEngineUnderTheSameName(t *testing.T) {
	s, first, second := twoEngines(t)
	a := s.Submit(house.Ask{ID: "s1", Task: onceOnly, Timeout: 120})
	s.Says(a, "ready")
	s.Must(s.Signal(syscall.SIGTERM))
	s.leadTo(second)
	s.Start()
	s.strands(a)
	s.Want(s.Run(house.Ask{ID: "s2", Task: "true"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
	inside := s.Run(house.Ask{ID: "s3", Task: "true", Workspace: a.Workspace})
	if inside.Error == nil || inside.Error.Code != delegation.CodeWorkspaceBusy {
		t.Errorf("another run got the workspace of a stranded one: %+v", inside)
	}
	if on := first.Containers(t, s.Installation()); len(on) != 1 || on[0].State != "running" {
		t.Errorf("the first engine has %+v", on)
	}
	purge := s.Command("watcher", "purge", "--yes", "--config", s.Config)
	s.Must(s.Signal(syscall.SIGTERM))
	if out, err := purge.CombinedOutput(); err == nil || !strings.Contains(string(out), "another site") {
		t.Errorf("a purge over a stranded run says %s, %v", out, err)
	}
	s.Start()
	s.strands(a)
	s.leadTo(first) // under a live watcher
	s.goesOn(a)
}

// TestAnEngineIsExchangedUnderAWatcher: the daemon dies, what it runs lives on, and another daemon answers under its name.
func TestAnEngineIsExchangedUnderAWatcher(t *testing.T) {
	s, first, second := twoEngines(t)
	a := s.Submit(house.Ask{ID: "s1", Task: onceOnly, Timeout: 120})
	s.Says(a, "ready")
	s.leadTo(second)
	first.Kill()
	s.strands(a)
	s.Want(s.Run(house.Ask{ID: "s2", Task: "true"}), delegation.StatusCompleted, delegation.ReasonExited, 0)
	first.Launch()
	first.Await()
	s.leadTo(first)
	s.goesOn(a)
}

// TestAStrandedRunIsGivenUp: the operator says so in so many words, and the answer says that the child may live on. It is removed when
// its engine is back.
func TestAStrandedRunIsGivenUp(t *testing.T) {
	s, first, second := twoEngines(t)
	a := s.Submit(house.Ask{ID: "s1", Task: onceOnly, Timeout: 120})
	s.Says(a, "ready")
	s.Must(s.Signal(syscall.SIGTERM))
	s.leadTo(second)
	s.Start()
	s.strands(a)
	if out, err := s.Command("watcher", "cancel", "--config", s.Config, "s1").CombinedOutput(); err == nil || !strings.Contains(string(out), "--abandon") {
		t.Errorf("watcher cancel says %s, %v", out, err)
	}
	s.strands(a)
	if out, err := s.Command("watcher", "cancel", "--abandon", "--config", s.Config, "s1").CombinedOutput(); err != nil {
		t.Errorf("watcher cancel --abandon says %s, %v", out, err)
	}
	resp := s.Response(a)
	s.Want(resp, delegation.StatusError, delegation.ReasonLost, -1)
	if !strings.Contains(resp.StderrTail, "may go on") {
		t.Errorf("the answer says %q", resp.StderrTail)
	}
	if on := first.Containers(t, s.Installation()); len(on) != 1 {
		t.Errorf("the first engine has %+v", on)
	}
	s.Must(s.Signal(syscall.SIGTERM))
	s.leadTo(first)
	s.Start()
	s.Eventually("its sandbox is removed", func() bool { return len(first.Containers(t, s.Installation())) == 0 })
}
