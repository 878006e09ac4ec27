package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// How much of a tool's call and of its result is shown.
const (
	shownCall   = 160 // characters
	shownResult = 4   // lines
)

// Show is a line as people read it while an agent works: all that it says, and what it does in short. It is the child's word, with
// whatever control characters are in it.
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
	return "" // what a turn ends with was said as text
}

// ShowSaid is what the parent has said to the agent, as people read it.
func ShowSaid(kind, text string, more bool) string {
	if text == "" {
		return "< (" + kind + ")\n"
	}
	return marked("< ", ended(Line{Text: text, More: more}))
}

// ended is the text with a line's end, unless the next line goes on with it.
func ended(l Line) string {
	if l.More || strings.HasSuffix(l.Text, "\n") {
		return l.Text
	}
	return l.Text + "\n"
}

// marked has each line of a text begin with a mark.
func marked(mark, text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(mark + line)
	}
	return out.String()
}

// telling are the members of a tool's input that say the most, the first one first.
var telling = []string{"command", "file_path", "path", "url", "query", "pattern", "prompt", "description"}

// brief is what a call is about, in one line.
func brief(t Tool) string {
	if t.Cut {
		return "(what it was given is too long to be shown)"
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

// result is the beginning of what a tool gave back.
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
