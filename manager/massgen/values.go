package massgen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// MaxArguments bounds the text of the arguments, in bytes.
const MaxArguments = 1 << 20

// object parses the arguments of a tool. Empty arguments count as an empty object.
func object(op Operation, data []byte) (map[string]any, *Failure) {
	if len(data) > MaxArguments {
		return nil, op.fail("The arguments are %d bytes long, at most %d are allowed. Put long texts into a file of the workspace and name it.", len(data), MaxArguments)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return map[string]any{}, nil
	}
	var fields map[string]any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&fields); err != nil {
		return nil, op.fail("The arguments are not a JSON object: %v. Send one object.", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, op.fail("There is something behind the arguments. Send one JSON object and nothing else.")
	}
	return fields, nil
}

// pythonType names the type of a value as MassGen's texts do.
func pythonType(value any) string {
	switch value := value.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case string:
		return "str"
	case json.Number:
		if strings.ContainsAny(value.String(), ".eE") {
			return "float"
		}
		return "int"
	case []any:
		return "list"
	default:
		return "dict"
	}
}

// reader takes typed values out of an object and remembers the first value of a wrong type.
type reader struct {
	at     string // the owner of the fields, for people
	fields map[string]any
	wrong  string // the first mistake, or ""
}

func (r *reader) complain(name, want string, value any) {
	if r.wrong == "" {
		r.wrong = fmt.Sprintf("%s has an invalid '%s' type: expected %s, got %s.", r.at, name, want, pythonType(value))
	}
}

// text returns the text in a field, or "" if the field is missing.
func (r *reader) text(name string) string {
	value, ok := r.fields[name].(string)
	if !ok && r.fields[name] != nil {
		r.complain(name, "string", r.fields[name])
	}
	return value
}

// flag returns the bool in a field, or without if the field is missing.
func (r *reader) flag(name string, without bool) bool {
	if r.fields[name] == nil {
		return without
	}
	value, ok := r.fields[name].(bool)
	if !ok {
		r.complain(name, "bool", r.fields[name])
		return without
	}
	return value
}

// texts returns the list of texts in a field, or nil if the field is missing.
func (r *reader) texts(name string) []string {
	if r.fields[name] == nil {
		return nil
	}
	list, ok := r.fields[name].([]any)
	if !ok {
		r.complain(name, "list", r.fields[name])
	}
	var all []string
	for i, entry := range list {
		text, ok := entry.(string)
		if !ok {
			r.complain(fmt.Sprintf("%s[%d]", name, i), "string", entry)
			continue
		}
		all = append(all, text)
	}
	return all
}

// seconds returns the number in a field, a positive whole number of seconds. It returns 0 if the field is missing.
func (r *reader) seconds(name string) int {
	if r.fields[name] == nil {
		return 0
	}
	number, ok := r.fields[name].(json.Number)
	if !ok {
		r.complain(name, "int", r.fields[name])
		return 0
	}
	n, err := number.Int64()
	if (err != nil || n <= 0 || n > maxSeconds) && r.wrong == "" {
		r.wrong = fmt.Sprintf("%s has an invalid '%s': give a whole number of seconds from 1 to %d.", r.at, name, maxSeconds)
	}
	return int(min(max(n, 0), maxSeconds))
}

// maxSeconds is a year: longer than any child runs, short enough for every clock.
const maxSeconds = 365 * 24 * 60 * 60

// object returns the object in a field, or nil if the field is missing.
func (r *reader) object(name string) map[string]any {
	value, ok := r.fields[name].(map[string]any)
	if !ok && r.fields[name] != nil {
		r.complain(name, "dict", r.fields[name])
	}
	return value
}

// only complains about a field that is not among the known fields.
func (r *reader) only(known ...string) {
	for _, name := range slices.Sorted(maps.Keys(r.fields)) {
		if !slices.Contains(known, name) && r.wrong == "" {
			r.wrong = fmt.Sprintf("%s has the unknown field '%.100s'. Known fields: %s.", r.at, name, strings.Join(known, ", "))
		}
	}
}
