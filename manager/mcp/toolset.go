package mcp

import (
	"context"
	"encoding/json"
)

// Set is a set of tools that another package makes: those of a system whose users come to this one. It is built on a Desk,
// through which it reaches what our own tools reach, and on pages, through which it speaks to the model.
type Set struct {
	Name         string
	Instructions string // for the model, before it looks at any tool
	Tools        []Tool
}

// Tool is one tool of a Set.
type Tool struct {
	Name, Title string
	About       string // its first sentence says what it does: clients show a model no more until it asks
	Input       string // a JSON Schema
	Reads       bool   // it changes nothing
	Ends        bool   // it ends something or writes over it
	Repeats     bool   // asked twice it does no more than once

	// Call answers with a page of the desk. An error is said in our own words, with its next step.
	Call func(context.Context, *Desk, json.RawMessage) (*Page, error)
}

// adopt makes one of our sets of it.
func (set Set) adopt() toolSet {
	own := toolSet{name: set.Name, instructions: set.Instructions}
	for _, t := range set.Tools {
		own.tools = append(own.tools, tool{
			name: t.Name, title: t.Title, about: t.About, input: t.Input, reads: t.Reads, ends: t.Ends, repeats: t.Repeats,
			call: func(ctx context.Context, s *Server, raw json.RawMessage) (answer, error) {
				page, err := t.Call(ctx, &Desk{s}, raw)
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
