package delegation

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestParseSubagentID(t *testing.T) {
	for _, good := range []string{"a", "0", "A9", "s1.b-c_d", "a..b", "con", "a.", strings.Repeat("x", 128)} {
		id, err := ParseSubagentID(good)
		if err != nil || id.String() != good || id.IsZero() {
			t.Errorf("%q: %q, %v", good, id, err)
		}
	}
	for name, bad := range map[string]string{
		"empty":               "",
		"dot":                 ".",
		"two dots":            "..",
		"hidden":              ".a",
		"option":              "-a",
		"underscore first":    "_a",
		"slash":               "a/b",
		"backslash":           `a\b`,
		"blank":               "a b",
		"trailing newline":    "a\n",
		"NUL":                 "a\x00",
		"colon":               "a:b",
		"star":                "a*",
		"dollar":              "a$b",
		"129 bytes":           strings.Repeat("x", 129),
		"Cyrillic a":          "\u0430",
		"Greek omicron":       "s\u03bf",
		"fullwidth letter":    "\uff41",
		"fullwidth slash":     "a\uff0fb",
		"division slash":      "a\u2215b",
		"one dot leader":      "a\u2024",
		"hyphen of Unicode":   "a\u2010b",
		"zero width joiner":   "a\u200db",
		"right to left":       "a\u202eb",
		"combining accent":    "e\u0301",
		"Arabic digit":        "a\u0663",
		"Kelvin sign":         "\u212a",
		"long s":              "\u017f",
		"dotless i":           "\u0131",
		"byte order mark":     "\ufeffa",
		"invalid UTF-8":       "a\xff",
		"overlong slash":      "a\xc0\xafb",
		"mathematical letter": "\U0001d41a",
		"non-breaking blank":  "a\u00a0",
	} {
		if id, err := ParseSubagentID(bad); err == nil {
			t.Errorf("%s: %q is taken as %q", name, bad, id)
		}
	}
}

func TestParseRequestID(t *testing.T) {
	for _, good := range []string{"9f2c4e1ab0d37755", " ", "a/b", "../..", "é🧪", strings.Repeat("é", 128), `"`} {
		if id, err := ParseRequestID(good); err != nil || id.IsZero() || id.String() != good || len(id.Hash()) != 16 {
			t.Errorf("%q: %q, %v", good, id, err)
		}
	}
	for _, bad := range []string{
		"", "\n", "a\tb", "a\x00b", "a\x1b[31m", "\x7f", "\u0085", "\u00ad", "\u200b", "\u2028", "\u202e", "\ufeff", "\ue000", "a\xff",
		strings.Repeat("é", 128) + "x",
	} {
		if id, err := ParseRequestID(bad); err == nil {
			t.Errorf("%q is taken as %q", bad, id)
		}
	}
}

// TestHash pins the hash: it stands in file names that two versions of Torno must agree on.
func TestHash(t *testing.T) {
	if got := requestID(t, "9f2c4e1ab0d37755").Hash(); got != "b704fa2c2edd196f" {
		t.Error(got)
	}
	if requestID(t, "a").Hash() == requestID(t, "a ").Hash() {
		t.Error("two ids, one hash")
	}
}

func TestParseToken(t *testing.T) {
	for _, good := range []string{"gpt-5", "a/b:c@d.e_f-g", "0", strings.Repeat("x", 128)} {
		if token, err := ParseToken(good); err != nil || token.String() != good || token.IsZero() {
			t.Errorf("%q: %q, %v", good, token, err)
		}
	}
	for _, bad := range []string{"", "-p", "--privileged", "/etc", "@x", ":x", "a b", "a=b", "a;b", "$(id)", "a\n", "\u0430", strings.Repeat("x", 129)} {
		if token, err := ParseToken(bad); err == nil {
			t.Errorf("%q is taken as %q", bad, token)
		}
	}
}

// TestIDsInJSON shows that no type of id can be filled from JSON past its parser.
func TestIDsInJSON(t *testing.T) {
	var into struct {
		Subagent SubagentID
		Request  RequestID
		Token    Token
	}
	for _, bad := range []string{`{"Subagent":"../x"}`, `{"Request":"a\nb"}`, `{"Token":"--x"}`, `{"Subagent":""}`, `{"Request":""}`} {
		if err := json.Unmarshal([]byte(bad), &into); err == nil {
			t.Errorf("%s is taken: %+v", bad, into)
		}
	}
	data := `{"Subagent":"s1","Request":"r 1","Token":"small"}`
	if err := json.Unmarshal([]byte(data), &into); err != nil {
		t.Fatal(err)
	}
	if back, err := json.Marshal(into); err != nil || string(back) != data {
		t.Errorf("%s, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"Token":""}`), &into); err != nil || !into.Token.IsZero() {
		t.Errorf("an empty token is none: %+v, %v", into, err)
	}
}
