package run

import (
	"torno/delegation"
	"torno/internal/retry"
	"torno/sandbox"
)

// isAlive reports whether a process of the run's sandbox may be alive.
func (r *runner) isAlive() bool { return r.handle.ID != "" && r.handle.State != sandbox.HandleExited }

// remove returns when no process of the run's sandbox is left. Either the sandbox is removed, or its launcher says that
// it has ended; then inBackground removes its remains after the run. A sandbox that may be alive is removed again and
// again, until it is gone or the watcher stops working. In the last case it carries the installation's id, and the next
// start finds it.
func (r *runner) remove() {
	if r.handle.ID == "" {
		return
	}
	held, away := r.runs.Notices.FlagOf(r.request.Outbox, r.key.Subagent), r.runs.Notices.Flag("")
	defer held.Close()
	defer away.Close()
	for try := 1; ; try++ {
		err := r.runs.Removals.remove(away, r.launcher, r.handle)
		if err == nil {
			r.handle = sandbox.Handle{}
			return
		}
		log := r.log.With("run", r.hash, "sandbox", r.handle.ID, "try", try, "error", err)
		if r.runs.Life.Err() != nil {
			log.Error("a sandbox is left; the next start removes it")
			return
		}
		if r.isAlive() && r.runs.Removals.hasEnded(away, r.launcher, r.handle) {
			r.handle.State = sandbox.HandleExited
		}
		if !r.isAlive() && r.runs.Removals.inBackground(r.launcher, r.handle) {
			log.Warn("a sandbox that has ended cannot be removed; its run goes on without it")
			r.handle = sandbox.Handle{}
			return
		}
		held.Raise(delegation.NoticeSandbox, err)
		if retry.IsLogged(try) {
			log.Warn("a sandbox cannot be removed; its run keeps its place")
		}
		r.runs.calls.pause(r.runs.Life, retry.Backoff(try))
	}
}
