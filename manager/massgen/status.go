package massgen

// Status is how a subagent stands, in MassGen's words.
type Status string

// The first five are a result's. The others are only ever seen of a child that is listed.
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

// Terminal says whether nothing more happens. An error is an end too, so that a parent does not wait for it for ever.
func (s Status) Terminal() bool { return s != StatusPending && s != StatusRunning && s != "" }

// Success says whether a result with this status is one.
func (s Status) Success() bool { return s == StatusCompleted || s == StatusCompletedButTimeout }

// State is the status under which a child with this result is tracked.
func (s Status) State() Status {
	if s == StatusError {
		return StatusFailed
	}
	return s
}

// Display is the status that a person is shown.
func (s Status) Display() Status {
	switch s {
	case StatusCompletedButTimeout:
		return StatusTimeout
	case StatusPartial:
		return StatusError
	}
	return s
}
