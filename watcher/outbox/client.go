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

// Admission is an admitted request. Runs are made from it and answer the client through it. A lost run and its next
// attempt share one admission.
type Admission struct {
	run.Request // for the first attempt

	file string // the request's name in the outbox
	box  *Outbox
	read atomic.Pointer[delegation.Reading] // the latest reading: a client may write the same request again
}

// runBytes is the memory of a waiting run without its request: with two thousand runs, 11 to 16 KB of heap each were
// measured.
const runBytes = 12 << 10

// HeldBy returns how much memory a waiting run with this request holds. The task is held twice: in the request, and
// among the arguments of the agent. A file of the host can be a hundred times as long as the configuration in the request.
func HeldBy(request []byte, spec sandbox.Spec) int64 {
	bytes := runBytes + 2*int64(len(request))
	for _, file := range spec.Files {
		bytes += int64(len(file.Content))
	}
	return bytes
}

// Admission returns the admission of a compiled request.
func (o *Outbox) Admission(key sandbox.RunKey, in Intake, spec sandbox.Spec, warnings []string) *Admission {
	profile, _ := o.Settings.Policy.Profile(spec.Profile)
	a := &Admission{file: in.name, box: o, Request: run.Request{
		Key: key, Outbox: o.Name, Spec: spec, Warnings: warnings, Launcher: profile.Sandbox, Chosen: profile.Chosen,
		Seen: in.seen, Bytes: HeldBy(in.data, spec), Descent: in.descent, Made: in.made,
	}}
	a.read.Store(&in.read)
	return a
}

// Reading returns the latest reading of the request.
func (a *Admission) Reading() delegation.Reading { return *a.read.Load() }

// Record returns a run's first record for the journal.
func (a *Admission) Record(key sandbox.RunKey, warnings []string) journal.Run {
	read := a.Reading()
	return journal.Run{
		Key: key.Hash(), Outbox: key.Outbox, Subagent: key.Subagent, Request: key.Request, Attempt: key.Attempt,
		FileName: a.file, Stamp: read.Stamp, Content: read.Content, Firm: read.Firm, State: delegation.StateQueued, Profile: a.Spec.Profile, Launcher: a.Launcher,
		SpecDigest: a.Spec.Digest(), Workspace: a.Spec.WorkspaceMount().Target, Warnings: warnings, Created: a.Seen, Descent: a.Descent,
	}
}

// Check returns the reason to end the run that its files give, or "". The reason is that the client took the request
// away, or that a sentinel is there. A missing request counts only while the held directory is still at its path: if
// the directory was removed, or its file system is gone, all requests seem to be missing. A sentinel that is there
// always belongs to this run, whatever the times of the files say, because older sentinels were removed when the host
// first saw the request. Check does not compare contents; Watch does that when it reads the file.
func (a *Admission) Check() delegation.Reason {
	if a.box.misses(a.file) {
		return delegation.ReasonClientGone
	}
	named := a.box.hasCancel(delegation.CancelRequestName(a.Key.Subagent, a.Key.Request))
	if !named && !a.box.hasCancel(delegation.CancelName(a.Key.Subagent)) {
		return ""
	}
	if !a.isThere() {
		return "" // the next look decides
	}
	return delegation.ReasonCancelled
}

// isThere reports whether the request is known to be still under its name. If that cannot be found out, it returns
// false.
func (a *Admission) isThere() bool {
	there, err := a.box.StillThere(a.file, a.Reading())
	return err == nil && there
}

// DiscardCancels removes the sentinels of an ended run, but not a sentinel that a client has written for the next
// request.
func (a *Admission) DiscardCancels() {
	a.box.discard(delegation.CancelRequestName(a.Key.Subagent, a.Key.Request))
	if a.isThere() {
		a.box.discard(delegation.CancelName(a.Key.Subagent))
	}
}

// Tell has the run's status shown to the client soon.
func (a *Admission) Tell(status delegation.RunStatus) { a.box.board.set(a, status) }

// Answer publishes the response of an ended run. If the response cannot be written, the watcher tries again later.
func (a *Admission) Answer(record journal.Run) error {
	err := a.box.Respond(a.file, delegation.ResponseName(a.Key.Subagent), a.Reading(), ResponseOf(record))
	if err != nil {
		a.box.Stumble("write a response", err)
		a.box.owe(a.file)
	}
	return err
}

// Live returns the writer of the run's live output.
func (a *Admission) Live() *output.Live { return a.box.NewLive(a.Key) }

// CompleteLive publishes the live output that an earlier watcher had noted but not published. It returns false if that
// output is lost.
func (a *Admission) CompleteLive(p output.Progress) bool { return a.box.CompleteLive(a.Key, p) }

// KeepLive leaves the live output of an ended run for its client.
func (a *Admission) KeepLive(first, last int, ended time.Time) {
	a.box.trails.keep(trail{ID: a.Key.Subagent, request: a.Key.Request, first: first, last: last, ended: ended})
}

// Crowded tells the client that too little space is left where its runs work.
func (a *Admission) Crowded(why error) { a.box.room.Raise(delegation.NoticeDisk, why) }

// InspectTurn returns the turn that the outbox's runs share: one at a time has its leftovers inspected.
func (a *Admission) InspectTurn() *workspace.Turn { return a.box.rest }

// write publishes a status, unless the request is gone or was replaced by another.
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
