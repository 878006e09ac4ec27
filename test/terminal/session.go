package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// columns is the width of the terminal.
const columns = 80

// event is one line of a recording: what is typed, or what comes back of it.
type event struct {
	Types string `json:"types,omitempty"`
	After int    `json:"after,omitempty"` // milliseconds since the line was entered
	Says  string `json:"says,omitempty"`
}

// read takes a recording apart.
func read(from io.Reader) (session []event, err error) {
	lines := json.NewDecoder(from)
	lines.DisallowUnknownFields()
	for {
		var e event
		switch err := lines.Decode(&e); {
		case errors.Is(err, io.EOF) && len(session) > 0:
			return session, nil
		case errors.Is(err, io.EOF):
			return nil, errors.New("it is empty")
		case err != nil:
			return nil, fmt.Errorf("event %d: %w", len(session)+1, err)
		case (e.Types == "") == (e.Says == "") || len(session) == 0 && e.Types == "" || e.After < 0:
			return nil, fmt.Errorf("event %d is neither typed nor said", len(session)+1)
		}
		session = append(session, e)
	}
}

// write notes an event.
func write(to io.Writer, e event) error {
	lines := json.NewEncoder(to)
	lines.SetEscapeHTML(false)
	return lines.Encode(e)
}
