package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode"
)

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"plain, ünïcödé 日本 🙂\n\tkept": "plain, ünïcödé 日本 🙂\n\tkept",
		"dos\r\n":                     "dos\n",
		"over\rwritten":               `over\x0dwritten`,
		"\x1b]0;title\x07":            `\x1b]0;title\x07`,
		"\u009b31m":                   `\u009b31m`, // the same as ESC [ for some terminals
		"a\u202eb\u2066c":             `a\u202eb\u2066c`,
		"zero\u200bwidth":             `zero\u200bwidth`,
		"tag\U000e0041":               `tag\ue0041`,
		"bad\xff\xfe":                 `bad\xff\xfe`,
		"true \uFFFD":                 "true \uFFFD",
		"\x7f\x00":                    `\x7f\x00`,
		"wide\u3000space":             "wide\u3000space",
	} {
		if got := visible(text); got != want {
			t.Errorf("visible(%q) = %q, want %q", text, got, want)
		}
	}
}

// Whatever a child writes, nothing that a terminal obeys comes out, and JSON stays the same JSON.
func FuzzHidden(f *testing.F) {
	f.Add("\x1b[2J\u202e\xff")
	f.Add("\U000e0041\u2028")
	f.Fuzz(func(t *testing.T, text string) {
		shown := visible(text)
		if strings.ContainsFunc(shown, func(r rune) bool { return r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf) }) {
			t.Errorf("visible(%q) = %q", text, shown)
		}
		if line := OneLine(text); strings.ContainsAny(line, "\n\t") {
			t.Errorf("OneLine(%q) = %q", text, line)
		}
		data, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		escaped := escapeHidden(string(data))
		if strings.ContainsFunc(escaped, Hidden) {
			t.Errorf("escapeHidden(%q) = %q", data, escaped)
		}
		var before, after string
		if json.Unmarshal(data, &before) != nil || json.Unmarshal([]byte(escaped), &after) != nil || before != after {
			t.Errorf("%s became %s", data, escaped)
		}
	})
}

func TestQuotedLinesStayBehindTheirBars(t *testing.T) {
	var b strings.Builder
	o := NewOutput(&b, func(string) string { return "" })
	o.Quoted("one\nsubagent: forged\r\n\x1b[1A\nlast")
	want := "  | one\n  | subagent: forged\n  | \\x1b[1A\n  | last\n"
	if b.String() != want {
		t.Errorf("got %q", b.String())
	}
}

// TestRowsFitIntoAWidth: the widest column gives way, a narrow one never, and what was cut is marked.
func TestRowsFitIntoAWidth(t *testing.T) {
	rows := [][]Cell{Row("KEY", "NAME", "STATE"), Row("0123456789", "a-long-name-of-an-outbox", "running for 3s")}
	for width, want := range map[int]string{
		80: "0123456789|a-long-name-of-an-outbox|running for 3s",
		45: "0123456789|a-long-name-of-a…|running for 3s",
		34: "0123456…|a-long-…|running for 3s",
		5:  "0123456…|a-long-…|running…",
	} {
		var cells []string
		for _, cell := range Fit(slices.Clone(rows), width)[1] {
			cells = append(cells, cell.Text)
		}
		if got := strings.Join(cells, "|"); got != want {
			t.Errorf("%d: %s, want %s", width, got, want)
		}
	}
}
