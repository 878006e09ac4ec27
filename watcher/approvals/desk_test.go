package approvals

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"torno/delegation"
	"torno/internal/agent"
	"torno/internal/approval"
	"torno/internal/journal"
	"torno/test/house"
)

// policy approves go test, denies git push, and forwards the rest.
func policy() *approval.Policy {
	return &approval.Policy{
		Allow:   []approval.Rule{{Tool: "Bash", Words: []string{"go", "test", approval.AnyRest}}},
		Deny:    []approval.Rule{{Tool: "Bash", Words: []string{"git", "push", approval.AnyRest}}},
		Expires: time.Minute, Pause: 10 * time.Minute, TimeBox: time.Hour,
		Rates:     approval.Rates{CallsPerMinute: 60, Calls: 1000, ShellPerMinute: 5, WritesPerMinute: 30},
		DecidedBy: []approval.Decider{approval.ByParent, approval.ByOperator},
	}
}

// rig is a desk with a journal in a directory.
type rig struct {
	*testing.T
	*Desk

	journal *journal.Journal
	told    []delegation.Event
	begin   time.Time
}

func newRig(t *testing.T) *rig {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(context.Background(), filepath.Join(dir, "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	r := &rig{T: t, journal: j, begin: time.Now()}
	r.Desk = r.desk(policy())
	return r
}

// desk is a desk of a watcher that has just begun.
func (r *rig) desk(p *approval.Policy) *Desk {
	d := New(Ports{
		Run: "run", Policy: p, Pause: policy().Pause, Journal: r.journal, Life: context.Background(),
		Tell: func(e delegation.Event) { r.told = append(r.told, e) },
		Log:  slog.New(slog.DiscardHandler),
	})
	d.Begin(func() (time.Duration, bool) { return time.Since(r.begin), true }, func(d time.Duration) time.Time { return r.begin.Add(d) })
	return d
}

// restart has another watcher take the run up.
func (r *rig) restart(p *approval.Policy) {
	r.Helper()
	r.restartShown(p, Shown{100, 100})
}

// restartShown has another watcher take the run up that finds so much shown.
func (r *rig) restartShown(p *approval.Policy, shown Shown) {
	r.Helper()
	r.Desk = r.desk(p)
	if err := r.Load(context.Background(), shown); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) ask(name, command string) {
	r.Take(agent.Line{Kind: agent.Ask, Ask: name, Tool: &agent.Tool{Name: "Bash", Input: fmt.Appendf(nil, `{"command":%q}`, command)}})
}

// wantDue is what is sent now: "+name" or "-name" each.
func (r *rig) wantDue(want ...string) {
	r.Helper()
	var got []string
	for _, d := range r.Due() {
		if d.Allow {
			got = append(got, "+"+d.Ask)
		} else {
			got = append(got, "-"+d.Ask)
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		r.Errorf("sent %q, not %q", got, want)
	}
}

// decision is one about what waits first.
func (r *rig) decision(by approval.Decider, grant bool) approval.Decision {
	r.Helper()
	waiting := r.Pending()
	if len(waiting) == 0 {
		r.Fatal("nothing waits")
	}
	return approval.Decision{Number: waiting[0].Approval, Digest: waiting[0].Digest, Grant: grant, By: by}
}

// TestWhatNoEventHasShownIsTold: a watcher dies between the note of a question, or of a decision, and its event.
func TestWhatNoEventHasShownIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		shown Shown
		want  string
	}{
		"all":                         {Shown{3, 2}, ""},
		"not the last ask":            {Shown{2, 2}, "asked 3"},
		"not the decisions":           {Shown{3, 1}, "decided 2"},
		"not what the policy decided": {Shown{1, 1}, "asked 3, asked 2, decided 2"},
		"nothing":                     {Shown{}, "asked 3, asked 1, decided 1, asked 2, decided 2"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.ask("a", "go test")  // the policy approves it
			r.ask("b", "git push") // and denies this
			r.ask("c", "rm a")
			r.told = nil
			r.restartShown(policy(), c.shown)
			for range 2 { // the adapter repeats what has no answer yet
				r.ask("a", "go test")
				r.ask("b", "git push")
				r.ask("c", "rm a")
			}
			var told []string
			for _, e := range r.told {
				word := "asked"
				if e.Type == delegation.EventDecided {
					word = "decided"
				}
				told = append(told, fmt.Sprintf("%s %d", word, e.Approval.Approval))
			}
			if got := strings.Join(told, ", "); got != c.want {
				t.Errorf("told is %q, want %q", got, c.want)
			}
		})
	}
}

