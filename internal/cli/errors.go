package cli

import (
	"errors"
	"fmt"

	"torno/internal/nearest"
)

// UsageError is a mistake in the arguments.
type UsageError struct {
	Text string
	Next string
}

func (e *UsageError) Error() string { return e.Text }

// Usage is a mistake in the arguments; the next step is the command's own help.
func Usage(format string, args ...any) error { return &UsageError{Text: fmt.Sprintf(format, args...)} }

// Unknown is the error of an unknown word; it suggests a similar word that is known.
func Unknown(what, word string, known []string) error {
	e := &UsageError{Text: fmt.Sprintf("unknown %s %q", what, word)}
	if near := nearest.Word(word, known); near != "" {
		e.Next = fmt.Sprintf("did you mean %s?", near)
	}
	return e
}

// hinted is an error with a next step.
type hinted struct {
	error
	next string
}

func (h *hinted) Unwrap() error { return h.error }

// Hint adds the next step to an error, unless it has one already.
func Hint(err error, next string) error {
	if err == nil || nextOf(err) != "" {
		return err
	}
	return &hinted{err, next}
}

// nextOf is the next step that an error carries, or "".
func nextOf(err error) string {
	if e, ok := errors.AsType[*UsageError](err); ok {
		return e.Next
	}
	if e, ok := errors.AsType[*hinted](err); ok {
		return e.next
	}
	return ""
}

// Trouble is an error as it is shown.
type Trouble struct {
	Exit    int      `json:"-"`
	Code    string   `json:"code"` // a word for programs
	Field   string   `json:"field,omitempty"`
	Text    string   `json:"text"` // a sentence
	Details []string `json:"details,omitempty"`
	Next    string   `json:"next,omitempty"`
}

// The exit codes that the frame itself needs.
const (
	exitOK    = 0
	exitUsage = 2
)

// inCommand says where help is, unless the error knows better.
func inCommand(program, command string, err error) error {
	if e, ok := errors.AsType[*UsageError](err); ok && e.Next == "" {
		e.Next = fmt.Sprintf("%s %s --help", program, command)
	}
	return err
}

// isUsage says whether an error is a mistake in the arguments.
func isUsage(err error) bool {
	_, ok := errors.AsType[*UsageError](err)
	return ok
}
