package watcher

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"torno/delegation"
	"torno/internal/journal"
	"torno/sandbox"
	"torno/watcher/schedule"
)

// run is one admitted request on its way. The fields above the line are set once, at admission; below it each has its
// owner.
type run struct {
	key       sandbox.RunKey
	hash      string
	box       *outbox
	file      string // the request's name in the outbox
	spec      sandbox.Spec
	launcher  sandbox.Launcher
	engine    string // the launcher's name
	workspace string // where it is on the host
	warnings  []string
	seen      time.Time // when the file was noticed
	admitted  time.Time // when the journal had it
	number    int64     // in the order of admission

	ending context.Context // done when the run must end; its cause says why
	stop   context.CancelCauseFunc
	hurry  chan struct{} // closed when the ladder should skip to the end
	rush   sync.Once
	over   chan struct{} // closed when the last process is gone and the run is answered

	ticket schedule.Ticket // its place in the schedule

	// What follows is guarded by the watcher's lock.
	claimed bool // its workspace is its own
	losesTo *run // which has claimed a workspace that holds this one's or lies in it

	stranded  atomic.Pointer[string] // why its sandbox's engine cannot be reached; nil while it can be
	abandoned chan struct{}          // closed when the operator gives a stranded run up
	giveUp    sync.Once

	released atomic.Bool // the journal says that its agent may run

	tooMuch atomic.Pointer[delegation.Refusal] // why it is ended because of its workspace

	holds atomic.Pointer[workspace] // what it works in, from before its sandbox is made until its last process is gone

	seenAs atomic.Pointer[delegation.Reading] // the request; another reading when the client wrote the same request again

	// What follows belongs to the goroutine that carries the run.
	state    delegation.State
	sandbox  sandbox.SandboxID // the one that is bound to the run
	handle   sandbox.Handle
	attested *sandbox.Attestation
	held     *workspace
	unheld   error // why there is none
	out      *output
	// releasing: the journal was asked to note the release, so what is in the sandbox may be an agent.
	releasing bool
	dead      bool // the sandbox's last process is gone
	final     bool // it is given up, and not attempted again
	unseen    bool // the sandbox was out of sight, or had ended before anybody looked
	times     milestones
	release   release // once it is released
}

// milestones are when the phases of a run ended.
type milestones struct{ dequeued, created, started, ended time.Time }

// Launch takes the run on its road.
func (r *run) Launch() { r.box.w.runs.Go(func() { r.box.w.live(r) }) }

// Dismiss ends the run before it left the queue.
func (r *run) Dismiss(reason delegation.Reason) { r.box.w.dismiss(r, verdict{reason: reason}) }

// Show tells the client where the run stands in the queue.
func (r *run) Show(position int) { r.box.board.set(r, r.status(position, "")) }

// End asks the run to end. The first cause wins; it is safe to call at any time and from anywhere.
func (r *run) End(reason delegation.Reason) { r.stop(endCause(reason)) }

// endNow asks the run to end without waiting for the agent's manners.
func (r *run) endNow(reason delegation.Reason) {
	r.End(reason)
	r.rush.Do(func() { close(r.hurry) })
}

// Cause is why the run must end, or "" when nobody wants that.
func (r *run) Cause() delegation.Reason {
	var reason endCause
	if errors.As(context.Cause(r.ending), &reason) {
		return delegation.Reason(reason)
	}
	return ""
}

// endCause carries a reason through a context.
type endCause delegation.Reason

func (e endCause) Error() string { return string(e) }

// verdict is how a run ended, before it is written down.
type verdict struct {
	reason  delegation.Reason
	exit    sandbox.Exit
	refusal *delegation.Refusal // for refused, launch_failed and lost
}

// record is the run as the journal first sees it.
func (r *run) record() journal.Run {
	read := *r.seenAs.Load()
	return journal.Run{
		Key: r.hash, Outbox: r.key.Outbox, Subagent: r.key.Subagent, Request: r.key.Request, Attempt: r.key.Attempt,
		FileName: r.file, Stamp: read.Stamp, Content: read.Content, Firm: read.Firm, State: delegation.StateQueued, Profile: r.spec.Profile, Launcher: r.engine,
		SpecDigest: r.spec.Digest(), Workspace: r.spec.WorkspaceMount().Target, Warnings: r.warnings, Created: r.seen,
	}
}
