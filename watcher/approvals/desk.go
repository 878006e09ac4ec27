package approvals

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"torno/delegation"
	"torno/internal/agent"
	"torno/internal/approval"
	"torno/internal/journal"
)

// The bounds of one run's questions.
const (
	maxPending = 8       // that wait at once
	maxAsked   = 1000    // that the policy does not approve itself; those have a bound of their own
	maxBytes   = 1 << 20 // of the agent's words, of all questions together, in the journal
	maxDenied  = 16      // without a record, and not taken: as many as an adapter of ours holds
)

// Journal is what a desk needs of the journal.
type Journal interface {
	Ask(context.Context, approval.Approval) error
	Decide(ctx context.Context, a approval.Approval, always *journal.NumberedChange) error
	NoteTaken(ctx context.Context, run string, number int) error
	Approvals(ctx context.Context, run string) ([]journal.Asked, error)
	ApprovalChanges(ctx context.Context, run string) ([]journal.ApprovalChange, error)
	ChangeApprovals(ctx context.Context, run string, number int, c journal.ApprovalChange) error
}

// Ports are what a desk needs of its run.
type Ports struct {
	Run     string           // its key
	Policy  *approval.Policy // nil where its profile has none: then every question is denied
	Pause   time.Duration    // for how long its clock stands still at most; that is never the Policy's word, which may be a later one
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
	bytes   int                   // of the agent's words that the journal has of them
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
		d.bytes += wordsOf(a.Approval)
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

// wordsOf counts the agent's words in a record.
func wordsOf(a approval.Approval) int { return len(a.Ask) + len(a.Tool) + len(a.Preview) }

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
