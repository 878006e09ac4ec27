// Package watcher is the host's side of the hatch. It connects the packages through which a request passes, takes over
// from an earlier watcher, and shuts down:
//
//	outbox (one goroutine each)        schedule (one goroutine)        run (one goroutine each)
//	───────────────────────────        ────────────────────────        ─────────────────────────────
//	notice, read, admit, refuse ─────► who goes next; conflicts ─────► workspace, create ► … ► conclude
//	superseded, sentinel, gone ──────► find the run, stop it ────────► the first cause wins
//	status, live output, answer ◄──────────────────────────────────── through the admission
//
// An outbox admits a request and submits it as a run; later it finds its runs again. A run knows neither the outbox nor
// the watcher. It knows only its client and its ports. Helper packages stand beside them: workspace (the directory of a
// run), output (the text that a child prints), notice (troubles that stop work, told to clients and operators), limit
// (shares of a core) and hang (calls that may never return).
//
// A run changes its state only through the journal, which guards each move.
//
// # What can fail
//
// Each package describes its own failures. Three concern the watcher as a whole:
//
// The watcher dies. The next watcher finds each unfinished run in the journal and each sandbox in the launcher's list,
// and goes on from there (recover.go). It adopts a sandbox that lives.
//
// An outbox is missing, or its path leads to another directory. Its runs stay as they are (unserved.go); an operator
// can end them.
//
// The watcher is told to stop. Waiting runs get their response at once. Running ones are drained or ended within a
// budget. The watcher then says which responses it owes (owed.go).
//
// The files named recover deal with the work that an earlier watcher left, the files named operator with an operator's
// requests: one file for each subject.
package watcher
