package delegation

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

// FuzzDecodeRequest: a text is refused with a whole refusal of a known code, or taken as a request whose every part was
// parsed, that has one spelling, and that no torn or doubled text is taken for. Reading costs memory in proportion.
func FuzzDecodeRequest(f *testing.F) {
	addFiles(f, "testdata/refused/*.json")
	addFiles(f, "testdata/golden/*request*")
	addHostileRequests(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		var got Request
		var err error
		if took := allocated(func() { got, err = DecodeRequest(data) }); took > mostAllocated(len(data)) {
			t.Errorf("%d bytes took %d of memory", len(data), took)
		}
		subagent, request := PeekIDs(data)
		if len(subagent) > MaxRequestID || len(request) > MaxRequestID {
			t.Errorf("ids of %d and %d bytes were found", len(subagent), len(request))
		}
		if err != nil {
			checkRefusal(t, err)
			return
		}
		if subagent != got.SubagentID.String() || request != got.RequestID.String() {
			t.Errorf("the ids are %q and %q to whoever only peeks, not %q and %q", subagent, request, got.SubagentID, got.RequestID)
		}
		checkRequest(t, got)
		checkWhole(t, data, got)
		roundTrip(t, got)
	})
}

var (
	reference = map[string]*regexp.Regexp{
		"id": regexp.MustCompile(`\A[A-Za-z0-9][A-Za-z0-9._-]{0,127}\z`), "token": regexp.MustCompile(`\A[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}\z`),
	}
	fieldForm = regexp.MustCompile(`\A[a-z_]*(\[[0-9]+\])?\z`)
)

// printable is what ParseRequestID promises, from Unicode's tables.
func printable(s string) bool {
	graphic := []*unicode.RangeTable{unicode.L, unicode.M, unicode.N, unicode.P, unicode.S}
	return utf8.ValidString(s) && s != "" && len(s) <= 256 &&
		!strings.ContainsFunc(s, func(r rune) bool { return r != ' ' && !unicode.In(r, graphic...) })
}

func checkRefusal(t *testing.T, err error) {
	t.Helper()
	refusal, ok := err.(*Refusal)
	if !ok || refusal.Text == "" || refusal.Hint == "" || !slices.Contains([]Code{CodeUnparsable, CodeInvalid, CodeBadID}, refusal.Code) {
		t.Fatalf("%#v is no refusal of a request's text", err)
	}
	if !fieldForm.MatchString(refusal.Field) || refusal.Code != CodeUnparsable && refusal.Field == "" {
		t.Errorf("the field to blame is %q", refusal.Field)
	}
	if len(refusal.Text) > 1000 || !utf8.ValidString(refusal.Text) || strings.ContainsFunc(refusal.Text, unicode.IsControl) {
		t.Errorf("this is no sentence: %.2000q", refusal.Text)
	}
}

// checkRequest has the promises about a request, written down a second time.
func checkRequest(t *testing.T, r Request) {
	t.Helper()
	for _, token := range []Token{r.Profile, r.Model, r.SessionID, r.ParentID} {
		if !token.IsZero() && !reference["token"].MatchString(token.String()) {
			t.Errorf("%q is taken for a token", token)
		}
	}
	paths := append([]string{r.Task, r.Workspace}, r.ContextPaths...)
	texts := strings.Join(append(paths, r.AnswerFile), "")
	created := r.CreatedAt.IsZero() || r.CreatedAt.Year() >= 1 && r.CreatedAt.Year() <= 9999 && r.CreatedAt.Location() == time.UTC
	for what, ok := range map[string]bool{
		"subagent_id":     reference["id"].MatchString(r.SubagentID.String()),
		"request_id":      printable(r.RequestID.String()),
		"timeout_seconds": r.TimeoutSeconds >= 1 && r.TimeoutSeconds <= math.MaxInt32,
		"created_at":      created,
		"context_paths":   len(r.ContextPaths) <= 64,
		"yaml_config":     checkJSON(r.YAMLConfig, 64),
		"an empty text":   !slices.Contains(paths, ""),
		"a NUL":           !strings.ContainsRune(texts, 0),
		"UTF-8":           utf8.ValidString(texts),
	} {
		if !ok {
			t.Errorf("%s: %#v was taken", what, r)
		}
	}
}

