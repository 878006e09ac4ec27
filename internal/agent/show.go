package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// These bound how much of a tool's call and of its result is shown.
const (
	shownCall   = 160 // characters
	shownResult = 4   // lines
)

// Show returns a line as people read it while an agent works: everything that the agent says, and its actions in short.
// The text is the child's, and may contain control characters.
func Show(l Line) string {
	switch l.Kind {
	case Text, Raw:
		return ended(l)
	case Thinking:
		return marked("~ ", ended(l))
	case ToolCall:
		return fmt.Sprintf("> %s %s\n", l.tool().Name, brief(l.tool()))
	case Ask:
		return fmt.Sprintf("? %s %s\n", l.tool().Name, brief(l.tool()))
	case ToolResult:
		return marked("  ", result(l))
	case Notice:
		return marked("! ", ended(l))
	case Usage:
		return fmt.Sprintf("  %d tokens in, %d out\n", l.Tokens.Input, l.Tokens.Output)
	case Acknowledged:
		if !l.Failed {
			return ShowSaid("told", l.Text, false)
		}
		return marked("! ", ended(l))
	case Result:
		if l.Failed {
			return marked("failed: ", ended(l))
		}
	}
	return "" // the result's text was already shown as a Text line
}

// ShowSaid returns a message of the parent to the agent, as people read it.
func ShowSaid(kind, text string, more bool) string {
	if text == "" {
		return "< (" + kind + ")\n"
	}
	return marked("< ", ended(Line{Text: text, More: more}))
}

// ended returns the text with a newline at its end, unless the next line continues the text.
func ended(l Line) string {
	if l.More || strings.HasSuffix(l.Text, "\n") {
		return l.Text
	}
	return l.Text + "\n"
}

// marked puts a mark before each line of a text.
func marked(mark, text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(mark + line)
	}
	return out.String()
}

// telling lists the members of a tool's input that say the most, the best one first.
var telling = []string{"command", "file_path", "path", "url", "query", "pattern", "prompt", "description"}

// brief describes a call in one line.
func brief(t Tool) string {
	if t.Cut {
		return "(its input is too long to show)"
	}
	text := string(t.Input)
	var members map[string]json.RawMessage
	if json.Unmarshal(t.Input, &members) == nil {
		for _, name := range telling {
			var value string
			if json.Unmarshal(members[name], &value) == nil && value != "" {
				text = value
				break
			}
		}
	}
	return cut(strings.Join(strings.Fields(text), " "))
}

func cut(text string) string {
	if utf8.RuneCountInString(text) <= shownCall {
		return text
	}
	return string([]rune(text)[:shownCall]) + "…"
}

// result returns the first lines of a tool's result.
func result(l Line) string {
	lines := strings.SplitAfter(strings.TrimRight(l.Text, "\n"), "\n")
	if l.Failed {
		lines[0] = "failed: " + lines[0]
	}
	more := len(lines) - shownResult
	if more > 0 {
		lines = append(lines[:shownResult], fmt.Sprintf("… %d more lines", more))
	}
	text := strings.Join(lines, "")
	if text == "" {
		return ""
	}
	return text + "\n"
}
