package main

import (
	"errors"
	"fmt"

	"torno/internal/nearest"
)

// usageError is a mistake in the arguments.
type usageError struct {
	text string
	next string
}

func (e *usageError) Error() string { return e.text }

func usage(format string, args ...any) error {
	return &usageError{text: fmt.Sprintf(format, args...)}
}

// unknown is a word that is not among those that are known; a near one is suggested.
func unknown(what, word string, known []string) error {
	e := &usageError{text: fmt.Sprintf("unknown %s %q", what, word)}
	if near := nearest.Word(word, known); near != "" {
		e.next = fmt.Sprintf("did you mean %s?", near)
	}
	return e
}

// inCommand says where help is, unless the error knows better.
func inCommand(name string, err error) error {
	if e, ok := errors.AsType[*usageError](err); ok && e.next == "" {
		e.next = fmt.Sprintf("subagent %s --help", name)
	}
	return err
}
