package answerschema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"torno/manager/answerschema"
)

func document(t *testing.T, text string) map[string]any {
	t.Helper()
	var d map[string]any
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func compile(t *testing.T, text string) *answerschema.Schema {
	t.Helper()
	s, err := answerschema.Compile(document(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const review = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://example.com/review", "type": "object",
	"required": ["ok"], "additionalProperties": false,
	"properties": {"ok": {"type": "boolean"}, "id": {"type": "integer"}, "notes": {"$ref": "#/$defs/notes"}},
	"$defs": {"notes": {"type": "array", "items": {"type": "string", "pattern": "^[a-z]+$"}}}}`

func TestAnswersThatMatch(t *testing.T) {
	s := compile(t, review)
	for answer, want := range map[string]string{
		`{"ok": true}`: `{"ok":true}`,
		" \n{\"ok\": false, \"notes\": [\"a\"]}\n": `{"notes":["a"],"ok":false}`,
		"```json\n{\"ok\": true}\n```":             `{"ok":true}`,
		"```\n{\"ok\": true}\n```\n":               `{"ok":true}`,
		`{"ok": 1, "ok": true}`:                    `{"ok":true}`,
		`{"ok": true, "id": 12345678901234567890}`: `{"id":12345678901234567890,"ok":true}`,
	} {
		value, mismatch := s.Check(answer)
		if mismatch != nil || string(value) != want {
			t.Errorf("%q: got %s, %v, want %s", answer, value, mismatch, want)
		}
	}
}

func TestAnswersThatDoNot(t *testing.T) {
	s := compile(t, review)
	for answer, want := range map[string]struct {
		reason answerschema.Reason
		detail string
	}{
		``:                                       {answerschema.NotJSON, "unexpected end"},
		`Here it is: {"ok": true}`:               {answerschema.NotJSON, "invalid character 'H'"},
		`{"ok": true} {"ok": true}`:              {answerschema.NotJSON, "after top-level value"},
		"```sh\n{\"ok\": true}\n```":             {answerschema.NotJSON, "invalid character '`'"},
		`null`:                                   {answerschema.DoesNotMatch, "type"},
		`{}`:                                     {answerschema.DoesNotMatch, "required"},
		`{"ok": "yes"}`:                          {answerschema.DoesNotMatch, `/properties/ok: type: yes has type "string", want "boolean"`},
		`{"ok": true, "x": 1}`:                   {answerschema.DoesNotMatch, "unexpected additional properties"},
		`{"ok": true, "notes": ["A"]}`:           {answerschema.DoesNotMatch, "pattern"},
		`"` + strings.Repeat("x", 256<<10) + `"`: {answerschema.TooLarge, "at most 262144"},
		strings.Repeat("[", 100000):              {answerschema.NotJSON, "depth"},
	} {
		value, mismatch := s.Check(answer)
		if value != nil || mismatch == nil || mismatch.Reason != want.reason || !strings.Contains(mismatch.Detail, want.detail) {
			t.Errorf("%.60q: got %s, %+v, want %+v", answer, value, mismatch, want)
		}
	}
}

// TestAMismatch is what the child and the caller get.
func TestAMismatch(t *testing.T) {
	_, mismatch := compile(t, `{"type": "boolean"}`).Check("3")
	text, err := json.Marshal(mismatch)
	want := `{"error":"output_schema","reason":"does_not_match","detail":"validating root: type: 3 has type \"integer\", want \"boolean\""}`
	if err != nil || string(text) != want {
		t.Errorf("got %s, %v\nwant %s", text, err, want)
	}
	feedback := mismatch.Feedback()
	if !strings.HasPrefix(feedback, `Your answer is not what was asked for: validating root: type: 3`) || !strings.Contains(feedback, `{"type":"boolean"}`) {
		t.Error(feedback)
	}
}

func TestALongMismatchIsShort(t *testing.T) {
	_, mismatch := compile(t, `{"type": "boolean"}`).Check(`"` + strings.Repeat("ä", 10000) + `"`)
	if len(mismatch.Detail) > 1100 {
		t.Errorf("%d bytes", len(mismatch.Detail))
	}
}

func TestRefusedSchemas(t *testing.T) {
	for schema, want := range map[string]string{
		`{"$ref": "https://example.com/s.json"}`:                "nothing is fetched",
		`{"$ref": "file:///etc/passwd"}`:                        "nothing is fetched",
		`{"$ref": "other.json"}`:                                "nothing is fetched",
		`{"items": {"$REF": "#/$defs/a"}, "$defs": {"a": {}}}`:  "nothing is fetched",
		`{"$ref": "#/$defs/a%62", "$defs": {"ab": {}}}`:         "nothing is fetched",
		`{"$ref": "#/$defs/a/items", "$defs": {"a/items": {}}}`: "nothing is fetched",
		`{"$ref": "#"}`: "nothing is fetched",
		`{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}`:                            "contains itself",
		`{"$defs": {"a": {"items": {"$ref": "#/$defs/b"}}, "b": {"not": {"$ref": "#/$defs/a"}}}}`: "contains itself",
		`{"$dynamicRef": "#a"}`:                                  "not supported",
		`{"items": {"$id": "https://example.com/x"}}`:            "$id in one of its parts",
		`{"$DEFS": {}}`:                                          "write it as $defs",
		`{"$schema": "http://json-schema.org/draft-04/schema#"}`: "leave it out, or use",
		`{"type": 5}`:                                            "is no JSON Schema",
		`{"properties": {"a": null}}`:                            "is no JSON Schema",
		`{"pattern": "(?=a)"}`:                                   "pattern that Go does not know",
		`{"pattern": "((a{100}){100})"}`:                         "pattern that Go does not know",
		`{"pattern": "` + strings.Repeat("a", 600) + `"}`:        "more than 512 characters",
		`{"not": ` + strings.Repeat(`{"not": `, 70) + `{}` + strings.Repeat("}", 71): "nested more than 64 deep",
		`{"enum": ["` + strings.Repeat("a", 64<<10) + `"]}`:                          "larger than 64 KiB",
		doubling(20): "too large with its references written out",
	} {
		if _, err := answerschema.Compile(document(t, schema)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: got %v, want %q", schema, err, want)
		}
	}
	if _, err := answerschema.Compile(nil); err == nil {
		t.Error("no schema at all was taken")
	}
}

// doubling is a schema of n parts, each of which has the next one twice.
func doubling(n int) string {
	parts := []string{fmt.Sprintf(`"p%d": {}`, n)}
	for i := range n {
		parts = append(parts, fmt.Sprintf(`"p%d": {"allOf": [{"$ref": "#/$defs/p%d"}, {"$ref": "#/$defs/p%d"}]}`, i, i+1, i+1))
	}
	return `{"$ref": "#/$defs/p0", "$defs": {` + strings.Join(parts, ", ") + `}}`
}

// TestWorkIsBounded: a schema and an answer that are each within their bounds are too much together.
func TestWorkIsBounded(t *testing.T) {
	s := compile(t, doubling(8))
	if _, mismatch := s.Check(`[1]`); mismatch != nil {
		t.Error(mismatch)
	}
	_, mismatch := s.Check("[" + strings.Repeat("1,", 60000) + "1]")
	if mismatch == nil || mismatch.Reason != answerschema.TooLarge {
		t.Errorf("got %v", mismatch)
	}
}

// BenchmarkWorst validates what takes longest for its weight, as far as we found: alternatives, each of which makes an error
// for each item, and a pattern that keeps many threads going.
func BenchmarkWorst(b *testing.B) {
	for name, worst := range map[string]struct{ schema, answer string }{
		"alternatives": {
			`{"items": {"anyOf": [` + strings.Repeat(`{"type": "object", "enum": [0]},`, 40) + `{}]}}`,
			"[" + strings.Repeat("1,", 35000) + "1]",
		},
		"pattern": {`{"pattern": "(a?){300}(a?b?){300}c"}`, `"` + strings.Repeat("a", 44000) + `"`},
		"printed": {`{"anyOf": [` + strings.Repeat(`{"type": "object"},`, 20) + `{}]}`, "[" + strings.Repeat("[],", 60000) + "1]"},
	} {
		b.Run(name, func(b *testing.B) {
			var schema answerschema.Schema
			if err := json.Unmarshal([]byte(worst.schema), &schema); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, mismatch := schema.Check(worst.answer); mismatch != nil && mismatch.Reason == answerschema.TooLarge {
					b.Fatal(mismatch)
				}
			}
		})
	}
}

// FuzzCheck: no schema and no answer break the validator, and what it returns matches once more.
func FuzzCheck(f *testing.F) {
	for _, answer := range []string{`{"ok": true}`, `null`, "```json\n[1, 2.5e3]\n```", `{"a": [{"b": ""}]}`} {
		f.Add(review, answer)
		f.Add(doubling(3), answer)
		f.Add(`{"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"const": 1}], "additionalItems": {"multipleOf": 0}, "uniqueItems": true}`, answer)
		f.Add(`{"dependentSchemas": {"a": {"unevaluatedProperties": false}}, "contains": {"minimum": 1}, "propertyNames": {"maxLength": 1}, "default": 1}`, answer)
		f.Add(`{"if": {"enum": [[], {}]}, "then": false, "else": {"oneOf": [true, {"not": {}}]}, "patternProperties": {"^a": {"minItems": 1}}}`, answer)
	}
	f.Fuzz(func(t *testing.T, schema, answer string) {
		var d map[string]any
		if json.Unmarshal([]byte(schema), &d) != nil {
			return
		}
		s, err := answerschema.Compile(d)
		if err != nil {
			return
		}
		value, mismatch := s.Check(answer)
		if (value == nil) == (mismatch == nil) {
			t.Fatalf("%s and %v", value, mismatch)
		}
		if mismatch != nil {
			return
		}
		if _, again := s.Check(string(value)); again != nil && again.Reason != answerschema.TooLarge {
			t.Errorf("%s matched as %s and then did not: %v", answer, value, again)
		}
	})
}
