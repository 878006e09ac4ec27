package approvals

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"torno/delegation"
	"torno/internal/agent"
	"torno/internal/approval"
	"torno/internal/journal"
)

// The bounds of one run's questions.
const (
	maxPending = 8       // questions that wait at once
	maxAsked   = 1000    // recorded questions; calls that the policy itself approves come on top, with a bound of their own
	maxBytes   = 1 << 20 // bytes of the agent's words in the journal, over all questions
	maxDenied  = 16      // denials without a record that the agent has not taken; our adapters hold as many questions
)

// Journal is the part of the journal that a desk needs.
type Journal interface {
	Ask(context.Context, approval.Approval) error
	Decide(ctx context.Context, a approval.Approval, always *journal.NumberedChange) error
	NoteTaken(ctx context.Context, run string, number int) error
	Approvals(ctx context.Context, run string) ([]journal.Asked, error)
	ApprovalChanges(ctx context.Context, run string) ([]journal.ApprovalChange, error)
	ChangeApprovals(ctx context.Context, run string, number int, c journal.ApprovalChange) error
}

// Ports connects a desk to its run.
type Ports struct {
	Run     string           // the run's key
	Policy  *approval.Policy // nil if the profile has none: then every question is denied
	Pause   time.Duration    // how long the run's clock may stand still at most; not taken from Policy, which may be newer
	Journal Journal
	Life    context.Context        // done when the watcher stops working
	Tell    func(delegation.Event) // adds an event to the live events
	Log     *slog.Logger
}

// Desk keeps the questions of one run.
type Desk struct {
	Ports
	changed chan struct{} // has a value when the questions that wait have changed
	ready   chan struct{} // has a value when an answer may be due
	waits   waits
	closed  atomic.Bool // it takes no more questions, see Shut

	mu      sync.Mutex                    // guards the fields below
	since   func() (time.Duration, bool)  // time since the run's release; false if it cannot be known; nil before the release
	clock   func(time.Duration) time.Time // the wall clock's time, for a time since the release
	all     []journal.Asked
	bytes   int                   // bytes of the agent's words in the journal
	calls   map[int]approval.Call // calls of the questions that wait, as far as this watcher has seen them
	meter   approval.Meter
	rules   []approval.Rule // rules that the operator has added
	changes int
	revoked bool
	late    int              // questions after the end
	denied  []agent.Decision // denials without a record, until the agent has them
	told    int              // how many of denied this attachment has sent
	sent    map[int]bool     // decisions that this attachment has sent
	noted   map[int]bool     // decisions that the journal has as taken
	unshown map[int]bool     // questions that no event has shown, until the agent repeats them
	untold  map[int]bool     // decisions of these
	// A child can cause these two warnings again and again, so each is logged once.
	toldOfOther, toldOfFailure bool
}

// New returns the desk of a run that has asked nothing yet.
func New(p Ports) *Desk {
	return &Desk{
		Ports: p, changed: make(chan struct{}, 1), ready: make(chan struct{}, 1), calls: make(map[int]approval.Call), sent: make(map[int]bool),
		noted: make(map[int]bool), unshown: make(map[int]bool), untold: make(map[int]bool),
	}
}

// Begin tells the desk when the run was released: by a clock that nobody sets, and by the wall clock.
func (d *Desk) Begin(since func() (time.Duration, bool), clock func(time.Duration) time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.since, d.clock = since, clock
	d.waits.begin(since)
}

// now returns the time since the release.
func (d *Desk) now() (time.Duration, bool) {
	if d.since == nil {
		return 0, false
	}
	return d.since()
}

// Shown says which questions and decisions an earlier watcher has shown as events.
type Shown struct {
	Asked   int // up to this number
	Decided int // the first ones, in the order in which they were made
}

// Load takes up an earlier watcher's notes from the journal, and tells the events that were not shown. An event has the
// whole call, so that of a question waits until the agent repeats it, unless the journal has all of it.
func (d *Desk) Load(ctx context.Context, shown Shown) error {
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
		d.waits.note(a.Approval)
		d.noted[a.Number] = a.Taken
		d.bytes += wordsOf(a.Approval)
		if a.Outcome == "" && !a.Cut { // all of its arguments are there
			d.calls[a.Number] = approval.Call{Tool: a.Tool, Arguments: []byte(a.Preview)}
		}
		if a.By == approval.ByPolicy && a.Outcome == approval.Granted {
			approved++
		}
	}
	d.meter.Count(approved)
	d.tellUnshown(shown)
	d.endOthers()
	notify(d.changed)
	notify(d.ready)
	return nil
}

// tellUnshown tells the events of what an earlier watcher noted and did not show.
func (d *Desk) tellUnshown(shown Shown) {
	var decided []approval.Approval
	for i := range d.all {
		a := d.all[i].Approval
		if a.Outcome != "" {
			decided = append(decided, a)
		}
		call, whole := d.calls[a.Number]
		switch {
		case a.Number <= shown.Asked:
		case whole:
			d.Tell(d.askedEvent(a, call))
		default:
			d.unshown[a.Number] = true
		}
	}
	slices.SortStableFunc(decided, func(a, b approval.Approval) int { return cmp.Compare(a.Decided, b.Decided) })
	for _, a := range decided[min(shown.Decided, len(decided)):] {
		if d.unshown[a.Number] {
			d.untold[a.Number] = true
		} else {
			d.Tell(d.decidedEvent(a))
		}
	}
}

// wordsOf counts the bytes of the agent's words in a record.
func wordsOf(a approval.Approval) int { return len(a.Ask) + len(a.Tool) + len(a.Preview) }

// endOthers denies the questions that were asked while the run had other permissions, because a grant would mean
// something else now. The agent may ask again.
func (d *Desk) endOthers() {
	bound := d.binding()
	d.endWaiting(func(a *journal.Asked) bool { return a.Binding != bound })
}

// endWaiting denies those questions that wait and of which ends is true.
func (d *Desk) endWaiting(ends func(*journal.Asked) bool) {
	for i := range d.all {
		if d.all[i].Outcome == "" && ends(&d.all[i]) {
			d.end(&d.all[i], approval.Declined, approval.ByChange, "the run's permissions changed; the agent can ask again")
		}
	}
}

// Changed returns a channel that has a value when the questions that wait have changed.
func (d *Desk) Changed() <-chan struct{} { return d.changed }

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// binding returns what binds a new question: the run and the version of its policy.
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
