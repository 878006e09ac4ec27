package watcher

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"torno/delegation"
	"torno/internal/journal"
	"torno/sandbox"
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
	bytes     int64  // what the spec holds in memory while it waits
	warnings  []string
	seen      time.Time // when the file was noticed
	admitted  time.Time // when the journal had it

	ending context.Context // done when the run must end; its cause says why
	stop   context.CancelCauseFunc
	hurry  chan struct{} // closed when the ladder should skip to the end
	rush   sync.Once
	over   chan struct{} // closed when the last process is gone and the run is answered

	// What follows is the scheduler's.
	place    place
	above    []sandbox.Directory // its workspace and what lies above it, when they were last looked at; set at admission
	anywhere bool                // nobody can tell where it works; set at admission
	claim    *claim              // nil when it stands in no line
	heir     *run                // its next attempt, which waits for it
	turn     int                 // in its outbox's queue
	rank     int                 // among those that are ready there; -1 when it is not
	queued   *list.Element

	released atomic.Bool // the journal says that its agent may run

	tooMuch atomic.Pointer[delegation.Refusal] // why it is ended because of its workspace

	holds atomic.Pointer[workspace] // what it works in, from before its sandbox is made until its last process is gone

	seenAs atomic.Pointer[delegation.Stamp] // the request's file; another one when the client wrote the same request again

	// What follows belongs to the goroutine that carries the run.
	state    delegation.State
	sandbox  sandbox.SandboxID // the one that is bound to the run
	handle   sandbox.Handle
	attested *sandbox.Attestation
	held     *workspace
	unheld   error // why there is none
	out      *output
	unseen   bool // the sandbox was out of sight, or had ended before anybody looked
	times    milestones
	release  release // once it is released
}

// milestones are when the phases of a run ended.
type milestones struct{ dequeued, created, started, ended time.Time }

// place is where the scheduler keeps a run.
type place int

const (
	nowhere place = iota // not yet, or not any more
	inQueue
	inSlot
	leaving // dead, and holding its slot and its workspace until the sandbox is removed
)

// held says whether the run has a slot.
func (p place) held() bool { return p == inSlot || p == leaving }

// end asks the run to end. The first cause wins; it is safe to call at any time and from anywhere.
func (r *run) end(reason delegation.Reason) { r.stop(endCause(reason)) }

// endNow asks the run to end without waiting for the agent's manners.
func (r *run) endNow(reason delegation.Reason) {
	r.end(reason)
	r.rush.Do(func() { close(r.hurry) })
}

// cause is why the run must end, or "" when nobody wants that.
func (r *run) cause() delegation.Reason {
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

// subject is what can have one run at a time.
type subject struct {
	outbox   string
	subagent delegation.SubagentID
}

func (r *run) subject() subject { return subject{r.key.Outbox, r.key.Subagent} }

// record is the run as the journal first sees it.
func (r *run) record() journal.Run {
	return journal.Run{
		Key: r.hash, Outbox: r.key.Outbox, Subagent: r.key.Subagent, Request: r.key.Request, Attempt: r.key.Attempt,
		FileName: r.file, Stamp: *r.seenAs.Load(), State: delegation.StateQueued, Profile: r.spec.Profile, Launcher: r.engine,
		SpecDigest: r.spec.Digest(), Workspace: r.spec.WorkspaceMount().Target, Warnings: r.warnings, Created: r.seen,
	}
}
