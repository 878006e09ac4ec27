package mcp

import (
	"context"
	"fmt"
	"strings"
)

var cancelTool = tool{
	name: "cancel", title: "Cancel subagents", ends: true, repeats: true,
	about: `
Cancel subagents that you do not need any more: the host asks each to end, and kills it after some seconds. wait then tells you when each has ended. Their files stay in their workspaces.`,
	input: `{
"type": "object", "additionalProperties": false, "required": ["ids"],
"properties": {"ids": {"type": "array", "minItems": 1, "items": {"type": "string"}, "description": "the ids of the subagents"}}
}`,
	call: does(cancel),
}

type cancelInput struct {
	IDs []string `json:"ids"`
}

// cancelled tells how a cancel went.
type cancelled struct {
	Cancelling []string   `json:"cancelling"`
	Not        []standing `json:"not_cancelled,omitempty"`
	Next       string     `json:"next"`
}

func (c cancelled) say() string {
	var b strings.Builder
	if len(c.Cancelling) > 0 {
		fmt.Fprintf(&b, "cancelling %s\n", strings.Join(c.Cancelling, ", "))
	}
	for _, one := range c.Not {
		b.WriteString(one.say() + "\n")
	}
	return b.String() + "next: " + c.Next
}

func cancel(ctx context.Context, s *Server, in cancelInput) (answer, error) {
	if len(in.IDs) == 0 {
		return nil, badArgument("ids", "ids is missing: a list of the subagents' ids")
	}
	if len(in.IDs) > maxListed {
		return nil, badArgument("ids", "%d subagents are too many for one call: at most %d", len(in.IDs), maxListed)
	}
	said := cancelled{Cancelling: []string{}, Next: "call wait to learn of their end; the status cancelled means that none of their processes is left"}
	var first error
	for _, id := range in.IDs {
		if err := s.m.Cancel(ctx, id); err != nil {
			if first == nil {
				first = err
			}
			said.Not = append(said.Not, standing{ID: words(id), Trouble: s.trouble(err)})
			continue
		}
		said.Cancelling = append(said.Cancelling, id)
	}
	if len(said.Cancelling) == 0 {
		return nil, first
	}
	return said, nil
}
