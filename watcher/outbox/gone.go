package outbox

import (
	"errors"
	"io/fs"
	"time"

	"torno/delegation"
	"torno/watcher/run"
)

// newest returns the newest run of a subagent, or nil if that run is over.
func (o *Outbox) newest(rawID string) *run.Run {
	id, err := delegation.ParseSubagentID(rawID)
	if err != nil {
		return nil
	}
	return o.Runs.Newest(o.Life, o.ID, id)
}

// isRunning reports whether a subagent has a run that is not over.
func (o *Outbox) isRunning(rawID string) bool { return o.newest(rawID) != nil }

// requestGone ends the run whose request was taken away, and clears up after it. It does not clear up at once: the
// client may be about to remove the response itself, and would stumble if it were gone. While the directory is not at
// its path, no request counts as gone.
func (o *Outbox) requestGone(rawID string, waited bool) time.Duration {
	if o.Dir.Alive() != nil {
		return 0
	}
	if r := o.newest(rawID); r != nil {
		r.Stop(o.Life, delegation.ReasonClientGone)
		return clearAfter
	}
	if !waited {
		return clearAfter
	}
	o.clearUp(rawID)
	return 0
}

// clearUp removes the files of a subagent's earlier runs from the outbox, unless a request is there.
func (o *Outbox) clearUp(rawID string) {
	o.publishing.Lock()
	defer o.publishing.Unlock()
	if _, err := o.Dir.Stat("request_" + rawID + ".json"); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	if name, ok := delegation.ResponseNameFor(rawID); ok {
		o.discard(name)
	}
	if delegation.IsSentinel(rawID) {
		o.discard(delegation.RawCancelName(rawID))
	}
	id, err := delegation.ParseSubagentID(rawID)
	if err != nil {
		return
	}
	o.discard(delegation.StatusName(id))
	o.trails.drop(id, delegation.RequestID{})
}

// clearStale removes the files of earlier requests with this id, before this request's run could be taken for theirs.
// Live output of the same request stays: an earlier watcher published it, and the run continues it.
func (o *Outbox) clearStale(id delegation.SubagentID, request delegation.RequestID) {
	o.publishing.Lock()
	defer o.publishing.Unlock()
	o.discard(delegation.ResponseName(id))
	o.trails.drop(id, request)
}
