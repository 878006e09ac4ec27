package clients

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"torno/delegation"
	"torno/internal/agent/installed"
	"torno/test/agents"
	"torno/test/house"
	standin "torno/test/massgen"
	upstream "torno/test/upstream/standin"
)

// massgen is the stand-in for MassGen: no other test here is of a program that is not the real one.
var massgen = client{Agent: agents.Agent{Name: "massgen", Example: "massgen.yaml"}, tool: `#tool run {"command":%q}`}

// installMassGen has the stand-in where people have MassGen, and finds it there as `watcher init` does.
func installMassGen(t *testing.T) installed.Agent {
	t.Helper()
	cache, err := os.UserCacheDir() // where its user would have it: below /tmp nothing of this machine is shown
	if err == nil {
		err = os.MkdirAll(cache, 0o755)
	}
	dir := ""
	if err == nil {
		dir, err = os.MkdirTemp(cache, "torno-massgen-")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program := filepath.Join(dir, "program")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, "torno/test/massgen/program")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the stand-in is not built: %v\n%s", err, out)
	}
	script, err := standin.Install(filepath.Join(dir, "tools"), program)
	if err != nil {
		t.Fatal(err)
	}
	found, err := installed.Find("massgen", installed.Machine{
		Env:  func(name string) string { return map[string]string{"OPENAI_API_KEY": upstreamKey}[name] },
		Path: func(string) (string, error) { return script, nil },
	}, false)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// massgenStage has the profile of our example, and "old", "absent" and "poor" beside it.
func massgenStage(t *testing.T, sandbox string) *stage {
	t.Helper()
	house.Need(t, sandbox)
	found := installMassGen(t)
	s := &stage{client: massgen, up: upstream.New(upstreamKey), key: filepath.Join(t.TempDir(), "key")}
	server := httptest.NewServer(s.up)
	t.Cleanup(server.Close)
	if err := os.WriteFile(s.key, []byte(upstreamKey), 0o600); err != nil {
		t.Fatal(err)
	}
	programs := "    programs: ["
	for _, place := range found.Places {
		programs += fmt.Sprintf("{host: %q, as: %q},", place.Host, place.As)
	}
	programs += "]\n"
	profile := programs + "    command: " + inJSON(found.Command) + "\n    timeout: {default: 2m, min: 1s, max: 5m}\n    limits: {memory: 1GiB, tmp: 64MiB, home: 64MiB, log: 8MiB, pids: 256}\n"
	named := strings.Replace(exampleFor(t, massgen, nil), `model: "chat"`, `model: "chat/operators"`, 1)
	old := strings.Replace(exampleFor(t, massgen, map[string]any{standin.Old: "1"}), `model: "chat"`, `model: "chat/operators"`, 1)
	s.House = house.New(t, house.Plan{
		Sandbox: sandbox, Offers: ", massgen, own, old, absent, poor", MaxRunning: 6,
		Top: fmt.Sprintf(`gateway:
  routes:
    chat: {preset: compatible, upstream: %q, http_to: 127.0.0.1, private: true, credential: {file: %q}}
  prices:
    chat: {"*": {input: 5, output: 25}}`, server.URL+"/v1", s.key),
		Profiles: "  massgen:\n" + profile + named + "  own:\n" + profile + exampleFor(t, massgen, nil) + "  old:\n" + profile + old +
			"  absent:\n" + strings.Replace(profile, found.Command[0], "/opt/none", 1) + named + "  poor:\n" + profile + budgets.ReplaceAllString(named, "    budget: {run: {requests: 1}}\n"),
	})
	return s
}

func (s *stage) askMassGen(id, profile, task string) house.Ask {
	return house.Ask{ID: id, Profile: profile, Timeout: 60, Task: task}
}

// result is what its adapter says in the end, and what is told of it.
func (s *stage) result(a house.Ask) (text string, failed bool) {
	s.Helper()
	ends := of(s.Told(a), delegation.EventResult)
	if len(ends) != 1 {
		s.Fatalf("%s ended with %+v", a.ID, ends)
	}
	return ends[0].Text, ends[0].Failed
}

