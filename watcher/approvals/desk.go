package approvals

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"torno/delegation"
	"torno/internal/agent"
	"torno/internal/approval"
	"torno/internal/crash"
	"torno/internal/journal"
)

// The bounds of one run's questions.
const (
	maxPending = 8    // that wait at once
	maxAsked   = 1000 // that the policy does not approve itself; those have a bound of their own
	maxDenied  = 16   // without a record, and not taken: as many as an adapter of ours holds
)

// Journal is what a desk needs of the journal.
type Journal interface {
	Ask(context.Context, approval.Approval) error
	Decide(context.Context, approval.Approval) error
	NoteTaken(ctx context.Context, run string, number int) error
	Approvals(ctx context.Context, run string) ([]journal.Asked, error)
	ApprovalChanges(ctx context.Context, run string) ([]journal.ApprovalChange, error)
	ChangeApprovals(ctx context.Context, run string, number int, c journal.ApprovalChange) error
}

// Ports are what a desk needs of its run.
type Ports struct {
	Run     string           // its key
	Policy  *approval.Policy // nil where its profile has none: then every question is denied
	Journal Journal
	Life    context.Context        // done when the watcher stops working
	Tell    func(delegation.Event) // shows what happened among the live events
	Log     *slog.Logger
}

// Desk has the questions of one run.
type Desk struct {
	Ports
	changed chan struct{} // has one when what waits has changed
	ready   chan struct{} // has one when an answer may be due

	mu      sync.Mutex                    // guards what follows
	since   func() (time.Duration, bool)  // since the run's release; false where that cannot be known; nil before it
	clock   func(time.Duration) time.Time // what a clock on the wall showed then
	all     []journal.Asked
	calls   map[int]approval.Call // of what waits, as far as this watcher has seen it
	meter   approval.Meter
	rules   []approval.Rule // that the operator has added
	changes int
	revoked bool
	closed  bool
	late    int              // questions behind the end
	denied  []agent.Decision // without a record, until the agent has them
	told    int              // how many of denied this attachment has sent
	sent    map[int]bool     // by this attachment
	noted   map[int]bool     // as taken, in the journal
}

// New is the desk of a run that has asked nothing yet.
func New(p Ports) *Desk {
	return &Desk{
		Ports: p, changed: make(chan struct{}, 1), ready: make(chan struct{}, 1), calls: make(map[int]approval.Call), sent: make(map[int]bool),
		noted: make(map[int]bool),
	}
}

// Begin says when the run was released: by a clock that nobody sets, and by the one on the wall.
func (d *Desk) Begin(since func() (time.Duration, bool), clock func(time.Duration) time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.since, d.clock = since, clock
}

// now is the time since the release.
func (d *Desk) now() (time.Duration, bool) {
	if d.since == nil {
		return 0, false
	}
	return d.since()
}

// Load takes up what an earlier watcher has noted.
func (d *Desk) Load(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	all, err := d.Journal.Approvals(ctx, d.Run)
	if err != nil {
		return err
	}
	changes, err := d.Journal.ApprovalChanges(ctx, d.Run)
	if err != nil {
		return err
	}
	d.all, d.changes = all, len(changes)
	for _, c := range changes {
		d.apply(c)
	}
	approved := 0
	for i := range d.all {
		a := &d.all[i]
		d.noted[a.Number] = a.Taken
		if a.Outcome == "" && !a.Cut { // its arguments are all there
			d.calls[a.Number] = approval.Call{Tool: a.Tool, Arguments: []byte(a.Preview)}
		}
		if a.By == approval.ByPolicy && a.Outcome == approval.Granted {
			approved++
		}
	}
	d.meter.Count(approved)
	d.endOthers()
	notify(d.changed)
	notify(d.ready)
	return nil
}

// endOthers denies what was asked when the run was allowed something else: what is granted now is another thing. The agent may ask again.
func (d *Desk) endOthers() {
	bound := d.binding()
	for i := range d.all {
		if d.all[i].Outcome == "" && d.all[i].Binding != bound {
			d.end(&d.all[i], approval.Declined, approval.ByChange, "what the run may do was changed; it can be asked again")
		}
	}
}

// Changed has one when what waits has changed.
func (d *Desk) Changed() <-chan struct{} { return d.changed }

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// binding is what a question is bound to now.
func (d *Desk) binding() approval.Binding {
	if d.Policy == nil {
		return approval.Binding{Run: d.Run}
	}
	version := d.Policy.Version()
	if d.revoked {
		version += "-revoked"
	}
	return approval.Binding{Run: d.Run, Policy: version}
}

// Take takes a line of the adapter's that is about a question.
func (d *Desk) Take(l agent.Line) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch l.Kind {
	case agent.Ask:
		d.asked(l)
	case agent.AskTaken:
		d.taken(l)
	case agent.AskGone:
		d.withdrawn(l)
	}
}

