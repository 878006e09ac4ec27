package adapter_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"torno/internal/agent"
)

// TestHowAgentsEnd: the exit code, the result, the answer and the word on standard error go together.
func TestHowAgentsEnd(t *testing.T) {
	tests := []struct {
		agent, script string
		code          int
		fails         string // what the result says of it; "" for an agent that answers
	}{
		{"claude", claudeSays + "; " + claudeEnds, 0, ""},
		{"claude", "printf '{\"type\":\"result\",\"is_error\":false,\"result\":\"the answer\"}'", 0, ""}, // its line does not end
		{"claude", claudeFails + "; " + claudeEnds, 0, ""},
		{"claude", claudeEnds + "; exit 3", 3, ""},
		{"claude", claudeEnds + "; " + claudeFails, 1, "no\nmoney"},
		{"claude", claudeFails, 1, "no\nmoney"},
		{"claude", claudeFails + "; exit 7", 7, "no\nmoney"},
		{"claude", claudeSays, 1, "ended without a result (exit code 0); its standard error may say why"},
		{"claude", claudeSays + "; exit 9", 9, "ended without a result (exit code 9); its"},
		{"claude", claudeSays + "; kill -KILL $$", 137, "ended without a result (SIGKILL); its"},
		{"claude", "kill -TERM $$", 143, "(SIGTERM) before it printed a first line; see whether it reaches its model"},
		{"claude", "exit 143", 143, "(exit code 143) before it printed a first line; see whether it reaches its model"},
		{"claude", "echo 'error: unknown option --output-format' >&2; exit 1", 1, "is Claude Code 2.1.330 or newer"},
		{"claude", "echo Hello, I am an assistant.", 1, "is Claude Code 2.1.330 or newer"},
		{"claude", "", 1, "printed nothing that its adapter knows"},
		{"claude", `printf '%s\n' '{"type":"system","subtype":"api_retry","error_status":401,"error":"no key"}'; exit 1`, 1, "last trouble was: 401 no key"},
		{"codex", codexAnswers, 0, ""},
		{"codex", `printf '%s\n' '{"type":"turn.failed","error":{"message":"no\nmoney"}}'`, 1, "no\nmoney"},
		{"codex", `printf '%s\n' '{"type":"error","message":"Reconnecting... waiting for network"}'; kill -TERM $$`, 143, "last trouble was: Reconnecting"},
		{"codex", "exit 2", 2, "is Codex 0.169.0 or newer"},
	}
	for _, test := range tests {
		r := newRig(t, test.agent, test.script)
		r.plant("answer", "an old one", 0o600)
		code, told := r.run()
		result := r.last(told)
		if code != test.code || result.Failed != (test.fails != "") || !strings.Contains(result.Text, test.fails) {
			t.Errorf("%s: exit %d, %+v", test.script, code, result)
		}
		answer, said := "the answer", r.read("stderr")
		if test.fails != "" {
			answer = "an old one"
			if !strings.Contains(said, strings.ReplaceAll(test.fails, "\n", " ")) || strings.Count(said[strings.Index(said, "torno-agent: "):], "\n") != 1 {
				t.Errorf("%s: said %q", test.script, said)
			}
		} else if said != "" {
			t.Errorf("%s: said %q", test.script, said)
		}
		if got := r.read("answer"); got != answer {
			t.Errorf("%s: answered %q", test.script, got)
		}
	}
}

// TestAgentsThatAreNotThere have a reason with the next step, and the code that a shell has for it.
func TestAgentsThatAreNotThere(t *testing.T) {
	tests := []struct {
		flags []string
		code  int
		says  string
	}{
		{[]string{"--", "none"}, 127, `claude is not there: cannot run "none": it is not in the PATH`},
		{[]string{"--", "/no/such", "--flag"}, 127, `claude is not there: cannot run "/no/such": there is no such file; the profile's command names the program of Claude Code`},
		{[]string{"--", "/etc/passwd"}, 126, `claude does not start: cannot run "/etc/passwd": permission denied; the profile's`},
		{[]string{"--"}, 2, "a program"},
		{[]string{"--other", "x", "--", "claude"}, 2, `it does not take "--other"`},
		{[]string{"--model", "--", "claude"}, 2, "usage: sandbox-init agent claude|codex|massgen --task FILE"},
		{[]string{"--model=", "--", "claude"}, 2, "--model needs a value"},
		{[]string{"--task", "/no/such", "--", "claude"}, 1, "the task cannot be read: open /no/such"},
		{[]string{"--task=/", "--", "claude"}, 1, "is a directory"},
	}
	for _, test := range tests {
		r := newRig(t, "claude", claudeEnds, test.flags...)
		code, told := r.run()
		if result := r.last(told); code != test.code || !result.Failed || !strings.Contains(result.Text, test.says) || !strings.Contains(r.read("stderr"), test.says) {
			t.Errorf("%q: exit %d, %+v, said %q", test.flags, code, result, r.read("stderr"))
		}
	}
	for _, args := range [][]string{{"agent"}, {"agent", "other", "--task", "x", "--", "y"}} {
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env = []string{asInit}
		out, _ := cmd.Output()
		if cmd.ProcessState.ExitCode() != 2 || !strings.HasPrefix(string(out), `{"type":"result",`) {
			t.Errorf("%q: %v, %s", args, cmd.ProcessState, out)
		}
	}
}

