package adapter_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"torno/internal/agent"
	standinmassgen "torno/test/massgen"
	"torno/test/upstream/standin"
)

// massgenRig is an adapter with the stand-in for MassGen, and a stand-in for its model. The script comes before the agent.
func massgenRig(t *testing.T, task, script string, flags ...string) *rig {
	t.Helper()
	const key = "key"
	server := httptest.NewServer(standin.New(key))
	t.Cleanup(server.Close)
	r := newRig(t, "massgen", script+"\nexec env "+asMassGen+`=1 `+os.Args[0]+` "$@"`)
	r.plant("task", task, 0o600)
	r.plant("config", fmt.Sprintf("agents:\n  - id: a1\n    backend: {type: chatcompletion, model: m, base_url: %q, cwd: %q}\norchestrator:\n  coordination: {enable_subagents: false}\n", server.URL+"/v1", r.in("agent_1")), 0o600)
	args := slices.Clone(r.cmd.Args[:len(r.cmd.Args)-2])
	r.cmd.Args = slices.Concat(args, []string{"--config", r.in("config")}, flags, []string{"--", r.in("massgen")})
	r.cmd.Env = append(r.cmd.Env, "OPENAI_API_KEY="+key, "TMPDIR="+r.dir)
	return r
}

// kinds are the lines in short, without news of the team.
func kinds(told []agent.Line) (all []string) {
	for _, l := range told {
		switch l.Kind {
		case agent.Notice, agent.Raw, agent.Session:
			continue
		}
		text := string(l.Kind) + " " + l.Text
		if l.Tool != nil {
			text += " " + l.Tool.ID + " " + l.Tool.Name + " " + string(l.Tool.Input)
		}
		if l.Tokens != nil {
			text += fmt.Sprint(l.Tokens.Input, l.Tokens.Output)
		}
		all = append(all, strings.TrimSpace(text))
	}
	return all
}

func said(told []agent.Line, kind agent.Kind, text string) bool {
	return slices.ContainsFunc(told, func(l agent.Line) bool { return l.Kind == kind && strings.Contains(l.Text, text) })
}

// TestAMassGenWorks: its task is an argument, what it does is told from its files, and its answer is in the file that it was given.
func TestAMassGenWorks(t *testing.T) {
	r := massgenRig(t, `#tool run {"command":"echo from-$((40+2)) | tee made"}`, "")
	code, told := r.run()
	want := []string{
		`tool_call  call_1 run {"command":"echo from-$((40+2)) | tee made"}`, "tool_result from-42\n call_1", "text The tool said: from-42",
		fmt.Sprintf("usage %d %d", 2*standin.InputTokens, 2*standin.OutputTokens), "result The tool said: from-42",
	}
	got := kinds(told)
	for i := range got {
		got[i] = strings.TrimRight(got[i], "\n")
	}
	if code != 0 || !slices.Equal(got, want) {
		t.Errorf("exit %d,\n%q, want\n%q\n%s", code, got, want, r.read("stderr"))
	}
	for _, text := range []string{"a1 works", "phase presentation, 100 %", "a1 has an answer agent1.1: The tool", "a1 votes for a1: it is", "a1 is chosen"} {
		if !said(told, agent.Notice, text) {
			t.Errorf("%q was not told in %+v", text, told)
		}
	}
	if !said(told, agent.Raw, "in automation mode") {
		t.Error("what it prints is lost")
	}
	if answer := r.read("answer"); strings.TrimSpace(answer) != "The tool said: from-42" {
		t.Errorf("its answer is %q", answer)
	}
}

