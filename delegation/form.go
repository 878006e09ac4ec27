package delegation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// form reads the members of a request strictly and keeps the first complaint.
type form struct {
	body    map[string]any
	refusal *Refusal
}

// readForm decodes the members of a request and applies the leniencies, so that only one spelling is left to read.
func readForm(data []byte, rules []leniency) (*form, *Refusal) {
	object, err := parseObject(data)
	if err != nil {
		return nil, unparsable("", err.Error())
	}
	body, err := members(object)
	if err != nil {
		return nil, unparsable("", err.Error())
	}
	relax(body, rules)
	return &form{body: body}, nil
}

func (f *form) whole(field string) int {
	number, ok := f.body[field].(json.Number)
	if !ok {
		f.complain(field, "a whole number")
		return 0
	}
	n, err := strconv.ParseInt(number.String(), 10, 32)
	if err != nil {
		f.complain(field, "a whole number")
	}
	return int(n)
}

func (f *form) text(field string) string {
	s, ok := f.body[field].(string)
	if !ok {
		f.complain(field, "a text")
	}
	return s
}

// object returns nil for an empty object, so that equal requests decode to equal values.
func (f *form) object(field string) map[string]any {
	object, ok := f.body[field].(map[string]any)
	if !ok {
		f.complain(field, "an object")
		return nil
	}
	if err := plainNumbers(object); err != nil && f.refusal == nil {
		f.refusal = unparsable(field, field+": "+err.Error())
	}
	if len(object) == 0 {
		return nil
	}
	return object
}

func (f *form) texts(field string) []string {
	if f.body[field] == (absent{}) {
		return nil
	}
	list, ok := f.body[field].([]any)
	if !ok {
		f.complain(field, "a list of texts")
		return nil
	}
	var result []string
	for i, entry := range list {
		text, ok := entry.(string)
		if !ok {
			f.complainOf(entry, fmt.Sprintf("%s[%d]", field, i), "a text")
		}
		result = append(result, text)
	}
	return result
}

// flag returns false if the field is absent.
func (f *form) flag(field string) bool {
	if f.body[field] == (absent{}) {
		return false
	}
	is, ok := f.body[field].(bool)
	if !ok {
		f.complain(field, "true or false")
	}
	return is
}

func (f *form) time(field string) time.Time {
	if f.body[field] == (absent{}) {
		return time.Time{}
	}
	s, _ := f.body[field].(string)
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		f.complain(field, "a time")
	}
	return t.UTC()
}

func (f *form) options() map[string]string {
	given := map[string]string{}
	for _, field := range tokens {
		if f.body[field] != (absent{}) {
			given[field] = f.text(field)
		}
	}
	return given
}

func (f *form) complain(field, want string) { f.complainOf(f.body[field], field, want) }

func (f *form) complainOf(got any, field, want string) {
	if f.refusal != nil {
		return
	}
	if got == (absent{}) {
		f.refusal = unparsable(field, field+" is missing")
		return
	}
	f.refusal = unparsable(field, fmt.Sprintf("%s must be %s, got %s", field, want, typeName(got)))
}

// members decodes the members that a request may have. Numbers keep their spelling.
func members(object map[string]json.RawMessage) (map[string]any, error) {
	body := map[string]any{}
	for _, field := range requestFields {
		value, given := object[field]
		if !given {
			body[field] = absent{}
			continue
		}
		v, err := decodeValue(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", field, err)
		}
		body[field] = v
	}
	return body, nil
}

func decodeValue(value json.RawMessage) (v any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	err = decoder.Decode(&v)
	return v, err
}

// typeName names the type of a decoded value, for people.
func typeName(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case json.Number:
		return "a number"
	case string:
		return "a text"
	case []any:
		return "a list"
	}
	return "an object"
}

func unparsable(field, text string) *Refusal {
	return &Refusal{
		Code: CodeUnparsable, Field: field, Text: "Failed to parse request: " + text,
		Hint: "write the whole request into a temporary file and rename it; docs/PROTOCOL.md lists the fields",
	}
}

func invalid(code Code, field, text, hint string) *Refusal {
	return &Refusal{Code: code, Field: field, Text: "Invalid request: " + text, Hint: hint}
}
