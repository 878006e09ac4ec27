package mcp

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

// toolSet is everything that a server offers under one name.
type toolSet struct {
	name         string
	instructions string // for the model, before it looks at any tool
	tools        []tool
	prompts      []prompt
	leave        func() // called when the server ends; may be nil
}

// sets lists the sets of this package. The sets of other packages are in Options.
var sets = []toolSet{
	{name: "torno", instructions: tornoInstructions, tools: torno, prompts: tornoPrompts},
}

// torno lists our own tools.
var torno = []tool{delegateTool, waitTool, statusTool, readTool, sendTool, continueTool, approveTool, cancelTool, applyTool}

//go:embed instructions.md
var tornoInstructions string

// SetNames returns the names of the sets of this package.
func SetNames() []string {
	names := make([]string, len(sets))
	for i := range sets {
		names[i] = sets[i].name
	}
	return names
}

// setOf finds a set by its name, among our own and those from other packages.
func setOf(name string, others []Set) (toolSet, error) {
	for _, set := range sets {
		if set.name == name {
			return set, nil
		}
	}
	names := SetNames()
	for _, set := range others {
		if set.Name == name {
			return set.adopt(), nil
		}
		names = append(names, set.Name)
	}
	return toolSet{}, fmt.Errorf("there is no set of tools named %.100q; the sets are: %s", name, strings.Join(names, ", "))
}

// find returns a tool by its name, or nil.
func (set toolSet) find(name string) *tool {
	i := slices.IndexFunc(set.tools, func(t tool) bool { return t.name == name })
	if i < 0 {
		return nil
	}
	return &set.tools[i]
}
