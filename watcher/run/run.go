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

// Request is what a run is made from: a request that was admitted.
type Request struct {
	Key      sandbox.RunKey // of this attempt
	Outbox   string         // what people call the outbox
	Spec     sandbox.Spec   // as the policy has it
	Warnings []string
	Launcher string    // the name of the profile's launcher
	Chosen   string    // why it is that one, where the watcher chose
	Seen     time.Time // when the file was noticed
	Bytes    int64     // what it holds in memory while it waits
	Descent  journal.Descent
	Made     bool // its client made its workspace
}

// Client is the one that asked for a run, as far as its outbox reaches it.
type Client interface {
	Check() delegation.Reason // why the run should end as far as the client's files tell; "" where it may go on
	Record(key sandbox.RunKey, warnings []string) journal.Run
	Tell(delegation.RunStatus)                 // shows where the run stands, soon
	Answer(ended journal.Run) error            // publishes the response, and tries again where it cannot be written
	DiscardCancels()                           // removes the sentinels of a run that has ended
	Live() *output.Live                        // where live output goes
	CompleteLive(p output.Progress) bool       // publishes what an earlier watcher had noted and not published; false where that is lost
	KeepLive(first, last int, ended time.Time) // leaves the live output of an ended run to the client
	// ReadInput reads what the parent has said to the agent, by its number. It is false where that is not there, or not whole.
	ReadInput(n int) (in delegation.Input, refusal *delegation.Refusal, there bool)
	Crowded(why error)            // tells that there is too little room where the run works
	InspectTurn() *workspace.Turn // the turn of the outbox's runs to have looked at what they have left
}

// Run is one admitted request on its way, as every goroutine may see it. The fields above the line are set once, at admission; below
// it each has its owner.
type Run struct {
	runs     *Runs
	request  Request
	client   Client
	key      sandbox.RunKey
	hash     string
	spec     sandbox.Spec // what its sandbox is made from, or was; where an earlier watcher has released it, its Terms
	live     *output.Live
	admitted time.Time // when the journal had it
	number   int64     // in the order of admission
	log      *slog.Logger

	ending context.Context // done when the run must end; its cause says why
	stop   context.CancelCauseFunc
	hurry  chan struct{} // closed when the ladder should skip to the end
	rush   sync.Once
	over   chan struct{} // closed when the last process is gone and the run is answered

	ticket schedule.Ticket // its place in the schedule

	standing standing
	telling  sync.Mutex // orders what is shown of it
	inputs   *inputs
	desk     *approvals.Desk // of the agent's questions

	abandoned chan struct{} // closed when the operator gives a stranded run up
	giveUp    sync.Once

	tooMuch atomic.Pointer[delegation.Refusal] // why it is ended because of its workspace

	runner *runner // only for the goroutine that carries the run
}

// Launch takes the run on its way.
func (r *Run) Launch() { r.runs.carried.Go(r.runner.runToEnd) }

// Dismiss ends the run before it left the queue.
func (r *Run) Dismiss(reason delegation.Reason) { r.runs.dismiss(r.runner, verdict{reason: reason}) }

// Stop has the run end wherever it is: in the queue at once, and with its sandbox otherwise. The first cause wins.
func (r *Run) Stop(ctx context.Context, reason delegation.Reason) {
	r.runs.Schedule.Stop(ctx, &r.ticket, reason)
}

// End asks the run to end. The first cause wins; it is safe to call at any time and from anywhere.
func (r *Run) End(reason delegation.Reason) {
	r.stop(endCause(reason))
	r.runs.kin.look(r.hash)
}

// EndNow asks the run to end without waiting for the agent's manners.
func (r *Run) EndNow(reason delegation.Reason) {
	r.End(reason)
	r.rush.Do(func() { close(r.hurry) })
}

// EndOver ends the run because of what is in its workspace.
func (r *Run) EndOver(why *delegation.Refusal) {
	r.tooMuch.CompareAndSwap(nil, why)
	r.log.Warn("a run is ended because of its workspace", "run", r.hash, "because", why.Text)
	r.End(delegation.ReasonWorkspaceLimit)
}

// Cause is why the run must end, or "" when it may go on.
func (r *Run) Cause() delegation.Reason {
	var reason endCause
	if errors.As(context.Cause(r.ending), &reason) {
		return delegation.Reason(reason)
	}
	return ""
}

// Client is the one that asked for the run.
func (r *Run) Client() Client { return r.client }

// Key is the run's key, by which the journal knows it.
func (r *Run) Key() string { return r.hash }

// Ending is done when the run must end, or has ended.
func (r *Run) Ending() <-chan struct{} { return r.ending.Done() }

// IsEnding says whether the run must end.
func (r *Run) IsEnding() bool { return r.ending.Err() != nil }

// Over is closed when the last process is gone and the run is answered.
func (r *Run) Over() <-chan struct{} { return r.over }

// Holds says whether the run holds its workspace.
func (r *Run) Holds() bool { return r.runs.claims.held(r) != nil }

// Crowded tells the run's client that there is too little room.
func (r *Run) Crowded(why error) { r.client.Crowded(why) }

// endCause carries a reason through a context.
type endCause delegation.Reason

func (e endCause) Error() string { return string(e) }