// TestHowAMassGenEnds: each end has its reason with the next step, and what counts as an answer is kept.
func TestHowAMassGenEnds(t *testing.T) {
	const none = "an old one"
	for _, test := range []struct {
		name, task, script string
		code               int
		fails, answer      string
		signal             syscall.Signal
	}{
		{"an option is a task", "--help", "", 0, "", "You said: --help", 0},
		{"its model fails", "#status 400", "", 2, "failed in its work (exit code 2); its standard error says why; its last trouble was: error code 400", none, 0},
		{"no model", "#massgen quiet done", "", 0, "", "done", 0},
		{"no answer file", "#massgen mute said at last", "", 0, "", "said at last", 0},
		{"bad configuration", "x", "echo nonsense >$D/config", 1, "refuses its run configuration (exit code 1)", none, 0},
		{"not installed whole", "#massgen import", "", 1, "exit code 1", none, 0},
		{"too old", "x", "export " + standinmassgen.Old + "=1", 2, "before it had written anything (exit code 2): see whether the program is the MassGen of March 2026, and not an older one", none, 0},
		{"nonsense", "#massgen nonsense", "", 1, "printed nothing that its adapter knows: see whether the program is the MassGen of March 2026 or newer", none, 0},
		{"its own time", "#massgen time half of it", "", 3, "its last trouble was: Time limit exceeded (30.1s/30s); it had an answer (partial: no winner was chosen), which is kept", "half of it", 0},
		{"a lie", "#massgen lie", "", 3, "no answer of it was found", none, 0},
		{"huge", "#massgen huge done", "", 0, "", "done", 0},
		{"cancelled", "#massgen partial half of it", "", 4, "was interrupted (exit code 4); it had an answer (partial: no winner was chosen), which is kept", "half of it", syscall.SIGINT},
		{"deadline", "#massgen chosen all of it", "", 143, "was stopped (SIGTERM) before it finished its work; it had an answer (complete: its winner was chosen), which", "all of it", syscall.SIGTERM},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := massgenRig(t, test.task, test.script)
			r.plant("answer", none, 0o600)
			r.start()
			if test.signal != 0 {
				r.until("going on")
				if err := syscall.Kill(-r.cmd.Process.Pid, test.signal); err != nil {
					t.Fatal(err)
				}
			}
			code, told := r.wait()
			for len(told) > 0 && told[len(told)-1].Kind == agent.Session {
				told = told[:len(told)-1]
			}
			told = slices.DeleteFunc(told, func(l agent.Line) bool { return l.Kind == agent.Notice && strings.Contains(l.Text, "is not kept") })
			result := r.last(told)
			if code != test.code || result.Failed != (test.fails != "") || !strings.Contains(result.Text, test.fails) {
				t.Errorf("exit %d, %+v\n%s", code, result, r.read("stderr"))
			}
			if answer := strings.TrimSpace(r.read("answer")); answer != test.answer {
				t.Errorf("its answer is %q", answer)
			}
			if said := r.read("stderr"); test.fails != "" && !strings.Contains(said, "torno-agent: massgen") {
				t.Errorf("it said %q", said)
			}
			if test.name == "huge" && (!said(told, agent.Notice, "its status is not read: ") || !said(told, agent.Notice, "an event of 12582912 bytes was left out") || !said(told, agent.Text, "still here")) {
				t.Errorf("told was %.3000v", told)
			}
		})
	}
}

