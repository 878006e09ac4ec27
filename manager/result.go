package manager

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"torno/delegation"
	"torno/internal/beneath"
)

// Result says how a run ended. Answer, StdoutTail and StderrTail are the child's text, unchanged: hostile data.
type Result struct {
	SubagentID string
	RequestID  string
	Status     delegation.Status
	Reason     delegation.Reason // "" from a watcher that does not say
	ExitCode   int

	// Answer is the content of the answer file, up to Options.AnswerMax.
	Answer string
	// AnswerFrom says whether the answer is the child's output or a file that the child wrote; "" if there is no
	// answer.
	AnswerFrom AnswerFrom
	// AnswerTruncated means that Answer is only the beginning. The file AnswerWhole holds all of it.
	AnswerTruncated bool
	AnswerWhole     string
	// AnswerErr says why an answer was not read: its file is a link, a FIFO or a directory, say. If it is ErrNotSeen,
	// Acknowledge refuses the result.
	AnswerErr error
	// Partial means that there is an answer although the run did not complete.
	Partial bool

	StdoutTail string
	StderrTail string
	Error      *delegation.Refusal // why the host turned the request down or could not launch it
	Warnings   []string

	Attempt     int       // from 1; 0 from a watcher that does not say
	StartedAt   time.Time // zero if nothing was started
	CompletedAt time.Time
	Timings     *delegation.Timings
	Usage       *delegation.Usage
	Workspace   string
	Original    string // the directory that the request names, if the child worked in a copy of it; otherwise ""
	Profile     string
	// SessionID names the conversation that the host has kept of the agent; "" if it has kept nothing. See
	// Manager.Continue.
	SessionID string
	// Artifacts are the files that the host saw in the workspace when the run was over. Their paths are the child's
	// words.
	Artifacts []delegation.Artifact

	TakenAt time.Time // when the result was acknowledged; zero unless it is a copy, see Manager.Taken
}

// AnswerFrom says where an answer comes from.
type AnswerFrom string

// An answer is FromStdout if it ends like the child's standard output, or if it is the beginning of an output that was
// too long. Otherwise the child wrote the file. The manager finds this out by comparing, so no word of the child
// decides it.
const (
	FromStdout AnswerFrom = "stdout"
	FromFile   AnswerFrom = "file"
)

// WithoutAnswer returns the result for a caller that does without an answer that it cannot see. Acknowledge takes this
// result.
func (r Result) WithoutAnswer() Result {
	if errors.Is(r.AnswerErr, ErrNotSeen) {
		r.AnswerErr = errors.New(r.AnswerErr.Error())
	}
	return r
}

// Completed reports whether the child ended by itself with exit code 0.
func (r Result) Completed() bool {
	return r.Status == delegation.StatusCompleted && r.ExitCode == 0
}

// Refused reports whether the host turned the request down, so that no child ever ran.
func (r Result) Refused() bool { return r.Reason == delegation.ReasonRefused }

// Brief returns the result of a run that has ended, with at most answerMax bytes of its answer, for callers that show
// many results at once. It does not wait: while there is no response the error is ErrRunning.
func (r *Run) Brief(answerMax int64) (Result, error) {
	response, err := r.response()
	if err != nil {
		return Result{}, fmt.Errorf("response of %s: %w", r.id, err)
	}
	if response == nil {
		return Result{}, fmt.Errorf("subagent %s: %w", r.id, ErrRunning)
	}
	return r.collectUpTo(*response, min(answerMax, r.m.answerMax)), nil
}

// collect makes the result from a response and reads the answer. It removes nothing.
func (r *Run) collect(response delegation.Response) Result {
	return r.collectUpTo(response, r.m.answerMax)
}

