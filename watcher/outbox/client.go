package outbox

import (
	"sync/atomic"
	"time"

	"torno/delegation"
	"torno/internal/crash"
	"torno/internal/journal"
	"torno/sandbox"
	"torno/watcher/output"
	"torno/watcher/run"
	"torno/watcher/workspace"
)

// Admission is a request that was admitted: what its runs are made from, and their way back to the client. A lost run and the next
// attempt are of one admission.
type Admission struct {
	run.Request // of the first attempt

	file string // the request's name in the outbox
	box  *Outbox
	read atomic.Pointer[delegation.Reading] // the request; another reading where the client wrote the same request again
}

// runBytes is what a run holds while it waits, beside its request: 11 to 16 KB of heap were measured with two thousand of them.
const runBytes = 12 << 10

// HeldBy returns how much memory a run with this request holds while it waits. The task is in it twice: in the request, and among the arguments of
// the agent.
func HeldBy(request []byte) int64 { return runBytes + 2*int64(len(request)) }

// Admission makes the admission of a compiled request.
func (o *Outbox) Admission(key sandbox.RunKey, in Intake, spec sandbox.Spec, warnings []string) *Admission {
	profile, _ := o.Settings.Policy.Profile(spec.Profile)
	a := &Admission{file: in.name, box: o, Request: run.Request{
		Key: key, Outbox: o.Name, Spec: spec, Warnings: warnings, Launcher: profile.Sandbox, Chosen: profile.Chosen,
		Seen: in.seen, Bytes: HeldBy(in.data), Descent: in.descent, Made: in.made,
	}}
	a.read.Store(&in.read)
	return a
}

// Reading is what was read of the request last.
func (a *Admission) Reading() delegation.Reading { return *a.read.Load() }

// Record is a run as the journal first sees it.
func (a *Admission) Record(key sandbox.RunKey, warnings []string) journal.Run {
	read := a.Reading()
	return journal.Run{
		Key: key.Hash(), Outbox: key.Outbox, Subagent: key.Subagent, Request: key.Request, Attempt: key.Attempt,
		FileName: a.file, Stamp: read.Stamp, Content: read.Content, Firm: read.Firm, State: delegation.StateQueued, Profile: a.Spec.Profile, Launcher: a.Launcher,
		SpecDigest: a.Spec.Digest(), Workspace: a.Spec.WorkspaceMount().Target, Warnings: warnings, Created: a.Seen, Descent: a.Descent,
	}
}

// Check says why the run should end as far as its files tell: its client took the request away, or a sentinel is there. A missing
// request counts only while the held directory is still at its path: a directory that was removed, or whose file system is gone, misses all of
// them. A sentinel that was there before the request was removed when the host first saw that; so a sentinel that is there speaks of this run,
// whatever times the files have. It does not compare contents; Watch does, when it reads the file.
func (a *Admission) Check() delegation.Reason {
	if a.box.misses(a.file) {
		return delegation.ReasonClientGone
	}
	named := a.box.hasCancel(delegation.CancelRequestName(a.Key.Subagent, a.Key.Request))
	if !named && !a.box.hasCancel(delegation.CancelName(a.Key.Subagent)) {
		return ""
	}
	if !a.isThere() {
		return "" // the next look will tell
	}
	return delegation.ReasonCancelled
}

// isThere says whether the request is still the one under its name, where that can be told.
func (a *Admission) isThere() bool {
	there, err := a.box.StillThere(a.file, a.Reading())
	return err == nil && there
}

// DiscardCancels removes the sentinels of a run that has ended, and none that a client has written for the next request.
func (a *Admission) DiscardCancels() {
	a.box.discard(delegation.CancelRequestName(a.Key.Subagent, a.Key.Request))
	if a.isThere() {
		a.box.discard(delegation.CancelName(a.Key.Subagent))
	}
}

// Tell shows the client where the run stands, soon.
func (a *Admission) Tell(status delegation.RunStatus) { a.box.board.set(a, status) }

// Answer publishes the response of a run that has ended. A response that cannot be written is tried again.
func (a *Admission) Answer(record journal.Run) error {
	err := a.box.Respond(a.file, delegation.ResponseName(a.Key.Subagent), a.Reading(), ResponseOf(record))
	if err != nil {
		a.box.Stumble("write a response", err)
		a.box.owe(a.file)
	}
	return err
}

// Live is where the run's live output goes.
func (a *Admission) Live() *output.Live { return a.box.NewLive(a.Key) }

// CompleteLive publishes what an earlier watcher had noted of live output and not published. It is false where that is lost.
func (a *Admission) CompleteLive(p output.Progress) bool { return a.box.CompleteLive(a.Key, p) }

// KeepLive leaves the live output of an ended run to its client.
func (a *Admission) KeepLive(first, last int, ended time.Time) {
	a.box.trails.keep(trail{ID: a.Key.Subagent, request: a.Key.Request, first: first, last: last, ended: ended})
}

// Crowded tells the client that there is too little room where its runs work.
func (a *Admission) Crowded(why error) { a.box.room.Raise(delegation.NoticeDisk, why) }

// InspectTurn is the turn of the outbox's runs to have looked at what they have left.
func (a *Admission) InspectTurn() *workspace.Turn { return a.box.rest }

// write publishes a status, unless the request is gone or another one is in its place.
func (a *Admission) write(status delegation.RunStatus) {
	data, err := status.Encode()
	if err != nil {
		a.box.log.Error("a status cannot be encoded", "subagent", a.Key.Subagent, "error", err)
		return
	}
	a.box.publishing.Lock()
	defer a.box.publishing.Unlock()
	if !a.isThere() {
		return
	}
	crash.At("outbox.status")
	if err := a.box.publish(delegation.StatusName(a.Key.Subagent), data); err != nil {
		a.box.Stumble("write a status", err)
	}
}
