package crash

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torno/delegation"
	"torno/test/house"
)

// asksOnce is a program that Claude Code's adapter starts: it asks about its task, and ends with the answer that it gets.
const asksOnce = `printf '%s\n' '{"type":"system","subtype":"init"}'; echo began >>ledger; read -r task
case "$task" in *may*) word=may;; *) word=cannot;; esac
case "$task" in *flood*) for n in 1 2 3 4; do head -c 100000 /dev/zero >&2; sleep 0.1; done;; esac
printf '%s%s%s\n' '{"type":"control_request","request_id":"q","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"' "$word" '"}}}'
read -r answer; printf '%s\n' "$answer" >>answers
printf '%s\n' '{"type":"result","is_error":false,"result":"hello\n"}'; while read -r answer; do printf '%s\n' "$answer" >>answers; done`

// withAsking adds two profiles whose agent asks for approval. Their policy approves "may". A question that nobody decides expires soon in
// asks, and after the test in waits.
func withAsking(p *house.Plan) {
	p.Top = `gateway: {routes: {claude: {preset: anthropic, upstream: "http://localhost:11434", http_to: localhost, private: true, header: ""}}}`
	for name, expires := range map[string]string{"asks": "5s", "waits": "4m"} {
		p.Offers += ", " + name
		p.Profiles += fmt.Sprintf("\n  %s:\n    timeout: {default: 2m, min: 1s, max: 5m}\n    routes: [claude]\n    agent: claude\n    command: [/bin/sh, -c, %q]"+
			"\n    approvals: {allow: [{tool: Bash, words: [may]}], expires: %s}", name, asksOnce, expires)
	}
}

// TestAQuestionBehindAFlood kills the watcher while it publishes what an agent prints on standard error before it asks: at the fourth note, which
// Docker's chunks, as large as a segment, have in the middle of one.
func TestAQuestionBehindAFlood(t *testing.T) {
	flood := story{asks: true, pass: 4, during: submitTo("asks", "may, behind a flood"), done: askedOnce("allow")}
	house.Each(t, func(t *testing.T, sandbox string) {
		house.Need(t, sandbox)
		flood.tell(t, "segment.noted", sandbox)
	})
}

// askedOnce wants the agent to have had one answer to its question.
func askedOnce(behavior string) func(*scene) {
	return func(s *scene) {
		s.Helper()
		s.Want(s.Response(s.ask), delegation.StatusCompleted, delegation.ReasonExited, 0)
		answers := strings.Split(strings.TrimSpace(s.Read(filepath.Join(s.ask.Workspace, "answers"))), "\n")
		if len(answers) != 1 || !strings.Contains(answers[0], `"behavior":"`+behavior+`"`) {
			s.Errorf("the agent was answered %q", answers)
		}
		s.began(1)
	}
}

// revoked has an operator take back what a run's policy approves, while its agent waits.
func revoked(s *scene) {
	s.Helper()
	submitTo("waits", "cannot")(s)
	s.Eventually("the agent waits", func() bool {
		data, err := os.ReadFile(s.Path("status_s1.json"))
		return err == nil && strings.Contains(string(data), `"waiting"`)
	})
	out, err := s.Command("watcher", "revoke", "s1", "--reason", "it does too much", "--config", s.Config).CombinedOutput()
	s.Logf("revoke: %v %s", err, out) // its watcher dies
}

// denied has an operator answer the agent's question.
func denied(s *scene) {
	s.Helper()
	s.Eventually("the question is denied", func() bool {
		return s.Command("watcher", "deny", "s1", "--config", s.Config).Run() == nil
	})
	askedOnce("deny")(s)
}
