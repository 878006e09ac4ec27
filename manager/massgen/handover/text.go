package handover

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"torno/internal/beneath"
)

// ContextFile is the file where a parent explains its work.
const ContextFile = "CONTEXT.md"

// ContextLimit bounds how much of it a child gets, in characters.
const ContextLimit = 10000

// maxContext bounds how much of the file is read to count its characters.
const maxContext = 16 << 20

// ErrNoContext is MassGen's text for a parent that has not explained its work.
var ErrNoContext error = refusal("CONTEXT.md not found in workspace. Before spawning subagents, create a CONTEXT.md file with task context. This helps subagents understand what they're working on.")

// refusal is one of MassGen's texts, to the letter: sentences with a full stop.
type refusal string

func (r refusal) Error() string { return string(r) }

// ReadContext reads CONTEXT.md in a parent's workspace. warning is "" unless the text was cut.
func ReadContext(workspace *os.Root) (text, warning string, err error) {
	data, more, err := beneath.ReadFile(workspace, ContextFile, maxContext)
	if errors.Is(err, os.ErrNotExist) {
		return "", "", ErrNoContext
	}
	if err != nil {
		return "", "", fmt.Errorf("read %s in the parent's workspace: %w; make it a regular file of its own", ContextFile, err)
	}
	if more {
		return "", "", fmt.Errorf("%s is longer than %d bytes; shorten it to %d characters", ContextFile, maxContext, ContextLimit)
	}
	text = strings.ToValidUTF8(string(data), "\uFFFD")
	length := utf8.RuneCountInString(text)
	if length <= ContextLimit {
		return text, "", nil
	}
	warning = fmt.Sprintf("WARNING: CONTEXT.md was truncated from %d to %d characters. Consider shortening it for better results.", length, ContextLimit)
	return string([]rune(text)[:ContextLimit]), warning, nil
}

// Prompt returns the whole text for a child, in MassGen's parts and order.
func Prompt(system, about, task string) string {
	var text strings.Builder
	if system != "" {
		text.WriteString(system + "\n\n")
	}
	text.WriteString("## Subagent Context\n\nYou are a subagent that another agent has started for one task.\n\n")
	text.WriteString("**Task Context:**\n" + about + "\n\n")
	text.WriteString(rules)
	text.WriteString("**Your Task:**\n" + task)
	return text.String()
}

const rules = `**Important:**
- Focus on the task below, and on nothing else.
- Create all files in your workspace.
- You cannot spawn subagents.
- Do not ask the human: there is no human to answer.

**Output Requirements:**
- List the files that you have made with their FULL ABSOLUTE PATHS.

`