// asked takes a question.
func (d *Desk) asked(l agent.Line) {
	arguments, err := approval.Canonical(l.Tool.Input)
	call := approval.Call{Tool: l.Tool.Name, Arguments: arguments}
	before := d.find(l.Ask)
	same := before != nil && call.Digest(before.Binding) == before.Digest
	now, known := d.now()
	switch {
	case d.closed && same: // it was read once more behind the end, and is over
	case d.closed || !known:
		d.late++
	case err != nil:
		d.refuse(l.Ask, approval.Call{}, "its arguments cannot be read")
	case d.Policy == nil:
		d.refuse(l.Ask, call, "the run's profile has no approvals")
	case same:
		d.again(before, call)
	case before != nil:
		d.Log.Warn("an agent asks about another call by the name of an earlier question; it is refused", "run", d.Run, "approval", before.Number)
		d.refuse(l.Ask, call, "its name is that of an earlier question about another call")
	default:
		d.consider(l.Ask, call, now)
	}
}

// find is the question of a name, nil where there is none.
func (d *Desk) find(ask string) *journal.Asked {
	i := slices.IndexFunc(d.all, func(a journal.Asked) bool { return a.Ask == ask })
	if i < 0 {
		return nil
	}
	return &d.all[i]
}

// again takes a question that was read before.
func (d *Desk) again(before *journal.Asked, call approval.Call) {
	if before.Outcome == "" {
		d.calls[before.Number] = call
		return
	}
	delete(d.sent, before.Number)
	before.Taken = false // what asks again has no answer
	notify(d.ready)
}

// tooMany says why a question is one too many, or "".
func (d *Desk) tooMany(now time.Duration) string {
	pending := 0
	for i := range d.all {
		if d.all[i].Outcome == "" {
			pending++
		}
	}
	switch {
	case !d.meter.MayAsk(now):
		return "there were too many questions in a minute"
	case pending >= maxPending:
		return fmt.Sprintf("%d questions wait already", pending)
	case len(d.all) >= maxAsked+d.Policy.Rates.Calls:
		return "the run has asked too often"
	}
	return ""
}

// consider holds a question against the policy, and notes it.
func (d *Desk) consider(ask string, call approval.Call, now time.Duration) {
	if why := d.tooMany(now); why != "" {
		d.refuse(ask, call, why)
		return
	}
	a := approval.Approval{
		Number: len(d.all) + 1, Ask: ask, Tool: call.Tool, Binding: d.binding(), Asked: now, Expires: now + d.Policy.Expires,
	}
	a.Digest = call.Digest(a.Binding)
	a.Preview, a.Cut = call.Preview()
	if outcome, why := d.judge(call, now); outcome != "" {
		a.End(outcome, approval.ByPolicy, why, now)
	}
	crash.At("approval.asked")
	if err := d.Journal.Ask(d.Life, a); err != nil {
		d.Log.Error("the journal does not take a question; it is denied", "run", d.Run, "error", err)
		d.refuse(ask, call, "it cannot be written down")
		return
	}
	d.all = append(d.all, journal.Asked{Approval: a})
	d.Tell(d.askedEvent(a, call))
	if a.Outcome != "" {
		d.decided(a)
		return
	}
	d.calls[a.Number] = call
	notify(d.changed)
}

// judge is the policy's word, "" where others decide.
func (d *Desk) judge(call approval.Call, now time.Duration) (approval.Outcome, string) {
	policy := *d.Policy
	policy.Allow = slices.Concat(policy.Allow, d.rules)
	if d.revoked || now >= policy.TimeBox {
		policy.Allow = nil
	}
	switch policy.Judge(call) {
	case approval.Denied:
		return approval.Declined, "the policy denies it"
	case approval.Allowed:
		if why := d.meter.May(&policy, call, now); why != "" {
			return approval.Declined, why
		}
		return approval.Granted, ""
	}
	return "", ""
}

// refuse denies a question without a record of it.
func (d *Desk) refuse(ask string, call approval.Call, why string) {
	if len(d.denied) < maxDenied { // an adapter of ours does not ask so often without an answer
		bound := approval.Binding{Run: d.Run}
		d.denied = append(d.denied, agent.Decision{Ask: ask, Digest: call.Digest(bound), Run: d.Run, Why: why})
	}
	notify(d.ready)
}

// decided shows a decision that the journal has, and has it sent.
func (d *Desk) decided(a approval.Approval) {
	delete(d.calls, a.Number)
	d.all[a.Number-1].Preview = ""
	d.Tell(d.decidedEvent(a))
	notify(d.changed)
	notify(d.ready)
}