// collectUpTo does the same as collect, but reads at most answerMax bytes of the answer.
func (r *Run) collectUpTo(response delegation.Response, answerMax int64) Result {
	profile := cmp.Or(response.Profile, r.profile) // a request that was refused early has a response without a profile
	if at := r.m.works(r.id, r.asked, profile); at != r.workspace {
		copied := *r // other goroutines may use the run
		copied.workspace, copied.atRequest = at, workspaceSnapshot{}
		r = &copied
	}
	result := Result{
		SubagentID: r.ID(), RequestID: r.RequestID(),
		Status: response.Status, Reason: response.Reason, ExitCode: response.ExitCode,
		StdoutTail: response.StdoutTail, StderrTail: response.StderrTail,
		Error: response.Error, Warnings: response.Warnings,
		Attempt: response.Attempt, StartedAt: response.StartedAt, CompletedAt: response.CompletedAt,
		Timings: response.Timings, Usage: response.Usage, Workspace: r.workspace,
		Profile: profile, SessionID: response.SessionID, Artifacts: response.Artifacts,
	}
	if r.asked != r.workspace {
		result.Original = r.asked
	}
	if ran(response) {
		r.readAnswer(&result, answerMax)
	}
	return result
}

// ran reports whether the child started, so that an answer file can be its own. It demands the time of the start,
// except from a watcher that gives no reasons.
func ran(response delegation.Response) bool {
	return !response.StartedAt.IsZero() || response.Reason == ""
}

// readAnswer reads the answer file. Without a file the answer is empty.
func (r *Run) readAnswer(result *Result, answerMax int64) {
	if r.answer == "" {
		return
	}
	found, err := r.findAnswer(answerMax)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errStale) {
		return
	}
	if err != nil {
		result.AnswerErr = fmt.Errorf("answer of %s: %w", r.id, err)
		return
	}
	result.Answer, result.Partial = string(found.text), !result.Completed() && len(found.text) > 0
	switch {
	case found.whole:
		result.AnswerTruncated, result.AnswerWhole = true, filepath.Join(r.workspace, r.answer+delegation.WholeSuffix)
	case found.more:
		result.AnswerTruncated, result.AnswerWhole = true, filepath.Join(r.workspace, r.answer)
	}
	result.AnswerFrom = FromFile
	if found.whole || delegation.Tail(found.end) == result.StdoutTail {
		result.AnswerFrom = FromStdout
	}
}

// foundAnswer is the part of the answer file that findAnswer has read.
type foundAnswer struct {
	text  []byte // up to the bound
	more  bool   // the file holds more
	end   []byte // of the file
	whole bool   // a file beside it holds the whole answer
}

// isOurs reports whether an error comes from this process or its view of the disk. A child cannot cause it.
func isOurs(err error) bool {
	return slices.ContainsFunc([]error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EIO, syscall.ESTALE, syscall.ENOTCONN, syscall.ENODEV}, func(one error) bool {
		return errors.Is(err, one)
	})
}

func (r *Run) findAnswer(answerMax int64) (found foundAnswer, err error) {
	defer func() {
		if isOurs(err) {
			err = fmt.Errorf("%w: %w", ErrNotSeen, err)
		}
	}()
	workspace, err := r.m.openWorkspace(r.workspace)
	if errors.Is(err, fs.ErrNotExist) {
		return found, fmt.Errorf("%w: %s does not exist", ErrNotSeen, r.workspace)
	}
	if err != nil {
		return found, err
	}
	defer workspace.Close()
	if here, err := workspace.Stat("."); err != nil || r.atRequest.workspace != nil && !os.SameFile(here, r.atRequest.workspace) {
		return found, errors.Join(fmt.Errorf("%w: another directory is at %s since the request", ErrNotSeen, r.workspace), err)
	}
	f, seen, err := beneath.OpenFile(workspace, r.answer)
	if err != nil {
		return found, err
	}
	defer f.Close()
	if r.atRequest.hasSameAnswer(seen) {
		return found, errStale
	}
	if found.text, found.more, err = beneath.ReadUpTo(f, answerMax); err != nil {
		return found, err
	}
	found.end = found.text
	if found.more {
		found.end = make([]byte, delegation.TailBytes)
		n, err := f.ReadAt(found.end, max(0, seen.Size()-delegation.TailBytes))
		if err != nil && !errors.Is(err, io.EOF) {
			return found, err
		}
		found.end = found.end[:n]
	}
	beside, _, err := beneath.OpenFile(workspace, r.answer+delegation.WholeSuffix)
	if err == nil {
		beside.Close()
		found.whole = true
	}
	if isOurs(err) {
		return foundAnswer{}, err
	}
	return found, nil
}
