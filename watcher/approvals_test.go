package watcher

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/agent"
	"torno/internal/approval"
	"torno/internal/control"
	"torno/internal/runfile"
	"torno/sandbox/sandboxtest"
)

// asker is an agent with its adapter, as far as questions go: its task is commands, of which it asks about one after the other. "!" asks, and
// ends without an answer.
type asker struct {
	mu      sync.Mutex
	decided []string // what it was told, in order
	mute    bool     // it does not say that it has a decision
	lost    bool     // what it asks is lost on the way
}

func (k *asker) run(_ context.Context, p sandboxtest.ProgramIO) int {
	lines := bufio.NewScanner(p.Stdin)
	lines.Buffer(nil, agent.MaxInputLine)
	for i, command := range strings.Split(p.Args[len(p.Args)-1], "|") {
		command, late := strings.CutPrefix(command, "!")
		ask := agent.Line{Kind: agent.Ask, Ask: fmt.Sprint("q", i), Tool: &agent.Tool{Name: "Bash", Input: fmt.Appendf(nil, `{"command":%q}`, command)}}
		k.ask(p, ask)
		if late {
			return 0
		}
		if !k.await(p, lines, ask) {
			return 1
		}
	}
	return 0
}

func (k *asker) ask(p sandboxtest.ProgramIO, ask agent.Line) {
	k.mu.Lock()
	lost := k.lost
	k.mu.Unlock()
	if !lost {
		k.say(p, ask)
	}
}

// await waits for the first decision of a question, and tells the question again when it is told to.
func (k *asker) await(p sandboxtest.ProgramIO, lines *bufio.Scanner, line agent.Line) bool {
	ask := line.Ask
	for lines.Scan() {
		if agent.IsAskAgain(lines.Bytes()) {
			k.ask(p, line)
			continue
		}
		d, ok := agent.DecodeDecision(lines.Bytes())
		if !ok || d.Ask != ask {
			continue
		}
		k.mu.Lock()
		k.decided = append(k.decided, fmt.Sprintf("%s %v %s", d.Ask, d.Allow, d.Why))
		mute := k.mute
		k.mu.Unlock()
		if !mute {
			k.say(p, agent.Line{Kind: agent.AskTaken, Ask: ask})
		}
		return true
	}
	return false
}

func (k *asker) say(p sandboxtest.ProgramIO, line agent.Line) {
	data, _ := agent.Encode(line)
	_, _ = p.Stdout.Write(data)
}

func (k *asker) told() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return strings.Join(k.decided, ", ")
}

// askingProfile has the desk's one profile name an agent that asks. "allowed" and "denied" are decided by its rules.
func askingProfile(c *Config) {
	p := &c.Outboxes[0].Policy.Profiles[0]
	p.Agent, p.Command = "claude", []string{"claude", "{{.Task}}"}
	p.Approvals = &approval.Policy{
		Allow:   []approval.Rule{{Tool: "Bash", Words: []string{"allowed"}}},
		Deny:    []approval.Rule{{Tool: "Bash", Words: []string{"denied"}}},
		Expires: time.Hour, Pause: time.Hour, TimeBox: time.Hour,
		DecidedBy: []approval.Decider{approval.ByParent, approval.ByOperator},
		Rates:     approval.Rates{CallsPerMinute: 60, Calls: 100, ShellPerMinute: 60, WritesPerMinute: 60},
	}
}

// asks has the desk's agent ask.
func (d *desk) asks() *asker {
	k := &asker{}
	d.world.Register(runfile.Init, k.run)
	return k
}

// standsAt is what the status file says, the zero value where there is none.
func (d *desk) standsAt(a ask) (status delegation.RunStatus) {
	data, err := os.ReadFile(filepath.Join(d.outbox, "status_"+a.id+".json"))
	if err == nil {
		status, _ = delegation.DecodeRunStatus(data)
	}
	return status
}

// waiting waits until a run waits with a question about a command, which it returns.
func (d *desk) waiting(a ask, command string) (found delegation.PendingApproval) {
	d.Helper()
	d.eventually(a.id+" waits with "+command, func() bool {
		status := d.standsAt(a)
		at := slices.IndexFunc(status.Approvals, func(p delegation.PendingApproval) bool { return strings.Contains(p.Arguments, command) })
		if at < 0 || status.State != delegation.StateWaiting {
			return false
		}
		found = status.Approvals[at]
		return true
	})
	return found
}

// decides writes a parent's decision as input n.
func (d *desk) decides(a ask, n int, seen delegation.PendingApproval, as delegation.Decision) {
	d.Helper()
	in := delegation.Input{
		Version: 1, SubagentID: a.id, RequestID: a.request, N: n, Kind: delegation.InputDecision, Approval: seen.Approval, Digest: seen.Digest, Decision: as, Text: "so",
	}
	data, err := in.Encode()
	d.must(err)
	request, err := delegation.ParseRequestID(a.request)
	d.must(err)
	d.drop(d.outbox, delegation.InputName(mustID(d, a.id), request, n), data)
}

