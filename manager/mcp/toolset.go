package mcp

import (
	"context"
	"encoding/json"
	"time"
)

// Set is a set of tools that another package makes: those of a system whose users come to this one. It is built on a Desk,
// through which it reaches what our own tools reach, and on pages, through which it speaks to the model.
type Set struct {
	Name         string
	Instructions string // for the model, before it looks at any tool
	Tools        []Tool
	Leave        func() // called when the server ends; nil is nothing
}

// Tool is one tool of a Set.
type Tool struct {
	Name, Title string
	About       string // its first sentence says what it does: clients show a model no more until it asks
	Input       string // a JSON Schema
	Reads       bool   // it changes nothing
	Ends        bool   // it ends something or writes over it
	Repeats     bool   // asked twice it does no more than once
	Waits       bool   // it waits for a child for as long as the child may run, and says so to the client meanwhile

	// Takes is how long a call may take, where its system's clients wait as long for it; else a call returns within 20 seconds.
	Takes time.Duration

	// Call answers with a page of the desk. An error is said in our own words, with its next step.
	Call func(context.Context, *Desk, json.RawMessage) (*Page, error)
}

// adopt makes one of our sets of it.
func (set Set) adopt() toolSet {
	own := toolSet{name: set.Name, instructions: set.Instructions, leave: set.Leave}
	for _, t := range set.Tools {
		own.tools = append(own.tools, tool{
			name: t.Name, title: t.Title, about: t.About, input: t.Input, reads: t.Reads, ends: t.Ends, repeats: t.Repeats,
			takes: t.Takes, waits: t.Waits,
			call: func(ctx context.Context, s *Server, raw json.RawMessage) (answer, error) {
				page, err := t.Call(ctx, &Desk{s, t.Waits}, raw)
				if err != nil {
					return nil, err
				}
				return page, nil
			},
		})
	}
	return own
}

// Arguments reads the arguments of a call strictly: what is not known is a mistake that the model should hear of.
func Arguments[In any](raw json.RawMessage) (In, error) { return parse[In](raw) }

// BadArgument is a mistake of the model's in an argument.
func BadArgument(field, format string, args ...any) error {
	return badArgument(field, format, args...)
}

// Words makes one bounded line of a text that may quote a stranger.
func Words(text string) string { return words(text) }