// TestAMassGenInASandbox: the stand-in, started as people have MassGen installed, by the profile of our example. It works, tells what it does,
// takes its team from the request, and its ends have reasons. What it had when its time was up is its answer.
func TestAMassGenInASandbox(t *testing.T) {
	house.Each(t, func(t *testing.T, sandbox string) {
		s := massgenStage(t, sandbox)
		tool := s.Submit(s.askMassGen("tool", "massgen", fmt.Sprintf(s.tool, waits)))
		option := s.Submit(s.askMassGen("option", "massgen", "--help"))
		own := s.askMassGen("team", "own", "hello")
		own.Config = map[string]any{"agents": []any{
			map[string]any{"id": "first", "backend": map[string]any{"model": "its-own", "base_url": "http://elsewhere.invalid", "command_line_execution_mode": "docker", "command_line_docker_image": "x"}},
			map[string]any{"id": "second", "backend": map[string]any{"type": "chatcompletion", "model": "another"}},
		}}
		own = s.Submit(own)
		nameless := s.Submit(s.askMassGen("nameless", "own", "hello"))
		poor := s.Submit(s.askMassGen("poor", "poor", fmt.Sprintf(s.tool, "echo done")))
		s.Eventually("the call is told", func() bool { return len(of(s.Told(tool), delegation.EventToolCall)) > 0 })
		s.Signal(syscall.SIGKILL)
		s.Touch("workspaces/tool/go")
		s.Start()
		s.Want(s.Response(tool), delegation.StatusCompleted, delegation.ReasonExited, 0)
		s.massgenTells(tool)
		s.Want(s.Response(option), delegation.StatusCompleted, delegation.ReasonExited, 0)
		if answer := s.Read(option.Answer); strings.TrimSpace(answer) != "You said: --help" {
			t.Errorf("the answer is %q", answer)
		}
		s.Want(s.Response(own), delegation.StatusCompleted, delegation.ReasonExited, 0)
		if resp := s.Response(nameless); resp.Error == nil || resp.Error.Field != "model" || !strings.Contains(resp.Error.Hint, "ROUTE/MODEL") {
			t.Errorf("without a model: %+v", resp.Error)
		}
		s.Want(s.Response(poor), delegation.StatusError, delegation.ReasonBudget, 2)
		models := map[string]int{}
		for _, seen := range s.up.Posts() {
			var body struct{ Model string }
			s.Must(json.Unmarshal(seen.Body, &body))
			models[body.Model]++
		}
		if models["operators"] == 0 || models["its-own"] != 1 || len(models) != 2 {
			t.Errorf("asked were the models %v", models)
		}
		s.massgenEnds()
	})
}

// massgenTells is tellsOfATool, where the answer may be behind the budget's news.
func (s *stage) massgenTells(a house.Ask) {
	s.Helper()
	events := s.Told(a)
	calls, results, said := of(events, delegation.EventToolCall), of(events, delegation.EventToolResult), of(events, delegation.EventText)
	if len(calls) != 1 || calls[0].Tool.Name != "run" || len(results) != 1 || !strings.Contains(results[0].Text, "from-42") || results[0].Tool.ID != calls[0].Tool.ID {
		s.Errorf("it called %+v, which gave %+v", calls, results)
	}
	if answer := s.Read(a.Answer); len(said) != 1 || !strings.HasPrefix(answer, "The tool said: from-42") || strings.TrimSpace(said[0].Text) != strings.TrimSpace(answer) {
		s.Errorf("it said %+v, and answered %q", said, answer)
	}
	if used := of(events, delegation.EventUsage); len(used) != 1 || used[0].Tokens.Output != 2*upstream.OutputTokens {
		s.Errorf("it used %+v", used)
	}
	for i, e := range events {
		if e.Seq != int64(i+1) && e.Type != delegation.EventGap {
			s.Errorf("event %d is number %d", e.Seq, i+1)
		}
	}
}

