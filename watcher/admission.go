package watcher

import (
	"sync/atomic"
	"time"

	"torno/delegation"
	"torno/internal/crash"
	"torno/internal/journal"
	"torno/sandbox"
	"torno/watcher/output"
	"torno/watcher/workspace"
)

// admission is a request that was admitted: what its runs are made from, and their way back to the client. A lost run and the next
// attempt are of one admission.
type admission struct {
	key      sandbox.RunKey // of the first attempt
	outbox   string         // what people call the outbox
	file     string         // the request's name in the outbox
	spec     sandbox.Spec
	warnings []string
	launcher string    // the name of the profile's launcher
	chosen   string    // why it is that one, where the watcher chose
	seen     time.Time // when the file was noticed
	bytes    int64     // what it holds in memory while it waits

	box  *outbox
	read atomic.Pointer[delegation.Reading] // the request; another reading where the client wrote the same request again
}

func (o *outbox) admission(key sandbox.RunKey, in intake, spec sandbox.Spec, warnings []string) *admission {
	profile, _ := o.settings.Policy.Profile(spec.Profile)
	a := &admission{
		key: key, outbox: o.name, file: in.name, spec: spec, warnings: warnings, launcher: profile.Sandbox, chosen: profile.Chosen,
		seen: in.seen, bytes: int64(len(in.data)) * 2, box: o,
	}
	a.read.Store(&in.read)
	return a
}

// Record is a run as the journal first sees it.
func (a *admission) Record(key sandbox.RunKey, warnings []string) journal.Run {
	read := *a.read.Load()
	return journal.Run{
		Key: key.Hash(), Outbox: key.Outbox, Subagent: key.Subagent, Request: key.Request, Attempt: key.Attempt,
		FileName: a.file, Stamp: read.Stamp, Content: read.Content, Firm: read.Firm, State: delegation.StateQueued, Profile: a.spec.Profile, Launcher: a.launcher,
		SpecDigest: a.spec.Digest(), Workspace: a.spec.WorkspaceMount().Target, Warnings: warnings, Created: a.seen,
	}
}

// Check says why the run should end as far as its files tell: its client took the request away, or a sentinel is there. A request
// is only missed in a directory that is at its path: one that was removed, or whose file system is gone, misses all of them. A sentinel
// that was there before the request was removed when the host first saw that; so one that is there speaks of this run,
// whatever times the files have. Whether another file is another request, only its reader can tell.
func (a *admission) Check() delegation.Reason {
	if a.box.misses(a.file) {
		return delegation.ReasonClientGone
	}
	named := a.box.sentinel(delegation.CancelRequestName(a.key.Subagent, a.key.Request))
	if !named && !a.box.sentinel(delegation.CancelName(a.key.Subagent)) {
		return ""
	}
	if !a.isThere() {
		return "" // the next look will tell
	}
	return delegation.ReasonCancelled
}

// isThere says whether the request is still the one under its name, where that can be told.
func (a *admission) isThere() bool {
	there, err := a.box.stillThere(a.file, *a.read.Load())
	return err == nil && there
}

// Spend removes the sentinels of a run that has ended, and none that a client has written for the next request.
func (a *admission) Spend() {
	a.box.discard(delegation.CancelRequestName(a.key.Subagent, a.key.Request))
	if a.isThere() {
		a.box.discard(delegation.CancelName(a.key.Subagent))
	}
}

// Tell shows the client where the run stands, soon.
func (a *admission) Tell(status delegation.RunStatus) { a.box.board.set(a, status) }

// Answer publishes the response of a run that has ended. One that cannot be written is tried again.
func (a *admission) Answer(record journal.Run) error {
	err := a.box.respond(a.file, delegation.ResponseName(a.key.Subagent), *a.read.Load(), responseOf(record))
	if err != nil {
		a.box.stumble("write a response", err)
		a.box.owe(a.file)
	}
	return err
}

// Live is where the run's live output goes.
func (a *admission) Live() *output.Live { return a.box.newSegments(a.key) }

// HasLive says whether live output was published up to a segment.
func (a *admission) HasLive(seq int) bool { return a.box.hasSegment(a.key)(seq) }

// KeepLive leaves the live output of an ended run to its client.
func (a *admission) KeepLive(first, last int, ended time.Time) {
	a.box.trails.keep(trail{id: a.key.Subagent, request: a.key.Request, first: first, last: last, ended: ended})
}

// Crowded tells the client that there is too little room where its runs work.
func (a *admission) Crowded(why error) { a.box.room.Raise(delegation.NoticeDisk, why) }

// Rest is the turn of the outbox's runs to have looked at what they have left.
func (a *admission) Rest() *workspace.Turn { return a.box.rest }

// write publishes a status, unless the request is gone or another one is in its place.
func (a *admission) write(status delegation.RunStatus) {
	data, err := status.Encode()
	if err != nil {
		a.box.log.Error("a status cannot be encoded", "subagent", a.key.Subagent, "error", err)
		return
	}
	a.box.publishing.Lock()
	defer a.box.publishing.Unlock()
	if !a.isThere() {
		return
	}
	crash.At("outbox.status")
	if err := a.box.publish(delegation.StatusName(a.key.Subagent), data); err != nil {
		a.box.stumble("write a status", err)
	}
}
