package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"torno/delegation"
	"torno/test/house"
)

// massgenProfile stands for MassGen: it gets what MassGen gets and writes its answer itself. Its task is a script.
const massgenProfile = `  massgen:
    command:
      - /bin/sh
      - -c
      - config=$1 answer=$2; eval "$3"
      - massgen
      - "{{.Config}}"
      - "{{.AnswerFile}}"
      - "{{.Task}}"
    answer: file
    limits: {memory: 256MiB, tmp: 64MiB, home: 64MiB, log: 1MiB, pids: 128}
    timeout: {default: 2m, min: 1s, max: 5m}
`

// massgen is a house with an outbox, and a parent in it, that lie where MassGen has them.
type massgen struct {
	*house.House
	python, script               string
	delegation, workspaces, logs string
	uid                          int
}

// parentResult is what the client makes of a run.
type parentResult struct {
	Status   string  `json:"status"`
	Success  bool    `json:"success"`
	Answer   string  `json:"answer"`
	Error    string  `json:"error"`
	Took     float64 `json:"execution_time_seconds"`
	Subagent string  `json:"subagent_id"`
}

func newMassgen(t *testing.T, sandbox string) *massgen {
	t.Helper()
	house.Need(t, sandbox)
	m := &massgen{python: needPython(t), uid: os.Getuid()}
	root := t.TempDir()
	if m.uid == 0 { // an agent in a container is not root
		m.uid = 1000
	}
	project := filepath.Join(root, "project", ".massgen")
	m.workspaces = filepath.Join(project, "workspaces", "workspace1")
	m.logs = filepath.Join(project, "subagent_logs", "sa_0a1b2c3d")
	m.delegation = filepath.Join(m.logs, "_delegation")
	for _, dir := range []string{m.workspaces, m.delegation} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m.give(t, root)
	m.House = house.New(t, house.Plan{Sandbox: sandbox, Profiles: massgenProfile, Extra: fmt.Sprintf(
		"  massgen:\n    dir: %s\n    allow: [%s]\n    profiles: [massgen]\n", m.delegation, project)})
	script, err := os.ReadFile("testdata/massgen_client.py")
	m.Must(err)
	m.script = filepath.Join(root, "massgen_client.py")
	m.Must(os.WriteFile(m.script, script, 0o644))
	return m
}

// give makes the project the parent's, and lets it pass through the test's directories.
func (m *massgen) give(t *testing.T, root string) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	for _, dir := range []string{filepath.Dir(root), root} {
		if err := os.Chmod(dir, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	err := filepath.WalkDir(filepath.Join(root, "project"), func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chown(path, m.uid, m.uid)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// needPython finds the system's Python, since the parent's user may not run a Python in another user's home.
func needPython(t *testing.T) string {
	t.Helper()
	const python = "/usr/bin/python3"
	_, err := os.Stat(python)
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatal("in CI nothing that matters is skipped:", err)
	default:
		t.Skip("NOT SHOWN HERE: a client in Python:", err)
	}
	return python
}

// tell runs a story of the client as the parent's user and decodes what came of it.
func (m *massgen) tell(story string, into any) {
	m.Helper()
	command := exec.CommandContext(m.Context(), m.python, m.script, story, m.delegation, m.workspaces, m.logs)
	command.Env, command.Dir = []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8"}, m.workspaces
	if os.Getuid() == 0 {
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(m.uid), Gid: uint32(m.uid)}}
	}
	var complaints bytes.Buffer
	command.Stderr = &complaints
	out, err := command.Output()
	if err != nil {
		m.Fatalf("the client: %v\n%s", err, complaints.String())
	}
	if err := json.Unmarshal(out, into); err != nil {
		m.Fatalf("the client says %q: %v", out, err)
	}
}

// left waits until nothing of any run is in the outbox, and no sandbox is there.
func (m *massgen) left() {
	m.Helper()
	var names []string
	for deadline := time.Now().Add(house.Patience); ; time.Sleep(10 * time.Millisecond) {
		names = nil
		entries, err := os.ReadDir(m.delegation)
		m.Must(err)
		for _, e := range entries {
			if e.Name() != delegation.HeartbeatName {
				names = append(names, e.Name())
			}
		}
		sandboxes := len(m.Sandboxes())
		if len(names)+sandboxes == 0 {
			return
		}
		if time.Now().After(deadline) {
			m.Fatalf("%d sandboxes and these files are left: %v", sandboxes, names)
		}
	}
}

