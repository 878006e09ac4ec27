package run

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"torno/delegation"
	"torno/internal/journal"
	"torno/sandbox"
	"torno/watcher/approvals"
	"torno/watcher/output"
	"torno/watcher/schedule"
	"torno/watcher/workspace"
)

// Request is an admitted request. A run is made from it.
type Request struct {
	Key      sandbox.RunKey // of this attempt
	Outbox   string         // the outbox's name for people
	Spec     sandbox.Spec   // according to the policy
	Warnings []string
	Launcher string    // the name of the profile's launcher
	Chosen   string    // why the watcher chose this launcher; "" if the operator chose it
	Seen     time.Time // when the request's file was noticed
	Bytes    int64     // memory that the run takes while it waits
	Descent  journal.Descent
	Made     bool // the client made the workspace
}

// Client reaches the requester of a run, through the requester's outbox.
type Client interface {
	Check() delegation.Reason // why the client's files say that the run should end; "" if it may go on
	Record(key sandbox.RunKey, warnings []string) journal.Run
	Tell(delegation.RunStatus)                 // shows the client soon where the run stands
	Answer(ended journal.Run) error            // publishes the response, and tries again if it cannot be written
	DiscardCancels()                           // removes the sentinels of a run that has ended
	Live() *output.Live                        // where live output goes
	CompleteLive(p output.Progress) bool       // publishes the segment that an earlier watcher noted but did not publish; false if it is lost
	KeepLive(first, last int, ended time.Time) // leaves the live output of an ended run to the client
	// ReadInput reads the parent's input number n for the agent. there is false if the file is missing or not yet
	// complete. If such a file costs much work, ReadInput rests before it returns.
	ReadInput(ctx context.Context, n int) (in delegation.Input, refusal *delegation.Refusal, there bool)
	Crowded(why error)            // tells the client that the disk of the run has too little room
	InspectTurn() *workspace.Turn // the outbox's turn: its runs have their workspaces inspected one after the other
}

// Run is one admitted request on its way, as every goroutine may see it. The first block of fields is set once, at
// admission; each later field has its own owner.
type Run struct {
	runs     *Runs
	request  Request
	client   Client
	key      sandbox.RunKey
	hash     string
	spec     sandbox.Spec // the sandbox is made from it; only its Terms if an earlier watcher released the run
	live     *output.Live
	admitted time.Time // when the journal had the request
	number   int64     // in the order of admission
	log      *slog.Logger

	ending context.Context // done when the run must end; its cause says why
	stop   context.CancelCauseFunc
	asked  atomic.Pointer[delegation.Reason] // see EndAsked
	hurry  chan struct{}                     // closed to make the ladder skip to its last rung
	rush   sync.Once
	over   chan struct{} // closed when this watcher is done with the run, see Over

	ticket schedule.Ticket // its place in the schedule

	standing standing
	telling  sync.Mutex // keeps the views of the run in the order of its changes
	inputs   *inputs
	desk     *approvals.Desk // for the agent's questions

	abandoned chan struct{} // closed when the operator gives a stranded run up
	giveUp    sync.Once

	tooMuch atomic.Pointer[delegation.Refusal] // why the run is ended because of its workspace

	runner *runner // only for the goroutine that carries the run
}

// Launch starts the goroutine that carries the run to its end.
func (r *Run) Launch() { r.runs.carried.Go(r.runner.runToEnd) }

// Dismiss ends a run that has not left the queue.
func (r *Run) Dismiss(reason delegation.Reason) { r.runs.dismiss(r.runner, verdict{reason: reason}) }

// Stop ends the run wherever it is: at once if it waits in the queue, otherwise together with its sandbox. The first
// cause wins.
func (r *Run) Stop(ctx context.Context, reason delegation.Reason) {
	r.runs.Schedule.Stop(ctx, &r.ticket, reason)
}

// End asks the run to end. The first cause wins. End is safe to call at any time and from anywhere.
func (r *Run) End(reason delegation.Reason) {
	r.asked.CompareAndSwap(nil, &reason)
	r.stop(endCause(reason))
	r.runs.families.look(r.hash)
}

// EndNow asks the run to end without giving the agent time to end by itself.
func (r *Run) EndNow(reason delegation.Reason) {
	r.End(reason)
	r.rush.Do(func() { close(r.hurry) })
}

// EndOver ends the run because of the content of its workspace.
func (r *Run) EndOver(why *delegation.Refusal) {
	r.tooMuch.CompareAndSwap(nil, why)
	r.log.Warn("a run is ended because of its workspace", "run", r.hash, "because", why.Text)
	r.End(delegation.ReasonWorkspaceLimit)
}

// Cause returns why the run must end, or "" if it may go on.
func (r *Run) Cause() delegation.Reason {
	var reason endCause
	if errors.As(context.Cause(r.ending), &reason) {
		return delegation.Reason(reason)
	}
	return ""
}

// EndAsked returns the first reason for which the run was asked to end, or "". Cause ignores a reason that comes after the
// agent's end. EndAsked returns it too, because a run that somebody has ended must not be attempted again.
func (r *Run) EndAsked() delegation.Reason {
	if asked := r.asked.Load(); asked != nil {
		return *asked
	}
	return ""
}

// Client returns the run's client.
func (r *Run) Client() Client { return r.client }

// Key returns the run's key in the journal.
func (r *Run) Key() string { return r.hash }

// Ending returns a channel that is closed when the run must end or has ended.
func (r *Run) Ending() <-chan struct{} { return r.ending.Done() }

// IsEnding reports whether the run must end or has ended.
func (r *Run) IsEnding() bool { return r.ending.Err() != nil }

// Over returns a channel that is closed when this watcher is done with the run: the run is answered, attempted again,
// or left to the next watcher.
func (r *Run) Over() <-chan struct{} { return r.over }

// Holds reports whether the run holds its workspace.
func (r *Run) Holds() bool { return r.runs.claims.held(r) != nil }

// Crowded tells the run's client that there is too little room.
func (r *Run) Crowded(why error) { r.client.Crowded(why) }

// endCause carries a reason through a context.
type endCause delegation.Reason

func (e endCause) Error() string { return string(e) }
