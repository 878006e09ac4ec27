package cli

import (
	"errors"
	"fmt"
	"strings"

	"torno/internal/nearest"
)

// UsageError is a mistake in the arguments.
type UsageError struct {
	Text string
	Next string

	unknown bool // Unknown made it
}

func (e *UsageError) Error() string { return e.Text }

// Usage returns an error about a mistake in the arguments. Its next step is the command's own help.
func Usage(format string, args ...any) error { return &UsageError{Text: fmt.Sprintf(format, args...)} }

// Unknown returns the error for an unknown word. It suggests a similar known word.
func Unknown(what, word string, known []string) error {
	e := &UsageError{Text: fmt.Sprintf("unknown %s %q", what, word), unknown: true}
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

// Hint adds the next step to an error, unless the error has one already.
func Hint(err error, next string) error {
	if err == nil || nextOf(err) != "" {
		return err
	}
	return &hinted{err, next}
}

// nextOf returns the next step that an error carries, or "".
func nextOf(err error) string {
	if e, ok := errors.AsType[*UsageError](err); ok {
		return e.Next
	}
	if e, ok := errors.AsType[*hinted](err); ok {
		return e.next
	}
	return ""
}

// Trouble is an error in the form that the user sees.
type Trouble struct {
	Exit    int      `json:"-"`
	Code    string   `json:"code"` // a word for programs
	Field   string   `json:"field,omitempty"`
	Text    string   `json:"text"` // a sentence
	Details []string `json:"details,omitempty"`
	Next    string   `json:"next,omitempty"`
}

// The frame itself needs these exit codes.
const (
	exitOK    = 0
	exitUsage = 2
)

// inOperands adds a next step to an error about an unknown option, if words stand before the option and the command also
// takes words without --: the option may be meant as a word.
func inOperands(cmd Command, found Args, err error) error {
	if e, ok := errors.AsType[*UsageError](err); ok && e.unknown && e.Next == "" && len(found.Words) > 0 && strings.Contains(cmd.Operands, "[--]") {
		e.Next = "write -- before " + found.Words[0] + " if the option is not for this command"
	}
	return err
}

// inCommand adds where to find help as the next step of a usage error, unless the error names a next step already.
func inCommand(program, command string, err error) error {
	if e, ok := errors.AsType[*UsageError](err); ok && e.Next == "" {
		e.Next = fmt.Sprintf("%s %s --help", program, command)
	}
	return err
}

// isUsage reports whether an error is a mistake in the arguments.
func isUsage(err error) bool {
	_, ok := errors.AsType[*UsageError](err)
	return ok
}
