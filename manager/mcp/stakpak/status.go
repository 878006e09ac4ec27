package stakpak

import (
	"fmt"
	"slices"
	"time"

	"torno/delegation"
	"torno/manager"
	"torno/manager/mcp"
)

// status is where a task stands, in Stakpak's words.
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

// statusOf projects a run. Only a question that is not decided pauses a task, and a task has ended when there is its result: the host may say
// before that it has.
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

// settled says whether wait_for_tasks waits no longer for a task: it has ended, or goes on only when it is resumed.
func settled(item manager.Item) bool {
	now := statusOf(item)
	return now != pending && now != running && !operatorDecides(item)
}

// operatorDecides says whether a task is paused by what only the operator decides.
func operatorDecides(item manager.Item) bool {
	return statusOf(item) == paused && !slices.ContainsFunc(item.Approvals, mcp.ForParent)
}

// tag is the status in five characters.
func (s status) tag() string {
	switch s {
	case running:
		return "[RUN]"
	case completed:
		return "[OK]"
	case failed, cancelled, timedOut:
		return "[ERR]"
	}
	return "[---]"
}

// started is when a task was asked for, or what came later of that and its start.
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

// took is how long a task has run; false before it does, and where that is not known.
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