// TestAMassGenIsToldInItsInbox: a message is acknowledged when its file is gone, once, and no interrupt can be had. What an earlier run was
// told is not said again, and what it did not read it has not been told.
func TestAMassGenIsToldInItsInbox(t *testing.T) {
	r := massgenRig(t, "#massgen listen", "")
	if err := os.MkdirAll(r.in(".massgen/runtime_inbox"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.plant(".massgen/runtime_inbox/msg_1_1.json", `{"content":"of before","source":"parent","timestamp":"","target_agents":null}`, 0o600)
	stdin, err := r.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.start()
	r.until("listening")
	for _, in := range []agent.Input{{N: 1, Kind: agent.Interrupt}, {N: 2, Kind: agent.Message, Text: "look there"}, {N: 2, Kind: agent.Message, Text: "look there"}} {
		line, err := agent.EncodeInput(in)
		if err == nil {
			_, err = stdin.Write(line)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	r.until("cannot be interrupted")
	r.plant("go", "", 0o600)
	code, told := r.wait()
	var acknowledged []string
	for _, l := range told {
		if l.Kind == agent.Acknowledged {
			acknowledged = append(acknowledged, fmt.Sprint(l.N, l.Failed, " ", l.Text))
		}
	}
	if len(acknowledged) != 2 || acknowledged[0] != "1 true massgen did not get it: it cannot be interrupted; cancel it, then continue it with your message" || acknowledged[1] != "2 false look there" {
		t.Errorf("acknowledged is %q", acknowledged)
	}
	if answer := strings.TrimSpace(r.read("answer")); code != 0 || answer != "parent said look there" {
		t.Errorf("exit %d, answer %q", code, answer)
	}
	if left, err := filepath.Glob(r.in(".massgen/runtime_inbox/*")); err != nil || len(left) > 0 {
		t.Errorf("left are %q, %v", left, err)
	}
}

// TestAMassGenThatDoesNotRead its message has not got it, and the message goes with it.
func TestAMassGenThatDoesNotRead(t *testing.T) {
	r := massgenRig(t, "#massgen partial x", "")
	stdin, err := r.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.start()
	r.until("going on")
	for _, in := range []agent.Input{{N: 1, Kind: agent.Message, Text: "hello"}, {N: 2, Kind: agent.Interrupt}} {
		line, err := agent.EncodeInput(in)
		if err == nil {
			_, err = stdin.Write(line)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	r.until("cannot be interrupted") // so the message before it lies in the inbox
	inbox := r.in(".massgen/runtime_inbox/*")
	if left, _ := filepath.Glob(inbox); len(left) != 1 {
		t.Fatalf("in the inbox is %q", left)
	}
	if err := syscall.Kill(-r.cmd.Process.Pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_, told := r.wait()
	i := slices.IndexFunc(told, func(l agent.Line) bool { return l.Kind == agent.Acknowledged && l.N == 1 })
	if i < 0 || !told[i].Failed || told[i].Text != "massgen did not get it: it had ended its last turn" {
		t.Errorf("told was %+v", told)
	}
	if left, _ := filepath.Glob(inbox); len(left) > 0 {
		t.Errorf("left is %q", left)
	}
}

// TestAMassGenGoesOn: in another directory and a new home, with what its adapter has told. A turn that was cut off is in it. A session without a
// turn is not kept. For a session that MassGen cannot read the adapter says with which version it began and what to do.
func TestAMassGenGoesOn(t *testing.T) {
	first := massgenRig(t, "#massgen partial the colour is blue", "")
	first.start()
	first.until("going on")
	if err := syscall.Kill(-first.cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_, told := first.wait()
	var session []byte
	for _, l := range told {
		if l.Kind == agent.Session {
			session = append(session, l.Part.Data...)
		}
	}
	if len(session) == 0 {
		t.Fatalf("no session is kept: %+v", told)
	}
	second := massgenRig(t, "which colour", "")
	second.plant("session", string(session), 0o600)
	second.cmd.Args = slices.Insert(second.cmd.Args, 3, "--session", second.in("session"))
	code, told := second.run()
	if turns, _ := filepath.Glob(second.in(".massgen/sessions/session_*/turn_*/turn.json")); code != 0 || len(turns) != 2 || !said(told, agent.Text, "which colour") {
		t.Errorf("exit %d, turns %q; %+v\n%s", code, turns, told, second.read("stderr"))
	}
	third := massgenRig(t, "which colour", "rm -r .massgen/sessions")
	third.plant("session", string(session), 0o600)
	third.cmd.Args = slices.Insert(third.cmd.Args, 3, "--session", third.in("session"))
	code, told = third.run()
	if code != 2 || !said(told, agent.Result, "ask again without the session, or ask the operator to install the version that kept it") || slices.ContainsFunc(told, func(l agent.Line) bool { return l.Kind == agent.Session }) {
		t.Errorf("exit %d, %+v", code, told)
	}
	none := massgenRig(t, "#massgen mute x", "")
	if _, told := none.run(); !said(told, agent.Notice, "the session of massgen is not kept") {
		t.Errorf("told was %+v", told)
	}
}

// TestAMassGenThatClosesItsOutput is followed all the same: nothing that it says is on it.
func TestAMassGenThatClosesItsOutput(t *testing.T) {
	r := massgenRig(t, "#massgen partial x", "exec >/dev/null")
	r.start()
	r.until("going on")
	if err := syscall.Kill(-r.cmd.Process.Pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code, told := r.wait(); code != 143 || said(told, agent.Raw, "automation") {
		t.Errorf("exit %d, %+v", code, told)
	}
}
