package clients

import (
	"bufio"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"torno/delegation"
	"torno/test/house"
	"torno/test/upstream/standin"
)

// TestAFirstConfigurationRuns: what `watcher init` writes passes check, and children are the agents that it found.
func TestAFirstConfigurationRuns(t *testing.T) {
	modules := needClients(t)
	h := house.New(t, house.Plan{Sandbox: "gvisor", Later: true}) // the story starts its own watcher
	server := httptest.NewServer(standin.New(upstreamKey))
	t.Cleanup(server.Close)
	file, state := filepath.Join(t.TempDir(), "watcher.yaml"), filepath.Join(h.Dir, "first")
	env := append(os.Environ(), "HOME="+t.TempDir(), "DOCKER_HOST=unix:///nonexistent/docker.sock",
		"PATH="+filepath.Join(modules, claude.Program)+":"+filepath.Join(modules, codex.Program)+":"+os.Getenv("PATH"),
		"ANTHROPIC_API_KEY="+upstreamKey, "ANTHROPIC_BASE_URL="+server.URL, "OPENAI_API_KEY="+upstreamKey, "OPENAI_BASE_URL="+server.URL+"/v1")
	watcher := func(args ...string) *exec.Cmd {
		cmd := exec.Command(house.Program("watcher"), args...)
		cmd.Env = env
		return cmd
	}
	for _, args := range [][]string{{"init", "--yes", "--dir", h.Outbox, "--state", state, "--file", file}, {"check", "--config", file}} {
		out, err := watcher(args...).CombinedOutput()
		if err != nil || strings.Contains(string(out), upstreamKey) {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	serving := watcher("run", "--config", file)
	log, err := serving.StderrPipe()
	h.Must(err)
	h.Must(serving.Start())
	t.Cleanup(func() { _ = serving.Process.Kill() })
	rest := make(chan struct{})
	go func() {
		defer close(rest)
		for said := bufio.NewScanner(log); said.Scan(); {
			t.Log(said.Text())
		}
	}()
	for _, c := range []client{claude, codex} {
		a := h.Submit(house.Ask{ID: c.Name, Profile: c.Name, Timeout: 120, Task: fmt.Sprintf(c.tool, "echo from-$((40+2)); env")})
		h.Want(h.Response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
		if answer := h.Read(a.Answer); !strings.Contains(answer, "from-42") || strings.Contains(answer, upstreamKey) {
			t.Errorf("the answer of %s is %q", c.Name, answer)
		}
	}
	shell := h.Submit(house.Ask{ID: "shell", Profile: "shell", Task: "echo $((40+2))"})
	h.Want(h.Response(shell), delegation.StatusCompleted, delegation.ReasonExited, 0)
	h.Must(serving.Process.Signal(syscall.SIGTERM))
	<-rest
	h.Must(serving.Wait())
	if out, err := watcher("purge", "--yes", "--config", file).CombinedOutput(); err != nil {
		t.Errorf("purge: %v\n%s", err, out)
	}
}
