package manager

import (
	"errors"
	"fmt"
	"time"
)

// Errors that a caller may want to tell apart. If a request is turned down, here or by the host, the error is a
// *delegation.Refusal.
var (
	ErrNobodyServing = errors.New("nobody is serving the outbox")
	ErrNoRun         = errors.New("there is no such run")
	ErrOutstanding   = errors.New("an earlier run is in the outbox, and its result was not taken")
	ErrSuperseded    = errors.New("another request of the same subagent took the run's place")
	ErrGone          = errors.New("the request was withdrawn, or its result was taken by another client")
	ErrOverdue       = errors.New("the watcher lives but gave no response in time")
)

// ErrNotSeen says that an answer could not be looked for: the workspace is not there, another directory is at its path, or
// this process is short of something. The answer may exist.
var ErrNotSeen = errors.New("its workspace cannot be looked into from here")

// ErrWorkspaceThere says that a workspace to be filled is not new.
var ErrWorkspaceThere = errors.New("the subagent has a workspace already")

// TakenError says when the result of a run was taken, and where its workspace is. Manager.Taken reads the result again.
type TakenError struct {
	SubagentID string
	At         time.Time
	Workspace  string
	cause      error // ErrNoRun or ErrGone
}

func (e *TakenError) Error() string {
	return fmt.Sprintf("the result of %s was taken at %s; its workspace is %s", e.SubagentID, e.At.UTC().Format(time.RFC3339), e.Workspace)
}

func (e *TakenError) Unwrap() error { return e.cause }

// NobodyServingError says since when nobody has served an outbox. It is an ErrNobodyServing.
type NobodyServingError struct {
	Outbox   string
	LastBeat time.Time // zero if no watcher was ever seen
	Stopping bool      // the watcher lives, but is about to stop and takes no more requests
	Stopped  bool      // the watcher has stopped, and said so
	Cause    error     // why the heartbeat could not be read, if that is the reason
}

func (e *NobodyServingError) Error() string {
	switch {
	case e.Stopped:
		return fmt.Sprintf("nobody is serving %s: its watcher stopped at %s", e.Outbox, e.LastBeat.UTC().Format(time.RFC3339))
	case e.Stopping:
		return fmt.Sprintf("the watcher of %s is about to stop", e.Outbox)
	case e.Cause != nil:
		return fmt.Sprintf("cannot tell whether a watcher serves %s: %v", e.Outbox, e.Cause)
	case e.LastBeat.IsZero():
		return fmt.Sprintf("nobody is serving %s: it has no heartbeat", e.Outbox)
	default:
		return fmt.Sprintf("nobody is serving %s: the last heartbeat was at %s", e.Outbox, e.LastBeat.UTC().Format(time.RFC3339))
	}
}

// silent reports whether the watcher is only believed dead, because its last heartbeat is old.
func (e *NobodyServingError) silent() bool {
	return !e.LastBeat.IsZero() && !e.Stopped && !e.Stopping && e.Cause == nil
}

// Is makes errors.Is(err, ErrNobodyServing) true.
func (e *NobodyServingError) Is(target error) bool { return target == ErrNobodyServing }

func (e *NobodyServingError) Unwrap() error { return e.Cause }
