package stakpak

import (
	"fmt"
	"slices"
	"time"

	"torno/delegation"
	"torno/manager"
	"torno/manager/mcp"
)

// status is the state of a task, in Stakpak's words.
type status string

const (
	pending   status = "Pending"
	running   status = "Running"
	completed status = "Completed"
	failed    status = "Failed"
	cancelled status = "Cancelled"
	timedOut  status = "TimedOut"
	paused    status = "Paused"
)

// statusOf returns the status of a run. Only an undecided question pauses a task. A task has ended only when its result
// is there; the host may report its end earlier.
func statusOf(item manager.Item) status {
	switch {
	case item.Status != "":
		return endOf(item)
	case len(item.Approvals) > 0:
		return paused
	case item.State == delegation.StateRunning || item.State == delegation.StateWaiting || item.State == delegation.StateEnded:
		return running
	}
	return pending
}

func endOf(item manager.Item) status {
	switch {
	case item.Status == delegation.StatusCompleted && item.ExitCode == 0:
		return completed
	case item.Status == delegation.StatusTimeout:
		return timedOut
	case item.Status == delegation.StatusCancelled:
		return cancelled
	}
	return failed
}

// settled reports whether wait_for_tasks stops waiting for a task: it has ended, or goes on only after it is resumed.
func settled(item manager.Item) bool {
	now := statusOf(item)
	return now != pending && now != running && !operatorDecides(item)
}

// operatorDecides reports whether a task is paused and only the operator can decide its questions.
func operatorDecides(item manager.Item) bool {
	return statusOf(item) == paused && !slices.ContainsFunc(item.Approvals, mcp.ForParent)
}

// tag returns a short mark for the status.
func (s status) tag() string {
	switch s {
	case running:
		return "[RUN]"
	case completed:
		return "[OK]"
	case failed:
		return "[ERR]"
	}
	return "[---]"
}

// started returns when a task started. Before it starts, it returns when the task was asked for.
func started(child mcp.Child) time.Time {
	switch {
	case !child.StartedAt.IsZero():
		return child.StartedAt
	case !child.RunningSince.IsZero():
		return child.RunningSince
	}
	return child.CreatedAt
}

const clock = "2006-01-02 15:04:05 UTC"

// took returns how long a task has run. It returns false if the task has not started, or if that is unknown.
func took(child mcp.Child) (time.Duration, bool) {
	switch {
	case child.Ended():
		return max(0, child.CompletedAt.Sub(child.StartedAt)), !child.StartedAt.IsZero() && !child.CompletedAt.IsZero()
	case child.RunningSince.IsZero():
		return 0, false
	}
	return max(0, time.Since(child.RunningSince)), true
}

func duration(child mcp.Child) string {
	if t, known := took(child); known {
		return fmt.Sprintf("%.2fs", t.Seconds())
	}
	return "N/A"
}