// taken notes that the agent has a decision. The journal is told once of each: a child may ask again, and take again, without end.
func (d *Desk) taken(l agent.Line) {
	d.forget(l.Ask)
	a := d.find(l.Ask)
	if a == nil || a.Outcome == "" || a.Taken {
		return
	}
	a.Taken = true
	if l.Failed {
		d.Log.Warn("an agent did not take a decision", "run", d.Run, "approval", a.Number)
	}
	if d.noted[a.Number] {
		return
	}
	if err := d.Journal.NoteTaken(d.Life, d.Run, a.Number); err != nil {
		d.Log.Warn("the journal does not take that an agent has a decision; the next watcher sends it again", "run", d.Run, "error", err)
		return
	}
	d.noted[a.Number] = true
}

// forget drops the denials of a question that have no record: the agent has them, or wants none any more.
func (d *Desk) forget(ask string) {
	var left []agent.Decision
	told := 0
	for i, denial := range d.denied {
		if denial.Ask == ask {
			continue
		}
		left = append(left, denial)
		if i < d.told {
			told++
		}
	}
	d.denied, d.told = left, told
}

// withdrawn ends a question that the agent has taken back.
func (d *Desk) withdrawn(l agent.Line) {
	d.forget(l.Ask)
	if a := d.find(l.Ask); a != nil && a.Outcome == "" {
		d.end(a, approval.Withdrawn, approval.ByAgent, "the agent has taken it back")
	}
}

// end ends a question that nobody will decide any more. Where the journal does not take it, it is tried again.
func (d *Desk) end(a *journal.Asked, outcome approval.Outcome, by approval.Decider, why string) {
	now, _ := d.now()
	ended := a.Approval
	if !ended.End(outcome, by, why, now) {
		return
	}
	if err := d.note(ended); err != nil {
		d.Log.Error("the journal does not take the end of a question", "run", d.Run, "error", err)
		return
	}
	a.Approval = ended
	d.decided(ended)
}

func (d *Desk) note(a approval.Approval) error {
	crash.At("approval.decided")
	return d.Journal.Decide(d.Life, a)
}

// Decide applies somebody's decision. It is in the journal when this returns.
func (d *Desk) Decide(by approval.Decision) error { return d.decide(by, nil) }

// DecideAlways grants a question, and approves calls like it from then on, for this run.
func (d *Desk) DecideAlways(by approval.Decision) error {
	d.mu.Lock()
	call, known := d.calls[by.Number]
	d.mu.Unlock()
	rule, able := call.Again()
	if !known || !able {
		return ErrNoAlways
	}
	return d.decide(by, &rule)
}

// ErrNoAlways says that there is nothing by which calls like one could be known.
var ErrNoAlways = errors.New("calls like it cannot be known: it names no command, file or address, or is too long")

func (d *Desk) decide(by approval.Decision, always *approval.Rule) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.Policy == nil || by.Number < 1 || by.Number > len(d.all) {
		return approval.ErrNone
	}
	if len(by.Why) > delegation.MaxWhy {
		by.Why = strings.ToValidUTF8(by.Why[:delegation.MaxWhy], "")
	}
	a := &d.all[by.Number-1]
	now, _ := d.now()
	decided := a.Approval
	if err := decided.Decide(by, d.Policy, d.binding(), now); err != nil {
		return err
	}
	if err := d.note(decided); err != nil {
		return err
	}
	a.Approval = decided
	d.decided(decided)
	if always == nil {
		return nil
	}
	return d.change(journal.ApprovalChange{Rule: always, Why: "always, by the " + string(by.By)})
}

// Was says whether a decision is in the journal already.
func (d *Desk) Was(by approval.Decision) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return by.Number >= 1 && by.Number <= len(d.all) && d.all[by.Number-1].Is(by)
}

// Revoke ends all approvals without a question, for this run, and denies what waits. It says how many questions did.
func (d *Desk) Revoke(why string) (pending int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.Policy == nil {
		return 0, approval.ErrNone
	}
	for i := range d.all {
		if d.all[i].Outcome == "" {
			pending++
		}
	}
	if d.revoked {
		return pending, nil
	}
	if err := d.change(journal.ApprovalChange{Why: why}); err != nil {
		return 0, err
	}
	d.endOthers()
	return pending, nil
}

// change changes what the run may do.
func (d *Desk) change(c journal.ApprovalChange) error {
	crash.At("approval.changed")
	if err := d.Journal.ChangeApprovals(d.Life, d.Run, d.changes+1, c); err != nil {
		return err
	}
	d.changes++
	d.apply(c)
	return nil
}

func (d *Desk) apply(c journal.ApprovalChange) {
	if c.Rule != nil {
		d.rules = append(d.rules, *c.Rule)
		return
	}
	d.rules, d.revoked = nil, true
}