func (d *desk) refused(a ask, n int, because string) {
	d.Helper()
	d.eventually(fmt.Sprintf("input %d is refused", n), func() bool {
		status := d.standsAt(a)
		return status.Input != nil && slices.ContainsFunc(status.Input.Refused, func(r delegation.RefusedInput) bool {
			return r.N == n && r.Code == delegation.CodeDecision && strings.Contains(r.Text, because)
		})
	})
}

// TestQuestionsAreDecided by the policy, by the parent and by the operator, each once, and the run waits meanwhile.
func TestQuestionsAreDecided(t *testing.T) {
	d := newDesk(t, askingProfile)
	k := d.asks()
	a := d.submit(ask{id: "s1", task: "allowed|denied|first|second|third"})
	seen := d.waiting(a, "first")
	if r := d.latest("s1"); r.State != delegation.StateWaiting {
		t.Errorf("the journal has it %s", r.State)
	}
	shown := 0
	if err := d.operator().Output(t.Context(), "s1", false, func(control.Output) error { shown++; return nil }); shown == 0 || err != nil {
		t.Errorf("an operator sees nothing of a run that waits: %v", err)
	}
	d.decides(a, 1, seen, delegation.Approve)
	other := d.waiting(a, "second")
	d.decides(a, 2, seen, delegation.Deny)
	d.refused(a, 2, "already decided")
	crossed := other
	crossed.Digest = seen.Digest
	d.decides(a, 3, crossed, delegation.Approve)
	d.refused(a, 3, "another call")
	if _, err := d.operator().Decide(t.Context(), "s1", control.Decision{Approval: other.Approval, Digest: seen.Digest, Grant: true}); !errors.Is(err, control.ErrUndecided) {
		t.Errorf("an operator with another digest: %v", err)
	}
	questions, err := d.operator().Approvals(t.Context())
	if err != nil || len(questions) != 1 || questions[0].Approval != other.Approval || questions[0].Subagent != "s1" {
		t.Fatalf("%+v, %v", questions, err)
	}
	if _, err := d.operator().Decide(t.Context(), "s1", control.Decision{Approval: other.Approval, Digest: other.Digest, Why: "no"}); err != nil {
		t.Error(err)
	}
	d.decides(a, 4, d.waiting(a, "third"), delegation.Deny)
	resp := d.response(a)
	if got := k.told(); got != "q0 true , q1 false the policy denies it, q2 true , q3 false no, q4 false so" {
		t.Errorf("it was told %s", got)
	}
	if resp.Status != delegation.StatusCompleted || len(resp.Warnings) > 0 {
		t.Errorf("%+v", resp)
	}
	run, err := d.operator().Run(t.Context(), "s1")
	d.must(err)
	var told []string
	for _, q := range run.Questions {
		told = append(told, fmt.Sprintf("%d %s by %s %s", q.Approval, q.Outcome, q.By, q.Why))
		if q.AskedAt.Before(run.Released) || q.DecidedAt.Before(q.AskedAt) || (q.By != approval.ByPolicy) != (q.Arguments != "") {
			t.Errorf("of a run that was released at %v an operator sees %+v", run.Released, q)
		}
	}
	if got := strings.Join(told, ", "); got != "1 approved by policy , 2 denied by policy the policy denies it, 3 approved by parent , 4 denied by operator no, 5 denied by parent so" {
		t.Errorf("an operator sees: %s", got)
	}
}

// TestAWatcherIsKilledWhileAnAgentWaits: what was asked waits on, and a decision that the agent did not take is sent again.
func TestAWatcherIsKilledWhileAnAgentWaits(t *testing.T) {
	d := newDesk(t, askingProfile)
	k := d.asks()
	k.mute = true
	a := d.submit(ask{id: "s1", task: "allowed|first|second"})
	seen := d.waiting(a, "first")
	d.crash()
	d.open()
	if again := d.waiting(a, "first"); again.Digest != seen.Digest || again.Approval != seen.Approval {
		t.Errorf("%+v became %+v", seen, again)
	}
	d.decides(a, 1, seen, delegation.Approve)
	second := d.waiting(a, "second")
	d.crash()
	d.open()
	d.decides(a, 2, second, delegation.Approve)
	d.response(a)
	if got := k.told(); got != "q0 true , q1 true , q2 true " {
		t.Errorf("it was told %s", got)
	}
}

// TestAQuestionThatDiedWithItsWatcher is asked by the next one, also where the journal knows nothing of it.
func TestAQuestionThatDiedWithItsWatcher(t *testing.T) {
	d := newDesk(t, askingProfile)
	k := d.asks()
	k.lost = true
	a := d.submit(ask{id: "s1", task: "first"})
	d.eventually("the agent runs", func() bool { return d.standsAt(a).State == delegation.StateRunning })
	d.crash()
	k.mu.Lock()
	k.lost = false
	k.mu.Unlock()
	d.open()
	d.decides(a, 1, d.waiting(a, "first"), delegation.Approve)
	d.response(a)
	if got := k.told(); got != "q0 true " {
		t.Errorf("it was told %s", got)
	}
}

