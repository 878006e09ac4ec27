package outcome

import (
	"encoding/xml"
	"fmt"
	"regexp"
	"strings"
)

// frame matches text of a child that looks like a part of the frame around it.
var frame = regexp.MustCompile(`(?i)<(\s*/?\s*(?:subagent_result|answer|workspace|token_usage|execution_time|completion_percentage)\b)`)

// bars matches bars that are at least as long as a banner's bar.
var bars = regexp.MustCompile(`={60,}`)

// Inject returns the text that tells a parent's model about the work of its children in the background. The answers are
// the children's words, so Inject escapes everything in them that looks like a part of the frame.
func Inject(results ...Result) string {
	bar := strings.Repeat("=", 60)
	var text strings.Builder
	fmt.Fprintf(&text, "%s\nBACKGROUND SUBAGENT RESULTS (%d completed)\n%s\n", bar, len(results), bar)
	for _, result := range results {
		text.WriteString("\n" + inject(result) + "\n")
	}
	return text.String() + bar + "\n"
}

func inject(r Result) string {
	answer := ""
	if r.Answer != nil {
		answer = *r.Answer
	} else if r.Error != nil {
		answer = *r.Error
	}
	percentage := ""
	if r.Percentage != nil {
		percentage = fmt.Sprintf("<completion_percentage>%d%%</completion_percentage>\n", *r.Percentage)
	}
	return fmt.Sprintf(`<subagent_result id="%s" status="%s">
<execution_time>%.1fs</execution_time>
<workspace>%s</workspace>
<token_usage input="%d" output="%d" />
%s<answer success="%t">
%s
</answer>
</subagent_result>`, escape(r.SubagentID), escape(string(r.Status)), r.ExecutionTime, escape(r.Workspace), r.TokenUsage.Input, r.TokenUsage.Output,
		percentage, r.Success, unframe(answer))
}

func escape(text string) string {
	var escaped strings.Builder
	if err := xml.EscapeText(&escaped, []byte(text)); err != nil {
		return "" // unreachable: writing to a Builder never fails
	}
	return escaped.String()
}

// unframe changes a child's text only where it would end or begin a frame, or draw a banner's bar.
func unframe(text string) string {
	text = frame.ReplaceAllString(strings.ToValidUTF8(text, "\uFFFD"), "&lt;$1")
	return bars.ReplaceAllString(text, strings.Repeat("=", 59))
}
