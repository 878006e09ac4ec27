package agent

import (
	"strings"
	"testing"
)

func TestShow(t *testing.T) {
	for want, l := range map[string]Line{
		"hello\n":                     {Kind: Text, Text: "hello"},
		"hel":                         {Kind: Text, Text: "hel", More: true},
		"~ hm\n~ well\n":              {Kind: Thinking, Text: "hm\nwell"},
		"> Bash ls -la; echo x\n":     {Kind: ToolCall, Tool: &Tool{Name: "Bash", Input: []byte(`{"description":"d","command":"ls -la;\n echo x"}`)}},
		"? Bash make install\n":       {Kind: Ask, Ask: "q", Tool: &Tool{Name: "Bash", Input: []byte(`{"command":"make install"}`)}},
		"> Odd [1,2]\n":               {Kind: ToolCall, Tool: &Tool{Name: "Odd", Input: []byte(`[1,2]`)}},
		"> Read {\"file_path\":{}}\n": {Kind: ToolCall, Tool: &Tool{Name: "Read", Input: []byte(`{"file_path":{}}`)}},
		"> Write (its input is too long to show)\n":       {Kind: ToolCall, Tool: &Tool{Name: "Write", Cut: true}},
		"> Say " + strings.Repeat("ü", shownCall) + "…\n": {Kind: ToolCall, Tool: &Tool{Name: "Say", Input: []byte(`{"path":"` + strings.Repeat("ü", shownCall+1) + `"}`)}},
		"  1\n  2\n  3\n  4\n  … 2 more lines\n":          {Kind: ToolResult, Text: "1\n2\n3\n4\n5\n6\n", Tool: &Tool{}},
		"  failed: no\n":            {Kind: ToolResult, Text: "no", Tool: &Tool{}, Failed: true},
		"  7 tokens in, 3 out\n":    {Kind: Usage, Tokens: &Tokens{Input: 7, Output: 3}},
		"failed: too dear\n":        {Kind: Result, Text: "too dear", Failed: true},
		"! it tries again\n":        {Kind: Notice, Text: "it tries again"},
		"< look\n< there\n":         {Kind: Acknowledged, N: 1, Text: "look\nthere"},
		"< (told)\n":                {Kind: Acknowledged, N: 1},
		"! claude did not get it\n": {Kind: Acknowledged, N: 1, Text: "claude did not get it", Failed: true},
	} {
		if got := Show(l); got != want {
			t.Errorf("%+v is shown as %q, want %q", l, got, want)
		}
	}
	for _, l := range []Line{{Kind: Result, Text: "done"}, {Kind: ToolResult, Tool: &Tool{}}} {
		if got := Show(l); got != "" {
			t.Errorf("%+v is shown as %q", l, got)
		}
	}
}