// TestADecisionOvertakesWhatTheAgentHasNotHeard: an agent that waits for a decision may hear nothing else before it, however much its parent
// has said meanwhile. The decision counts once, also under the next watcher.
func TestADecisionOvertakesWhatTheAgentHasNotHeard(t *testing.T) {
	d := newDesk(t, askingProfile)
	k := d.asks()
	a := d.submit(ask{id: "s1", task: "first|second"})
	seen := d.waiting(a, "first")
	const said = 20
	for n := 1; n <= said; n++ {
		d.say(a, n, fmt.Sprint("message ", n))
	}
	d.decides(a, said+1, seen, delegation.Approve)
	second := d.waiting(a, "second")
	d.crash()
	d.open()
	d.decides(a, said+2, second, delegation.Deny)
	d.response(a)
	if got := k.told(); got != "q0 true , q1 false so" {
		t.Errorf("it was told %s", got)
	}
	if status := d.standsAt(a); status.Input != nil && len(status.Input.Refused) > 0 {
		t.Errorf("refused: %+v", status.Input.Refused)
	}
}

// TestTheClockStandsStillWhileAnAgentWaits: a run waits for longer than its time, and has the rest of its time behind
// it.
func TestTheClockStandsStillWhileAnAgentWaits(t *testing.T) {
	d := newDesk(t, askingProfile)
	d.asks()
	a := d.submit(ask{id: "s1", task: "first|second"})
	seen := d.waiting(a, "first")
	d.overtime()
	d.clockSeen(a)
	if status := d.standsAt(a); status.State != delegation.StateWaiting {
		t.Errorf("it is %s", status.State)
	}
	d.decides(a, 1, seen, delegation.Approve)
	d.decides(a, 2, d.waiting(a, "second"), delegation.Approve)
	if resp := d.response(a); resp.Status != delegation.StatusCompleted {
		t.Errorf("%s, %s", resp.Status, resp.Reason)
	}
}

// TestTheClockGoesOnBehindTheLongestPause: a run that waits for longer than its profile lets it runs into its deadline.
func TestTheClockGoesOnBehindTheLongestPause(t *testing.T) {
	d := newDesk(t, func(c *Config) {
		askingProfile(c)
		c.Outboxes[0].Policy.Profiles[0].Approvals.Pause = time.Duration(unhurried) * time.Second
	})
	d.asks()
	a := d.submit(ask{id: "s1", task: "first"})
	d.waiting(a, "first")
	d.overtime() // which is the pause
	d.clockSeen(a)
	if status := d.standsAt(a); status.State != delegation.StateWaiting {
		t.Errorf("it is %s in its pause", status.State)
	}
	d.overtime()
	if resp := d.response(a); resp.Reason != delegation.ReasonDeadline {
		t.Errorf("%s, %s", resp.Status, resp.Reason)
	}
	noted, err := d.journal.Approvals(t.Context(), d.latest("s1").Key)
	if err != nil || len(noted) != 1 || noted[0].By != approval.ByEnd {
		t.Errorf("%+v, %v", noted, err)
	}
}

// TestAQuestionBehindTheEnd is dropped, and the response says so.
func TestAQuestionBehindTheEnd(t *testing.T) {
	d := newDesk(t, askingProfile)
	k := d.asks()
	a := d.submit(ask{id: "s1", task: "allowed|!first"})
	resp := d.response(a)
	d.eventually("its status asks nothing", func() bool { return len(d.standsAt(a).Approvals) == 0 }) // it is written behind the response
	if k.told() != "q0 true " {
		t.Error(k.told())
	}
	noted, err := d.journal.Approvals(t.Context(), d.latest("s1").Key)
	d.must(err)
	for _, n := range noted[1:] { // it was asked a moment before the end was seen
		if n.Outcome != approval.Declined || n.By != approval.ByEnd {
			t.Errorf("%+v", n)
		}
	}
	if len(noted) == 1 && (len(resp.Warnings) != 1 || !strings.Contains(resp.Warnings[0], "after its end")) {
		t.Errorf("it warns of %q", resp.Warnings)
	}
}

// TestARunIsEndedWhileItWaits: by its client, and by an operator who revokes.
func TestARunIsEndedWhileItWaits(t *testing.T) {
	d := newDesk(t, askingProfile)
	d.asks()
	a, b := d.submit(ask{id: "s1", task: "first"}), d.submit(ask{id: "s2", task: "first"})
	d.waiting(a, "first")
	d.waiting(b, "first")
	d.must(os.WriteFile(filepath.Join(d.outbox, "cancel_s1"), nil, 0o644))
	if resp := d.response(a); resp.Reason != delegation.ReasonCancelled {
		t.Errorf("%s, %s", resp.Status, resp.Reason)
	}
	if _, err := d.operator().Revoke(t.Context(), "s2", control.Revocation{Why: "it is enough", End: true}); err != nil {
		t.Error(err)
	}
	if resp := d.response(b); resp.Reason != delegation.ReasonOperator {
		t.Errorf("%s, %s", resp.Status, resp.Reason)
	}
}