// checkJSON says whether a value has the types that are promised, and is nested no deeper than it may be.
func checkJSON(value any, depth int) bool {
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			if !utf8.ValidString(name) || !checkJSON(inner, depth-1) {
				return false
			}
		}
		return depth > 0
	case []any:
		return depth > 0 && !slices.ContainsFunc(value, func(inner any) bool { return !checkJSON(inner, depth-1) })
	case string:
		return utf8.ValidString(value)
	case nil, bool, int64, float64:
		return true
	}
	return false
}

// checkWhole changes a text that was taken: no part of it may be taken, nor it with a member twice, nor with more after
// it; an unknown member changes nothing.
func checkWhole(t *testing.T, data []byte, r Request) {
	t.Helper()
	text := strings.TrimRight(string(data), " \t\r\n")
	body := strings.TrimLeft(text, " \t\r\n")[1:]
	for what, bad := range map[string]string{
		"a third": text[:len(text)/3], "half": text[:len(text)/2], "all but the end": text[:len(text)-1],
		"a task twice": `{"task":"x",` + body, "a text after it": text + "x", "itself behind it": text + text, "a byte of no text": text[:1] + "\xff" + text[1:],
	} {
		if got, err := DecodeRequest([]byte(bad)); err == nil {
			t.Errorf("%s of %q was taken as %#v", what, text, got)
		}
	}
	if strings.Contains(text, "of no meaning") {
		return
	}
	if got, err := DecodeRequest([]byte(`{"of no meaning":[{}],` + body)); err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("with another member it is %#v, %v", got, err)
	}
}

// FuzzRequestRoundTrip begins with values instead of text.
func FuzzRequestRoundTrip(f *testing.F) {
	f.Add("s1", "r1", "task", "/w", "/w/answer.txt", "small", "/c", 60, int64(1), `{"a":[1,2.5,"x",null,true]}`)
	f.Add("a.b", "é", "--help", "w", "", "", "", 1, int64(-62135596800), `{}`)
	f.Add("s", "r", "\u2028<&>\x7f", "\\", "\"", "a:b", "~", 2147483647, int64(253402300799), `{"n":1e300,"m":-0.0,"k":9007199254740993}`)
	for _, id := range hostileIDs {
		f.Add("s1", id, id, id, id, id, id, 1, int64(0), `{"`+id+`":"`+id+`"}`)
	}
	f.Fuzz(func(t *testing.T, subagent, request, task, workspace, answer, profile, path string, seconds int, created int64, yaml string) {
		r := Request{Task: task, Workspace: workspace, AnswerFile: answer, TimeoutSeconds: seconds, CreatedAt: time.Unix(created, 7).UTC()}
		if r.SubagentID.UnmarshalText([]byte(subagent)) != nil || r.RequestID.UnmarshalText([]byte(request)) != nil ||
			r.Profile.UnmarshalText([]byte(profile)) != nil {
			return
		}
		if path != "" {
			r.ContextPaths = []string{path, "/second"}
		}
		if json.Unmarshal([]byte(yaml), &r.YAMLConfig) != nil || len(r.YAMLConfig) == 0 {
			r.YAMLConfig = nil
		} else if plainFloats(r.YAMLConfig) != nil {
			return
		}
		if _, err := r.Encode(); err == nil {
			checkRequest(t, r)
			roundTrip(t, r)
		}
	})
}

// plainFloats makes the numbers of encoding/json those of this package.
func plainFloats(object map[string]any) error {
	data, err := json.Marshal(object)
	if err != nil {
		return err
	}
	clear(object)
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&object); err != nil {
		return err
	}
	return plainNumbers(object)
}

func roundTrip(t *testing.T, r Request) {
	t.Helper()
	first, err := r.Encode()
	if err != nil {
		t.Fatalf("%+v cannot be written: %v", r, err)
	}
	again, err := DecodeRequest(first)
	if err != nil || !reflect.DeepEqual(again, r) {
		t.Fatalf("%s\nis read as %#v, %v\nnot as     %#v", first, again, err, r)
	}
	if second, err := again.Encode(); err != nil || !bytes.Equal(first, second) {
		t.Fatalf("%v: two spellings:\n%s\n%s", err, first, second)
	}
}
