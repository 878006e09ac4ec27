package door

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"torno/delegation"
	"torno/internal/gateway/budget"
	"torno/internal/journal"
	"torno/sandbox"
)

// records is a journal.
type records struct {
	outboxes   []string
	unfinished []sandbox.RunKey
	ended      map[string]journal.Run // by their keys
	fails      error                  // of a note
}

func (r *records) Get(_ context.Context, key string) (journal.Run, error) {
	run, ok := r.ended[key]
	if !ok {
		return run, journal.ErrUnknown
	}
	return run, nil
}

func (r *records) Attempts(_ context.Context, _ string, _ delegation.SubagentID, request delegation.RequestID) (n int, err error) {
	for _, run := range r.ended {
		if run.Request == request {
			n = max(n, run.Attempt)
		}
	}
	return n, nil
}

func (r *records) NoteUsage(_ context.Context, key string, used delegation.Usage) error {
	if r.fails != nil {
		return r.fails
	}
	run := r.ended[key]
	run.Usage = &used
	r.ended[key] = run
	return nil
}

func (r *records) Latest(_ context.Context, outbox string, subagent delegation.SubagentID) (journal.Run, bool, error) {
	for _, run := range r.ended {
		if run.Outbox == outbox && run.Subagent == subagent {
			return run, true, nil
		}
	}
	return journal.Run{}, false, nil
}

// end has a record of a run that has ended.
func (r *records) end(key sandbox.RunKey, used *delegation.Usage) (name string) {
	if r.ended == nil {
		r.ended = map[string]journal.Run{}
	}
	r.ended[key.Hash()] = journal.Run{Key: key.Hash(), Outbox: key.Outbox, Subagent: key.Subagent, Request: key.Request, Attempt: key.Attempt, Usage: used}
	return key.Hash()
}

func (r *records) Outboxes(context.Context) (all []journal.Outbox, err error) {
	for _, id := range r.outboxes {
		all = append(all, journal.Outbox{ID: id})
	}
	return all, nil
}

func (r *records) Unfinished(_ context.Context, after int64, limit int) (all []journal.Run, err error) {
	for i := int(after); i < len(r.unfinished) && len(all) < limit; i++ {
		k := r.unfinished[i]
		all = append(all, journal.Run{Seq: int64(i + 1), Outbox: k.Outbox, Subagent: k.Subagent, Request: k.Request, Attempt: k.Attempt})
	}
	return all, nil
}

func keyOf(t *testing.T, outbox, request string, attempt int) sandbox.RunKey {
	t.Helper()
	subagent, errSubagent := delegation.ParseSubagentID("s1")
	id, err := delegation.ParseRequestID(request)
	if err = errors.Join(err, errSubagent); err != nil {
		t.Fatal(err)
	}
	return sandbox.RunKey{Outbox: outbox, Subagent: subagent, Request: id, Attempt: attempt}
}

