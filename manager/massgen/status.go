package massgen

// Status is the state of a subagent, in MassGen's words.
type Status string

// A result has one of the first five. The others occur only when children are listed.
const (
	StatusCompleted           Status = "completed"
	StatusCompletedButTimeout Status = "completed_but_timeout"
	StatusPartial             Status = "partial"
	StatusTimeout             Status = "timeout"
	StatusError               Status = "error"

	StatusPending   Status = "pending"
	StatusRunning   Status = "running"
	StatusFailed    Status = "failed"
	StatusCancelled Status = "cancelled"
)

// Terminal reports whether nothing more happens. An error is also an end, because a parent must not wait for it
// forever.
func (s Status) Terminal() bool { return s != StatusPending && s != StatusRunning && s != "" }

// Success reports whether a result with this status is a success.
func (s Status) Success() bool { return s == StatusCompleted || s == StatusCompletedButTimeout }

// State returns the status under which a child with this result is tracked.
func (s Status) State() Status {
	if s == StatusError {
		return StatusFailed
	}
	return s
}

// Display returns the status to show to a person.
func (s Status) Display() Status {
	switch s {
	case StatusCompletedButTimeout:
		return StatusTimeout
	case StatusPartial:
		return StatusError
	}
	return s
}
