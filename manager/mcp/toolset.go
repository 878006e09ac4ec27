package mcp

import (
	"context"
	"encoding/json"
	"time"
)

// Set is a set of tools that another package makes, for users who come from another system. It reaches the outbox
// through a Desk, as our own tools do, and speaks to the model through pages.
type Set struct {
	Name         string
	Instructions string // for the model, before it looks at any tool
	Tools        []Tool
	Leave        func() // called when the server ends; may be nil
}

// Tool is one tool of a Set.
type Tool struct {
	Name, Title string
	About       string // clients show a model only the first sentence until it asks for more
	Input       string // a JSON Schema
	Reads       bool   // it changes nothing
	Ends        bool   // it ends something or overwrites something
	Repeats     bool   // a second call changes nothing more
	Waits       bool   // it waits for a child as long as the child may run, and tells the client so meanwhile

	// Takes is how long a call may take, if the clients of its system wait that long. If it is zero, a call returns
	// within 20 seconds.
	Takes time.Duration

	// Call answers with a page of the desk. An error is reported in our own words, with its next step.
	Call func(context.Context, *Desk, json.RawMessage) (*Page, error)
}

// adopt turns a Set into one of our own sets.
func (set Set) adopt() toolSet {
	own := toolSet{name: set.Name, instructions: set.Instructions, leave: set.Leave}
	for _, t := range set.Tools {
		own.tools = append(own.tools, tool{
			name: t.Name, title: t.Title, about: t.About, input: t.Input, reads: t.Reads, ends: t.Ends, repeats: t.Repeats,
			takes: t.Takes, waits: t.Waits,
			call: func(ctx context.Context, s *Server, raw json.RawMessage) (answer, error) {
				page, err := t.Call(ctx, &Desk{s, sessionOf(ctx), t.Waits}, raw)
				if err != nil {
					return nil, err
				}
				return page, nil
			},
		})
	}
	return own
}

// Arguments reads the arguments of a call strictly: an unknown argument is a mistake, and the model should hear of it.
func Arguments[In any](raw json.RawMessage) (In, error) { return parse[In](raw) }

// BadArgument returns the error for a mistake that the model made in an argument.
func BadArgument(field, format string, args ...any) error {
	return badArgument(field, format, args...)
}

// Words makes one bounded line of a text that may quote a stranger.
func Words(text string) string { return words(text) }