// spend has a run spend one request.
func (n *near) spend(t *testing.T, key sandbox.RunKey) {
	t.Helper()
	h := holder(t, claude)
	h.Key = key
	r, err := n.budget.Reserve(t.Context(), specOf(h).Claims, budget.Amount{Requests: 1}, false)
	if err == nil {
		err = r.SettleUnknown()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (n *near) spentBy(scope budget.Scope) int64 { return n.budget.Use(scope).Spent.Requests }

// TestRunsThatAreOverAreForgotten: what thousands have spent goes, and what still counts stays: of a run that waits for its next
// attempt or for its answer, of a run with a door, of another watcher's, and of all runs of an outbox.
func TestRunsThatAreOverAreForgotten(t *testing.T) {
	n := newNear(t)
	d := New(n, n.tell)
	const ours, theirs, gone = "0123456789abcdef", "fedcba9876543210", "00000000000000ff"
	j := &records{outboxes: []string{ours, gone}}
	stays := []sandbox.RunKey{keyOf(t, ours, "lost once", 1), keyOf(t, ours, "not answered", 1), keyOf(t, theirs, "another", 1)}
	j.unfinished = []sandbox.RunKey{keyOf(t, ours, "lost once", 2), stays[1]}
	for i := range atOnce { // more than one page of them, which have spent nothing
		j.unfinished = append(j.unfinished, keyOf(t, ours, fmt.Sprint("waits ", i), 1))
	}
	open := holder(t, claude)
	if err := d.Acquire(t.Context(), open); err != nil {
		t.Fatal(err)
	}
	stays = append(stays, open.Key)
	for _, key := range stays {
		n.spend(t, key)
	}
	over := []sandbox.RunKey{keyOf(t, gone, "of an outbox that is not served", 1)}
	for i := range 1100 { // the gateway names them in two pieces
		over = append(over, keyOf(t, ours, fmt.Sprint("over ", i), 1))
	}
	for _, key := range over {
		n.spend(t, key)
	}
	for range 2 {
		if err := d.Forget(t.Context(), j); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range stays {
		if got := n.spentBy(runScope(key)); got != 1 {
			t.Errorf("%s has spent %d requests", key, got)
		}
	}
	if left := n.budget.Scopes(budget.Run, "", 2000); len(left) != len(stays) {
		t.Errorf("%d runs are left, not %d", len(left), len(stays))
	}
	if got := n.spentBy(budget.Scope{Kind: budget.Tree, ID: ours}); got != int64(len(over)+len(stays)-2) {
		t.Errorf("the outbox has spent %d requests", got)
	}
}

// TestARunThatIsAttemptedAgainMeanwhile is not forgotten: the journal is asked after the gateway was.
func TestARunThatIsAttemptedAgainMeanwhile(t *testing.T) {
	n := newNear(t)
	d := New(n, n.tell)
	key := keyOf(t, "0123456789abcdef", "r", 1)
	n.spend(t, key)
	j := &records{outboxes: []string{key.Outbox}}
	n.fails = func(_ context.Context, call string) error {
		if call == "idle" {
			again := key
			again.Attempt = 2
			j.unfinished = []sandbox.RunKey{again}
		}
		return nil
	}
	if err := d.Forget(t.Context(), j); err != nil || n.spentBy(runScope(key)) != 1 {
		t.Errorf("%v: it has spent %d", err, n.spentBy(runScope(key)))
	}
	n.fails = func(context.Context, string) error { return errAway }
	if err := d.Forget(t.Context(), j); !errors.Is(err, errAway) {
		t.Error(err)
	}
}

// TestWhatWasNotKnownAtTheEndIsNoted: the gateway forgets what a run has spent only when the record of its last attempt has it. A record that
// cannot be written keeps what that run has spent, and no other run's.
func TestWhatWasNotKnownAtTheEndIsNoted(t *testing.T) {
	n := newNear(t)
	d := New(n, n.tell)
	const outbox = "0123456789abcdef"
	j := &records{outboxes: []string{outbox}, fails: errors.New("the disk is full")}
	unanswered, again, known := keyOf(t, outbox, "not answered", 1), keyOf(t, outbox, "again", 1), keyOf(t, outbox, "known", 1)
	second := again
	second.Attempt = 2
	was := delegation.ModelUsage{Requests: 1}
	one, two := j.end(unanswered, &delegation.Usage{PeakMemoryBytes: 7}), j.end(second, nil)
	first, told := j.end(again, nil), j.end(known, &delegation.Usage{Model: &was})
	for _, key := range []sandbox.RunKey{unanswered, again, known} {
		n.spend(t, key)
	}
	if err := d.Forget(t.Context(), j); !errors.Is(err, j.fails) {
		t.Error(err)
	}
	if n.spentBy(runScope(unanswered)) != 1 || n.spentBy(runScope(again)) != 1 || n.spentBy(runScope(known)) != 0 {
		t.Errorf("it was not noted, and %d, %d, %d are left", n.spentBy(runScope(unanswered)), n.spentBy(runScope(again)), n.spentBy(runScope(known)))
	}
	j.fails = nil
	if err := d.Forget(t.Context(), j); err != nil {
		t.Error(err)
	}
	const another = "fedcba9876543210"
	d2 := keyOf(t, another, "of another outbox", 1)
	j.outboxes, j.ended[d2.Hash()] = append(j.outboxes, another), journal.Run{Key: d2.Hash(), Outbox: another}
	if known, err := d.noteSpent(t.Context(), j, []string{outbox + "/" + d2.Hash()}); err != nil || len(known) != 1 || j.ended[d2.Hash()].Usage != nil {
		t.Errorf("a gateway that names another outbox's run changes its record: %v, %+v", err, j.ended[d2.Hash()].Usage)
	}
	for name, key := range map[string]string{"a run": one, "a last attempt": two} {
		if got := j.ended[key].Usage; got == nil || got.Model == nil || got.Model.Requests != 1 {
			t.Errorf("the record of %s says %+v", name, got)
		}
	}
	if got := j.ended[one].Usage; got == nil || got.PeakMemoryBytes != 7 {
		t.Errorf("what was known is gone: %+v", got)
	}
	if j.ended[first].Usage != nil || j.ended[told].Usage.Model != &was {
		t.Error("another record was changed")
	}
	if n.spentBy(runScope(unanswered)) != 0 || n.spentBy(runScope(again)) != 0 {
		t.Error("it is noted, and not forgotten")
	}
}

// TestSubagentsAreCountedWhereTheyAreBounded: what one has spent is kept for ever, and a parent names as many as it likes.
func TestSubagentsAreCountedWhereTheyAreBounded(t *testing.T) {
	h := holder(t, claude)
	subagents := func() (n int) {
		for _, c := range specOf(h).Claims {
			if c.Scope.Kind == budget.Subagent {
				n++
			}
		}
		return n
	}
	if subagents() != 0 {
		t.Error("it is counted where no profile bounds it")
	}
	h.Spec.Door.CountSubagent = true
	if subagents() != 1 {
		t.Error("it is not counted where another profile bounds it")
	}
}

// TestSubagentsThatTheJournalHasForgotten are forgotten by the gateway, thousands of them, and none that may still spend: that is in the journal,
// has a door, may go on with its session, spends something meanwhile, or is another watcher's.
func TestSubagentsThatTheJournalHasForgotten(t *testing.T) {
	n := newNear(t)
	d := New(n, n.tell)
	const ours, theirs = "0123456789abcdef", "fedcba9876543210"
	j := &records{outboxes: []string{ours}}
	spend := func(outbox, subagent string) sandbox.RunKey {
		key := keyOf(t, outbox, "r", 1)
		var err error
		if key.Subagent, err = delegation.ParseSubagentID(subagent); err != nil {
			t.Fatal(err)
		}
		r, err := n.budget.Reserve(t.Context(), []budget.Claim{{Scope: subagentScope(key)}}, budget.Amount{Requests: 1}, false)
		if err == nil {
			err = r.SettleUnknown()
		}
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	for i := range 2100 {
		spend(ours, fmt.Sprintf("gone-%d", i))
	}
	stays := []sandbox.RunKey{spend(ours, "in-the-journal"), spend(ours, "has-a-session"), spend(ours, "spends"), spend(ours, "has-a-door"), spend(theirs, "another")}
	j.end(stays[0], nil)
	open := holder(t, claude)
	open.Key, open.Spec.Door.CountSubagent = stays[3], true
	if err := d.Acquire(t.Context(), open); err != nil {
		t.Fatal(err)
	}
	pieces := 0
	n.fails = func(_ context.Context, call string) error {
		if call != "forget subagents" {
			return nil
		}
		if pieces++; pieces == 3 { // the gateway has listed it, the journal was asked, and it runs now
			spend(ours, "spends")
		}
		return nil
	}
	goesOn := func(outbox string, id delegation.SubagentID) bool {
		return outbox == ours && id.String() == "has-a-session"
	}
	if err := d.ForgetSubagents(t.Context(), j, goesOn); err != nil {
		t.Fatal(err)
	}
	left := n.budget.Scopes(budget.Subagent, "", 5000)
	if len(left) != len(stays) {
		t.Errorf("%d subagents are left, and %d should be", len(left), len(stays))
	}
	for _, key := range stays {
		if n.spentBy(subagentScope(key)) == 0 {
			t.Errorf("%s is forgotten", key.Subagent)
		}
	}
}
