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

// TestOneLineForAnAgent: `watcher run --dir OUTBOX --agent NAME` needs nothing else. The program is the one that its user has in PATH, and
// the key is in the variable that the agent itself reads.
func TestOneLineForAnAgent(t *testing.T) {
	each(t, func(t *testing.T, c client, sandbox string) {
		model := map[string]string{"claude": "opus", "codex": "gpt-5.5"}[c.Name]
		oneLine(t, c, sandbox, filepath.Join(needClients(t), c.Program), model)
	})
	eachOf(t, []client{massgen}, func(t *testing.T, c client, sandbox string) {
		house.Need(t, sandbox)
		oneLine(t, c, sandbox, filepath.Dir(installMassGen(t).Command[0]), "gpt-5.5")
	})
}

// oneLine runs an agent whose program is in a directory.
func oneLine(t *testing.T, c client, sandbox, installed, model string) {
	t.Helper()
	h := house.New(t, house.Plan{Sandbox: sandbox, Later: true}) // the story starts its own watcher
	up := standin.New(upstreamKey)
	server := httptest.NewServer(up)
	t.Cleanup(server.Close)
	watcher := exec.Command(house.Program("watcher"), "run", "--dir", h.Outbox, "--state", h.State, "--sandbox", sandbox,
		"--agent", c.Name, "--model", model)
	watcher.Env = append(os.Environ(), "PATH="+installed+":"+os.Getenv("PATH"), "HOME="+t.TempDir(),
		"ANTHROPIC_API_KEY="+upstreamKey, "ANTHROPIC_BASE_URL="+server.URL, "OPENAI_API_KEY="+upstreamKey, "OPENAI_BASE_URL="+server.URL+"/v1")
	log, err := watcher.StderrPipe()
	h.Must(err)
	h.Must(watcher.Start())
	t.Cleanup(func() { _ = watcher.Process.Kill() })
	said := bufio.NewScanner(log)
	for said.Scan() && !strings.Contains(said.Text(), `"serving"`) {
		t.Log(said.Text())
	}
	rest := make(chan struct{})
	go func() {
		defer close(rest)
		for said.Scan() {
			t.Log(said.Text())
		}
	}()
	a := h.Submit(house.Ask{ID: "a", Timeout: 120, Task: fmt.Sprintf(c.tool, "echo from-$((40+2)); env")})
	h.Want(h.Response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
	if answer := h.Read(a.Answer); !strings.HasPrefix(answer, "The tool said:") || !strings.Contains(answer, "from-42") || strings.Contains(answer, upstreamKey) {
		t.Errorf("the answer is %q", answer)
	}
	key, err := os.Stat(filepath.Join(h.State, "gateway", c.Name+".key"))
	if err != nil || key.Mode().Perm() != 0o600 {
		t.Errorf("the key's file: %v, %v", key, err)
	}
	h.Must(watcher.Process.Signal(syscall.SIGTERM))
	<-rest
	h.Must(watcher.Wait())
	if out, err := exec.Command(house.Program("watcher"), "purge", "--yes", "--dir", h.Outbox, "--state", h.State).CombinedOutput(); err != nil {
		t.Errorf("purge: %v\n%s", err, out)
	}
	if left, _ := filepath.Glob(filepath.Join(h.State, "gateway", "*.key")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}