// TestThePolicyDecides: at once, and what it says nothing of waits.
func TestThePolicyDecides(t *testing.T) {
	r := newRig(t)
	r.ask("a", "go test ./...")
	r.ask("b", "git push origin")
	r.ask("c", "rm -rf .")
	r.wantDue("+a", "-b")
	r.wantDue()
	if waiting := r.Pending(); len(waiting) != 1 || waiting[0].Approval != 3 || waiting[0].Arguments != `{"command":"rm -rf ."}` {
		t.Errorf("%+v", waiting)
	}
	var told []string
	for _, e := range r.told {
		if _, err := delegation.EncodeEvents([]delegation.Event{{Seq: 1, Time: time.Now(), Type: e.Type, Text: e.Text, Tool: e.Tool, Approval: e.Approval}}); err != nil {
			t.Error(err)
		}
		told = append(told, fmt.Sprintf("%s %d %s", e.Type, e.Approval.Approval, e.Approval.By))
	}
	if got := strings.Join(told, ", "); got != "permission_asked 1 , permission_decided 1 policy, permission_asked 2 , permission_decided 2 policy, permission_asked 3 " {
		t.Error(got)
	}
}

// TestADecisionCountsOnce: for the call that was seen, from who may decide.
func TestADecisionCountsOnce(t *testing.T) {
	r := newRig(t)
	r.ask("a", "rm a")
	seen := r.decision(approval.ByParent, true)
	r.ask("b", "rm b")
	other := seen
	other.Number = 2
	for name, c := range map[string]struct {
		d    approval.Decision
		want error
	}{
		"the digest of another call": {other, approval.ErrOther},
		"no such approval":           {approval.Decision{Number: 3, Digest: seen.Digest, Grant: true, By: approval.ByParent}, approval.ErrNone},
		"number 0":                   {approval.Decision{Digest: seen.Digest, Grant: true, By: approval.ByParent}, approval.ErrNone},
	} {
		if err := r.Decide(c.d); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	r.wantDue()
	if err := r.Decide(seen); err != nil {
		t.Fatal(err)
	}
	if err := r.Decide(seen); !errors.Is(err, approval.ErrUsed) {
		t.Errorf("once more: %v", err)
	}
	denial := seen
	denial.Grant = false
	if err := r.Decide(denial); !errors.Is(err, approval.ErrUsed) || !r.Was(seen) || r.Was(denial) || r.Was(other) {
		t.Errorf("the opposite: %v", err)
	}
	r.wantDue("+a")
}

// TestANameWithAnotherCall: what was granted by a name does not count for another call that comes by it.
func TestANameWithAnotherCall(t *testing.T) {
	r := newRig(t)
	r.ask("a", "rm a")
	if err := r.Decide(r.decision(approval.ByParent, true)); err != nil {
		t.Fatal(err)
	}
	r.wantDue("+a")
	r.ask("a", "rm -rf /")
	r.wantDue("-a")
	r.ask("a", "rm a") // the same one, read once more, has no answer yet
	r.wantDue("+a")
	r.Take(agent.Line{Kind: agent.AskTaken, Ask: "a"})
	r.Again()
	r.wantDue()
}

// fullJournal takes no end of a question.
type fullJournal struct{ Journal }

func (fullJournal) Decide(context.Context, approval.Approval, *journal.NumberedChange) error {
	return errors.New("no space is left on the device")
}

// TestNoPolicyAnyMoreAndAFullJournal: what was asked before cannot be denied yet, and is shown meanwhile. Its time denies it later.
func TestNoPolicyAnyMoreAndAFullJournal(t *testing.T) {
	r := newRig(t)
	r.ask("a", "rm a")
	seen := r.decision(approval.ByParent, true)
	r.Desk = r.desk(nil)
	r.Journal = fullJournal{r.journal}
	if err := r.Load(context.Background(), Shown{}); err != nil {
		t.Fatal(err)
	}
	if waiting := r.Pending(); len(waiting) != 1 || len(waiting[0].DecidedBy) != 0 {
		t.Errorf("%+v", waiting)
	}
	if err := r.Decide(seen); err == nil {
		t.Error("it was granted")
	}
	r.wantDue()
	r.ask("a", "rm a") // told once more, it is denied all the same
	r.wantDue("-a")
}

// TestAGrantEndsWithTheApprovals: a profile that has none any more grants nothing that is asked once more.
func TestAGrantEndsWithTheApprovals(t *testing.T) {
	r := newRig(t)
	r.ask("a", "rm a")
	if err := r.Decide(r.decision(approval.ByOperator, true)); err != nil {
		t.Fatal(err)
	}
	r.wantDue("+a")
	r.Take(agent.Line{Kind: agent.AskTaken, Ask: "a"})
	r.restart(nil)
	r.ask("a", "rm a")
	r.wantDue("-a")
}

// TestADenialWithoutARecordThatIsLost: it is sent again, until the agent has it or has taken its question back.
func TestADenialWithoutARecordThatIsLost(t *testing.T) {
	r := newRig(t)
	r.Desk = r.desk(nil) // so every question is denied, and none is noted
	r.ask("a", "rm a")
	r.ask("b", "rm b")
	r.ask("c", "rm c")
	r.wantDue("-a", "-b", "-c")
	r.wantDue()
	r.Take(agent.Line{Kind: agent.AskTaken, Ask: "a"})
	r.wantDue()
	r.Again()
	r.wantDue("-b", "-c")
	r.Take(agent.Line{Kind: agent.AskGone, Ask: "b"})
	r.ask("d", "rm d")
	r.wantDue("-d")
	r.Again()
	r.wantDue("-c", "-d")
}

// takenCounter counts what a journal is told of questions, and of decisions that were taken.
type takenCounter struct {
	Journal

	writes int
}

func (c *takenCounter) Ask(ctx context.Context, a approval.Approval) error {
	c.writes++
	return c.Journal.Ask(ctx, a)
}

func (c *takenCounter) NoteTaken(ctx context.Context, run string, number int) error {
	c.writes++
	return c.Journal.NoteTaken(ctx, run, number)
}

// TestADecisionThatIsTakenWithoutEnd: a child that asks the same again and takes the answer again costs one write of the journal, also
// behind a restart.
func TestADecisionThatIsTakenWithoutEnd(t *testing.T) {
	r := newRig(t)
	for _, writes := range []int{2, 0} {
		counter := &takenCounter{Journal: r.journal}
		r.Journal = counter
		for range 100 {
			r.ask("a", "go test .")
			r.wantDue("+a")
			r.Take(agent.Line{Kind: agent.AskTaken, Ask: "a"})
		}
		if counter.writes != writes {
			t.Errorf("%d writes, not %d", counter.writes, writes)
		}
		r.restart(policy())
	}
}

// TestAQuestionThatIsToldWithoutEnd: it is written down, shown and answered once, whether it waits or was denied without a record.
func TestAQuestionThatIsToldWithoutEnd(t *testing.T) {
	r := newRig(t)
	counter := &takenCounter{Journal: r.journal}
	r.Journal = counter
	for range 100 {
		r.ask("a", "rm a")
		r.wantDue()
	}
	if counter.writes != 1 || len(r.told) != 1 || len(r.Pending()) != 1 {
		t.Errorf("%d writes, %d events, %d wait", counter.writes, len(r.told), len(r.Pending()))
	}
	r.restart(nil)
	r.wantDue("-a")
	for i := range 100 {
		r.ask("b", "rm b")
		if i == 0 {
			r.wantDue("-b")
		}
		r.wantDue()
	}
	r.Again()
	r.wantDue("-b", "-a")
}

// TestADenialThatOnlyAnEarlierWatcherKnew: the agent has it already when its question is read again, and waits no more.
func TestADenialThatOnlyAnEarlierWatcherKnew(t *testing.T) {
	r := newRig(t)
	for range 2 {
		r.ask("a", "rm a")
		r.Take(agent.Line{Kind: agent.AskTaken, Ask: "a"})
	}
	if waiting := r.Pending(); len(waiting) != 0 {
		t.Errorf("%+v", waiting)
	}
	r.wantDue()
}

// TestAWatcherDiesWhileItWaits: what waited waits on, what was decided and not taken is sent again, what was taken is not.
func TestAWatcherDiesWhileItWaits(t *testing.T) {
	r := newRig(t)
	r.ask("a", "rm a")
	r.ask("b", "rm b")
	r.ask("c", "rm c")
	for range 2 {
		if err := r.Decide(r.decision(approval.ByOperator, true)); err != nil {
			t.Fatal(err)
		}
	}
	r.wantDue("+a", "+b")
	r.Take(agent.Line{Kind: agent.AskTaken, Ask: "a"})
	r.restart(policy())
	r.wantDue("+b")
	r.ask("c", "rm c") // its output is read once more
	if waiting := r.Pending(); len(waiting) != 1 || waiting[0].Approval != 3 {
		t.Errorf("%+v", waiting)
	}
	if err := r.Decide(r.decision(approval.ByParent, false)); err != nil {
		t.Fatal(err)
	}
	r.wantDue("-c")
}

// TestAnotherPolicyAfterARestart: what was asked under the old one is denied, and can be asked again.
func TestAnotherPolicyAfterARestart(t *testing.T) {
	for name, p := range map[string]*approval.Policy{"another": {Expires: time.Minute, Pause: time.Minute, TimeBox: time.Hour}, "none": nil} {
		r := newRig(t)
		r.ask("a", "rm a")
		r.restart(p)
		if len(r.Pending()) != 0 {
			t.Errorf("%s: it waits", name)
		}
		r.ask("a", "rm a") // its adapter tells it to each attachment
		r.wantDue("-a")
		r.ask("b", "rm b")
		if p == nil {
			r.wantDue("-b")
		} else {
			r.wantDue()
		}
	}
}

// TestExpiry: nobody's word is a denial, and the clock stood still until then.
func TestExpiry(t *testing.T) {
	r := newRig(t)
	synctest.Test(t, func(t *testing.T) {
		r.begin = time.Now()
		r.Journal = forgetful{}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go r.Expire(ctx)
		time.Sleep(3 * time.Second)
		r.ask("a", "rm a")
		time.Sleep(59 * time.Second)
		r.wantDue()
		seen := r.decision(approval.ByParent, true)
		time.Sleep(2 * time.Second)
		r.wantDue("-a")
		if err := r.Decide(seen); !errors.Is(err, approval.ErrUsed) {
			t.Errorf("behind its time: %v", err)
		}
		if paused := r.Paused(time.Hour); paused != time.Minute {
			t.Errorf("paused for %v", paused)
		}
	})
}

// forgetful is a journal that takes all: a real one's goroutines are no part of a bubble.
type forgetful struct{ Journal }

func (forgetful) Ask(context.Context, approval.Approval) error { return nil }
func (forgetful) Decide(context.Context, approval.Approval, *journal.NumberedChange) error {
	return nil
}

// TestAJournalThatDoesNotTakeIt: what is not written down is not granted.
func TestAJournalThatDoesNotTakeIt(t *testing.T) {
	r := newRig(t)
	r.ask("a", "rm a")
	seen := r.decision(approval.ByParent, true)
	r.journal.Close()
	if err := r.Decide(seen); err == nil {
		t.Error("it was decided")
	}
	r.wantDue()
	r.ask("b", "go test")
	r.wantDue("-b")
	other := newRig(t)
	other.journal.Close()
	other.ask("c", "rm c")
	other.wantDue("-c")
	if paused := other.Paused(time.Minute); paused != 0 {
		t.Errorf("the clock stood still for %s", paused)
	}
}

// heldJournal holds each question and decision until it is let.
type heldJournal struct {
	Journal
	begun, let chan struct{}
}

func (h heldJournal) Ask(ctx context.Context, a approval.Approval) error {
	h.begun <- struct{}{}
	<-h.let
	return h.Journal.Ask(ctx, a)
}

func (h heldJournal) Decide(ctx context.Context, a approval.Approval, c *journal.NumberedChange) error {
	h.begun <- struct{}{}
	<-h.let
	return h.Journal.Decide(ctx, a, c)
}

// TestTheRunsClockWaitsForNoJournal: a call to the journal hangs, and the clock can be read. It stands still from the
// question on, although the journal has not taken the question yet.
func TestTheRunsClockWaitsForNoJournal(t *testing.T) {
	r := newRig(t)
	held := heldJournal{r.journal, make(chan struct{}), make(chan struct{})}
	r.Journal = held
	at := 10 * time.Second // since the release
	r.Begin(func() (time.Duration, bool) { return at, true }, func(d time.Duration) time.Time { return r.begin.Add(d) })
	while := func(what string, call func()) {
		over, told := make(chan struct{}), make(chan time.Duration, 1)
		go func() { defer close(over); call() }()
		<-held.begun
		go func() { told <- r.Paused(30 * time.Second) }()
		select {
		case paused := <-told:
			if paused != 20*time.Second {
				t.Errorf("%s: the clock stood still for %s", what, paused)
			}
		case <-time.After(house.Patience):
			t.Errorf("%s: the run's clock waits for the journal", what)
		}
		held.let <- struct{}{}
		<-over
	}
	while("a question is being recorded", func() { r.ask("a", "rm -rf .") })
	seen := r.decision(approval.ByParent, true)
	at = 25 * time.Second
	while("a decision is being recorded", func() {
		if err := r.Decide(seen); err != nil {
			t.Error(err)
		}
	})
	if paused := r.Paused(time.Hour); paused != 15*time.Second {
		t.Errorf("after the decision the clock stood still for %s", paused)
	}
}