const tellsArguments = `for a; do echo "$a"; done >"$D/args"; env >"$D/env"; `

func TestWhatClaudeIsGiven(t *testing.T) {
	r := newRig(t, "claude", tellsArguments+"head -n 1 >$D/input; "+claudeEnds+"; cat", "--model", "m;x", "--", "claude", "--max-turns", "7")
	r.plant("task", "say \"é\"\n\xff\x00 </end>", 0o600)
	r.run()
	want := "--max-turns\n7\n--print\n--input-format=stream-json\n--output-format=stream-json\n--verbose\n--dangerously-skip-permissions\n--model=m;x\n"
	if got := r.read("args"); got != want {
		t.Errorf("its arguments are\n%s", got)
	}
	const input = `{"type":"user","message":{"role":"user","content":"say \"é\"\n` + "\uFFFD" + `\u0000 \u003c/end\u003e"}}` + "\n"
	if got := r.read("input"); got != input {
		t.Errorf("its input is %s", got)
	}
	if !strings.Contains(r.read("env"), "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1\n") {
		t.Error("it may work in the background")
	}
	r = newRig(t, "claude", tellsArguments+claudeEnds)
	r.cmd.Env = append(r.cmd.Env, "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=0")
	r.run()
	if env := r.read("env"); !strings.Contains(env, "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=0\n") || strings.Count(env, "BACKGROUND") != 1 {
		t.Errorf("the operator's word is lost: %s", env)
	}
	if args := r.read("args"); strings.Contains(args, "--model") {
		t.Errorf("its arguments are\n%s", args)
	}
}

func TestWhatCodexIsGiven(t *testing.T) {
	r := newRig(t, "codex", tellsArguments+"cat >$D/input; "+codexAnswers, "--model=m", "--", "codex", "-c", "a=1")
	r.cmd.Env = append(r.cmd.Env, `OPENAI_BASE_URL=http://h:1/"v1`)
	task := strings.Repeat("a long task\n", 100_000)
	r.plant("task", task, 0o600)
	r.run()
	want := "-c\na=1\nexec\n--json\n--skip-git-repo-check\n--dangerously-bypass-approvals-and-sandbox\n-c\nopenai_base_url=\"http://h:1/\\\"v1\"\n" +
		"-c\nanalytics.enabled=false\n--disable\nplugins\n--model=m\n-\n"
	if got := r.read("args"); got != want {
		t.Errorf("its arguments are\n%s", got)
	}
	if got := r.read("input"); got != task {
		t.Errorf("its input has %d bytes", len(got))
	}
}

// TestTheInputEndsAtTheResult: Claude Code waits for another message. One that never reads its task is not waited for.
func TestTheInputEndsAtTheResult(t *testing.T) {
	r := newRig(t, "claude", "read -r line; "+claudeEnds+"; cat; echo over >$D/over")
	if code, _ := r.run(); code != 0 || r.read("over") != "over\n" {
		t.Errorf("exit %d", code)
	}
	for _, script := range []string{claudeEnds, "exec <&-; " + claudeEnds} {
		r = newRig(t, "claude", script)
		r.plant("task", strings.Repeat("x", 1<<20), 0o600)
		if code, _ := r.run(); code != 0 || r.read("answer") != "the answer" {
			t.Errorf("%s: exit %d", script, code)
		}
	}
}

