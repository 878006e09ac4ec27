// Package watcher is the host's side of the hatch. It wires the rooms of a request's way, recovers what an earlier watcher left, and
// shuts down; the way itself lies in the packages below it:
//
//	outbox (one goroutine each)        schedule (one goroutine)        run (one goroutine each)
//	───────────────────────────        ────────────────────────        ─────────────────────────────
//	notice, read, admit, refuse ─────► who goes next; conflicts ─────► workspace, create ► … ► conclude
//	superseded, sentinel, gone ──────► find the run, stop it ────────► the first cause wins
//	status, live output, answer ◄──────────────────────────────────── through the admission
//
// An outbox hands admissions to a carrier, which is dispatch here, and finds them there again. A run knows neither outbox nor watcher,
// but its ports. Beside them stand workspace (the directory in which a run works), output (what a child prints), notice (what holds work
// up, told to clients and operators), limit (shares of a core) and hang (calls that may never return).
//
// State moves only through the journal, which guards each move.
//
// # What can fail
//
// Each of the packages says what can fail in it. The watcher dies: the next one finds each unfinished run in the journal and each sandbox
// in the launcher's list, and takes the same road from there (recover.go). A sandbox that lives is adopted. An outbox is not there, or
// another directory is in its place: its runs stay as they are (unserved.go), and an operator can end them. The watcher is told to
// stop: what waits is answered at once, what runs is drained or ended within a budget, and what is owed then is said (owed.go).
//
// The files named recover and operator are what an earlier watcher and an operator ask for; there is one for each such thing.
package watcher
