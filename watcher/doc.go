// Package watcher is the host's side of the hatch. It connects the packages through which a request passes, takes over from an
// earlier watcher, and shuts down:
//
//	outbox (one goroutine each)        schedule (one goroutine)        run (one goroutine each)
//	───────────────────────────        ────────────────────────        ─────────────────────────────
//	notice, read, admit, refuse ─────► who goes next; conflicts ─────► workspace, create ► … ► conclude
//	superseded, sentinel, gone ──────► find the run, stop it ────────► the first cause wins
//	status, live output, answer ◄──────────────────────────────────── through the admission
//
// An outbox submits what it admits as a run, and finds its runs again. A run knows neither outbox nor watcher, but its client and its
// ports. Beside them stand workspace (the directory in which a run works), output (what a child prints), notice (troubles that
// stop work, told to clients and operators), limit (shares of a core) and hang (calls that may never return).
//
// State moves only through the journal, which guards each move.
//
// # What can fail
//
// Each of the packages says what can fail in it. The watcher dies: the next one finds each unfinished run in the journal and each sandbox
// in the launcher's list, and takes the same road from there (recover.go). A sandbox that lives is adopted. An outbox is not there, or
// its path leads to another directory: its runs stay as they are (unserved.go), and an operator can end them. The watcher is told
// to stop: runs that wait get their response at once, running ones are drained or ended within a budget, and the watcher then says
// which responses it owes (owed.go).
//
// The files named recover deal with what an earlier watcher left, and the files named operator with an operator's requests: one
// file for each subject.
package watcher