// massgenEnds: what it can come to.
func (s *stage) massgenEnds() {
	s.Helper()
	late := s.askMassGen("late", "massgen", "#massgen chosen all of it")
	late.Timeout = 8
	late = s.Submit(late)
	cancelled := s.Submit(s.askMassGen("cancelled", "massgen", "#massgen partial half of it"))
	asks := map[string]house.Ask{
		"see whether the program is the MassGen of March 2026, and not an older one": s.Submit(s.askMassGen("old", "old", "x")),
		"massgen is not there":                   s.Submit(s.askMassGen("absent", "absent", "x")),
		"printed nothing that its adapter knows": s.Submit(s.askMassGen("nonsense", "massgen", "#massgen nonsense")),
		"no answer of it was found":              s.Submit(s.askMassGen("lie", "massgen", "#massgen lie")),
	}
	s.began(cancelled)
	s.Touch("cancel_cancelled")
	for says, a := range asks {
		resp := s.Response(a)
		if text, failed := s.result(a); resp.Status != delegation.StatusError || !failed || !strings.Contains(text, says) {
			s.Errorf("%s: %s, %q", a.ID, resp.Status, text)
		}
	}
	for a, want := range map[*house.Ask][3]string{
		&cancelled: {string(delegation.StatusCancelled), "partial: no winner was chosen", "half of it"},
		&late:      {string(delegation.StatusTimeout), "complete: its winner was chosen", "all of it"},
	} {
		resp := s.Response(*a)
		if text, _ := s.result(*a); string(resp.Status) != want[0] || !strings.Contains(text, want[1]) || s.Read(a.Answer) != want[2] {
			s.Errorf("%s: %s, %q, answer %q", a.ID, resp.Status, text, s.Read(a.Answer))
		}
	}
}

// TestAMassGenIsTalkedWith: a message reaches it once, also where the watcher is killed in between; it goes on with the session that the host
// kept, also where the workspace has lost its copy.
func TestAMassGenIsTalkedWith(t *testing.T) {
	house.Each(t, func(t *testing.T, sandbox string) {
		s := massgenStage(t, sandbox)
		a := s.Submit(s.askMassGen("a", "massgen", "#massgen listen"))
		s.Says(a, "listening")
		sent := exec.Command(house.Program("subagent"), "--outbox", s.Outbox, "send", "a", "--", "look there")
		s.Must(sent.Start())
		s.Eventually("the message lies in the inbox", func() bool {
			left, err := filepath.Glob(filepath.Join(a.Workspace, ".massgen/runtime_inbox/msg_*.json"))
			return err == nil && len(left) == 1
		})
		s.Signal(syscall.SIGKILL)
		s.Start()
		s.Touch("workspaces/a/go")
		s.Must(sent.Wait())
		s.Want(s.Response(a), delegation.StatusCompleted, delegation.ReasonExited, 0)
		if answer := s.Read(a.Answer); strings.TrimSpace(answer) != "parent said look there" {
			t.Errorf("the answer is %q", answer)
		}
		if said := of(s.Told(a), delegation.EventMessage); len(said) != 1 || said[0].Text != "look there" {
			t.Errorf("its events have the messages %+v", said)
		}

		first := s.Submit(s.askMassGen("talk", "massgen", "#massgen partial blue-42"))
		s.began(first)
		s.Touch("cancel_talk")
		resp := s.Response(first)
		if resp.Status != delegation.StatusCancelled || !strings.HasPrefix(resp.SessionID, "session-") {
			t.Fatalf("the cancelled run: %s, session %q; %q", resp.Status, resp.SessionID, resp.Warnings)
		}
		s.Must(os.RemoveAll(filepath.Join(first.Workspace, ".massgen", "sessions")))
		second := s.askMassGen("talk", "massgen", "what-was-the-colour")
		second.Request, second.Session, second.Workspace = "second", delegation.SessionLast, first.Workspace
		again := s.Response(s.Submit(second))
		s.Want(again, delegation.StatusCompleted, delegation.ReasonExited, 0)
		s.knows(s.up.Seen(), "blue-42", "what-was-the-colour")
		if again.SessionID != resp.SessionID {
			t.Errorf("the session is %q, and was %q", again.SessionID, resp.SessionID)
		}
	})
}