// saw checks a result.
func (m *massgen) saw(r parentResult, status, answer, err string) {
	m.Helper()
	if r.Status != status || r.Answer != answer || r.Error != err || r.Success != (status == "completed") {
		m.Errorf("the client saw %+v, want %s, %q, %q", r, status, answer, err)
	}
}

func (m *massgen) workspace(id string) string {
	return filepath.Join(m.workspaces, "subagents", id, "workspace")
}

func TestMassGenSpawns(t *testing.T) { house.Together(t, house.Each, massGenSpawns) }

func massGenSpawns(t *testing.T, sandbox string) {
	m := newMassgen(t, sandbox)
	var reader, failing parentResult
	m.tell("spawn", &reader)
	workspace := m.workspace("reader")
	m.saw(reader, "completed", "the parent's notes\n"+workspace, "")
	info, err := os.Stat(filepath.Join(workspace, "made.txt"))
	m.Must(err)
	if uid := info.Sys().(*syscall.Stat_t).Uid; int(uid) != m.uid {
		t.Errorf("what the child made belongs to %d, not to its parent", uid)
	}
	seen := m.Read(filepath.Join(workspace, "config.seen"))
	if strings.Contains(seen, "command_line_docker_") || !strings.Contains(seen, "command_line_execution_mode") {
		t.Errorf("the child's configuration is not cleaned:\n%s", seen)
	}
	link, err := os.Readlink(filepath.Join(m.logs, "subagents", "reader", "live_logs"))
	m.Must(err)
	if want := filepath.Join(workspace, ".massgen", "massgen_logs"); link != want {
		t.Errorf("live_logs leads to %s, not to %s", link, want)
	}
	m.tell("fail", &failing)
	m.saw(failing, "error", "", "Delegated subagent failing error (exit_code=7): no luck\n")
	m.left()
}

func TestMassGenCancelsAndUsesTheIDAgain(t *testing.T) {
	house.Together(t, house.Each, massGenCancelsAndUsesTheIDAgain)
}

func massGenCancelsAndUsesTheIDAgain(t *testing.T, sandbox string) {
	m := newMassgen(t, sandbox)
	var r struct {
		Cancelled    map[string]any
		Ended, Again parentResult
	}
	m.tell("cancel", &r)
	if r.Cancelled["success"] != true || r.Cancelled["status"] != "cancelled" {
		t.Errorf("the client says %v", r.Cancelled)
	}
	m.saw(r.Ended, "error", "", "Subagent cancelled")
	m.saw(r.Again, "completed", "second", "")
	m.left()
}

func TestMassGenGivesUpAtItsTimeout(t *testing.T) {
	house.Together(t, house.Each, massGenGivesUpAtItsTimeout)
}

func massGenGivesUpAtItsTimeout(t *testing.T, sandbox string) {
	m := newMassgen(t, sandbox)
	var r struct {
		Seconds            float64
		Late, Silent, Done parentResult
	}
	m.tell("timeout", &r)
	m.saw(r.Late, "partial", "draft", fmt.Sprintf("Subagent exceeded timeout of %g seconds", r.Seconds))
	if r.Late.Took < r.Seconds {
		t.Errorf("the client gave up after %.2f s", r.Late.Took)
	}
	m.saw(r.Silent, "completed", "", "") // and not the draft of the run before
	m.saw(r.Done, "completed", "finished", "")
	m.left()
}

func TestMassGenSpawnsThreeInParallel(t *testing.T) {
	house.Together(t, house.Each, massGenSpawnsThreeInParallel)
}

func massGenSpawnsThreeInParallel(t *testing.T, sandbox string) {
	m := newMassgen(t, sandbox)
	var all []parentResult
	m.tell("parallel", &all)
	if len(all) != 3 {
		t.Fatalf("%d results", len(all))
	}
	for _, r := range all {
		m.saw(r, "completed", "met", "")
	}
	m.left()
}