// TestALineIsToldAtOnce: the agent goes on only when its first line has been read.
func TestALineIsToldAtOnce(t *testing.T) {
	r := newRig(t, "claude", claudeSays+"; cat $D/go; "+claudeEnds)
	if err := syscall.Mkfifo(r.in("go"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.start().until("\"hi\"}\n")
	r.plant("go", "", 0o600)
	if code, told := r.wait(); code != 0 || len(told) != 2 {
		t.Errorf("exit %d, %+v", code, told)
	}
}

// TestLongLines: one line is longer than the adapter may be, and the next one is read.
func TestLongLines(t *testing.T) {
	const long = 300_000_000
	r := newRig(t, "claude", fmt.Sprintf("head -c %d /dev/zero; echo; head -c 3000000 /dev/zero | tr '\\0' x; echo; %s; head -c %d /dev/zero; grep VmHWM /proc/$PPID/status >$D/most", long, claudeEnds, long))
	code, told := r.run()
	var most int // what rusage says would be this test's own size, where that is larger
	if _, err := fmt.Sscanf(r.read("most"), "VmHWM: %d kB", &most); code != 0 || err != nil || most > long/1024 {
		t.Errorf("exit %d, with %d KB at most: %v", code, most, err)
	}
	says := fmt.Sprintf("a line of %d bytes was left out: the limit is 10000000", long)
	if told[0].Kind != agent.Raw || told[0].Text != says || told[len(told)-1].Text != says {
		t.Errorf("%+v, %+v", told[0], told[len(told)-1])
	}
	size := 0
	for _, l := range told[1 : len(told)-2] {
		size += len(l.Text)
		if l.Kind != agent.Raw {
			t.Fatalf("%+v", l)
		}
	}
	if size != 3_000_000 || told[len(told)-2].Kind != agent.Result {
		t.Errorf("of 3000000 bytes %d are told, before %+v", size, told[len(told)-2])
	}
}

// TestWhatAnAgentLeavesBehind holds its output open, in silence or with endless words. The adapter ends with the agent.
func TestWhatAnAgentLeavesBehind(t *testing.T) {
	for _, script := range []string{"sleep 1000 & " + claudeEnds, claudeEnds + "; { yes & yes & yes & echo >$D/go; yes; } & until [ -e $D/go ]; do :; done"} {
		r := newRig(t, "claude", script)
		code, told := r.run()
		if !slices.ContainsFunc(told, func(l agent.Line) bool { return l.Kind == agent.Result && l.Text == "the answer" }) || code != 0 || r.read("answer") != "the answer" {
			t.Errorf("%s: exit %d, %d lines", script, code, len(told))
		}
	}
}

// TestSignalsAreTheAgents: the group has got the signal; the adapter waits for what the agent makes of it.
func TestSignalsAreTheAgents(t *testing.T) {
	const cancelled = `printf '%s\n' '{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["cancelled"]}'; exit 0`
	tests := []struct {
		sig    syscall.Signal
		script string
		code   int
		says   string
	}{
		{syscall.SIGINT, "trap '" + strings.ReplaceAll(cancelled, "'", `'\''`) + "' INT; " + claudeSays + "; while :; do read -r x || :; done", 1, "cancelled"},
		{syscall.SIGTERM, claudeSays + "; exec sleep 1000", 143, "ended without a result (SIGTERM)"},
		{syscall.SIGHUP, "trap 'exit 0' HUP; " + claudeSays + "; while :; do read -r x || :; done", 1, "ended without a result (exit code 0)"},
		{syscall.SIGTERM, "trap : TERM; " + claudeSays + "; while ! read -r x <$D/go; do :; done; " + claudeEnds + "; exit 5", 5, ""},
	}
	for _, test := range tests {
		r := newRig(t, "claude", test.script)
		r.start().until("\"hi\"}\n")
		if err := syscall.Kill(-r.cmd.Process.Pid, test.sig); err != nil {
			t.Fatal(err)
		}
		r.plant("go.new", "go\n", 0o600)
		if err := os.Rename(r.in("go.new"), r.in("go")); err != nil {
			t.Fatal(err)
		}
		code, told := r.wait()
		if result := r.last(told); code != test.code || result.Failed != (test.says != "") || !strings.Contains(result.Text, test.says) {
			t.Errorf("%v: exit %d, %+v", test.sig, code, result)
		}
	}
}

// TestTheAnswersPlace: the agent may have put anything there, which leads the answer nowhere else.
func TestTheAnswersPlace(t *testing.T) {
	for what, hinder := range map[string]string{
		"a link":        "ln -s $D/target $D/answer",
		"a second name": "ln $D/target $D/answer",
		"a pipe":        "mkfifo $D/answer",
	} {
		r := newRig(t, "claude", hinder+"; "+claudeEnds)
		r.plant("target", "safe", 0o600)
		if code, _ := r.run(); code != 0 || r.read("answer") != "the answer" || r.read("target") != "safe" {
			t.Errorf("%s: exit %d, %q; the target is %q", what, code, r.read("answer"), r.read("target"))
		}
		if info, err := os.Lstat(r.in("answer")); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s: %v, %v", what, info, err)
		}
	}
	for what, hinder := range map[string]string{
		"a directory":               "mkdir -p out/answer/x",
		"a directory that's a link": "mkdir other; ln -s other out",
		"no directory":              ":",
	} {
		r := newRig(t, "claude", hinder+"; "+claudeEnds, "--answer", "out/answer", "--", "claude")
		code, told := r.run()
		said := r.read("stderr")
		if code != 0 || !strings.Contains(said, `the answer was not written to "out/answer"`) || told[len(told)-1].Kind != agent.Notice {
			t.Errorf("%s: exit %d, said %q", what, code, said)
		}
		if left, _ := os.ReadDir(r.in("other")); len(left) > 0 {
			t.Errorf("%s: %v was written", what, left)
		}
		if left, _ := os.ReadDir(r.in("out")); len(left) > 1 {
			t.Errorf("%s: %v is left", what, left)
		}
	}
}

// TestNobodyListens: the answer is written all the same.
func TestNobodyListens(t *testing.T) {
	r := newRig(t, "claude", "cat $D/go; "+claudeSays+"; "+claudeEnds)
	if err := syscall.Mkfifo(r.in("go"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.start().stdout.Close()
	r.plant("go", "", 0o600)
	if err := r.cmd.Wait(); err != nil || r.read("answer") != "the answer" {
		t.Errorf("%v, %q", err, r.read("answer"))
	}
}
