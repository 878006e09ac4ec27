package manager

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"torno/delegation"
)

// Result is how a run ended. Answer, StdoutTail and StderrTail are the child's text, as it is: hostile data.
type Result struct {
	SubagentID string
	RequestID  string
	Status     delegation.Status
	Reason     delegation.Reason // "" from a watcher that does not say
	ExitCode   int

	// Answer is what the child left in its answer file, up to Options.AnswerMax.
	Answer          string
	AnswerTruncated bool
	// AnswerErr is why an answer file that is there was not read: it is a link, a FIFO, a directory.
	AnswerErr error
	// Partial says that there is an answer although the run did not complete.
	Partial bool

	StdoutTail string
	StderrTail string
	Error      *delegation.Refusal // why the host turned the request down or could not launch it
	Warnings   []string

	Attempt     int       // from 1; 0 from a watcher that does not say
	StartedAt   time.Time // zero when nothing was started
	CompletedAt time.Time
	Timings     *delegation.Timings
	Usage       *delegation.Usage
	Workspace   string
}

// Completed says that the child ended by itself with exit code 0.
func (r Result) Completed() bool {
	return r.Status == delegation.StatusCompleted && r.ExitCode == 0
}

// Refused says that the host turned the request down, so that no child ever ran.
func (r Result) Refused() bool { return r.Reason == delegation.ReasonRefused }

// collect makes the result out of a response, reads the answer, and removes the run's files.
func (r *Run) collect(response delegation.Response) Result {
	result := Result{
		SubagentID: r.ID(), RequestID: r.RequestID(),
		Status: response.Status, Reason: response.Reason, ExitCode: response.ExitCode,
		StdoutTail: response.StdoutTail, StderrTail: response.StderrTail,
		Error: response.Error, Warnings: response.Warnings,
		Attempt: response.Attempt, StartedAt: response.StartedAt, CompletedAt: response.CompletedAt,
		Timings: response.Timings, Usage: response.Usage, Workspace: r.workspace,
	}
	if ran(response) {
		r.readAnswer(&result)
	}
	if err := r.take(); err != nil {
		result.Warnings = append(result.Warnings, fmt.Sprintf("the run's files are still in the outbox: %v", err))
	}
	return result
}

// ran says whether the child started, so that an answer file can be its own. Only a watcher that gives no reasons is
// believed without a time of the start.
func ran(response delegation.Response) bool {
	return !response.StartedAt.IsZero() || response.Reason == ""
}

// readAnswer reads the answer file. None is an empty answer.
func (r *Run) readAnswer(result *Result) {
	if r.answer == "" {
		return
	}
	data, more, err := r.answerFile()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errStale) {
		return
	}
	if err != nil {
		result.AnswerErr = fmt.Errorf("answer of %s: %w", r.id, err)
		return
	}
	result.Answer, result.AnswerTruncated = string(data), more
	result.Partial = !result.Completed() && len(data) > 0
}

func (r *Run) answerFile() (data []byte, more bool, err error) {
	workspace, err := r.m.openWorkspace(r.workspace)
	if err != nil {
		return nil, false, err
	}
	defer workspace.Close()
	if here, err := workspace.Stat("."); err != nil || r.before.workspace != nil && !os.SameFile(here, r.before.workspace) {
		return nil, false, errors.Join(fmt.Errorf("%s is another directory than the one that the run was given", r.workspace), err)
	}
	f, seen, err := openFile(workspace, r.answer)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	if r.before.holds(seen) {
		return nil, false, errStale
	}
	return readUpTo(f, r.m.answerMax)
}

// take removes the run's files unless another request has taken the place.
func (r *Run) take() error {
	err := r.holds()
	if errors.Is(err, ErrSuperseded) {
		return nil
	}
	if errors.Is(err, ErrGone) || err == nil {
		return r.remove()
	}
	return err
}
