package delegation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// These constants limit JSON. The outermost object counts as one level. A decoded object takes fifty times as much memory
// as its text, so a few megabytes of empty ones would take hundreds of megabytes.
const (
	maxDepth  = 64
	maxValues = 100_000
)

// parseObject reads one JSON object, member by member. The text must be valid UTF-8 of bounded depth and number of
// values; no name may come twice, and nothing may follow the object. Names must match letter for letter, which encoding/json does not demand for
// structs.
func parseObject(data []byte) (map[string]json.RawMessage, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("not valid UTF-8")
	}
	switch depth, values := shapeOf(data); {
	case depth > maxDepth:
		return nil, fmt.Errorf("nested more than %d levels deep", maxDepth)
	case values > maxValues:
		return nil, fmt.Errorf("more than %d values", maxValues)
	}
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil {
		return nil, err
	}
	object := map[string]json.RawMessage{}
	err := eachMember(data, func(name string, value json.RawMessage) error {
		if _, twice := object[name]; twice {
			return fmt.Errorf("%.60q is given twice", name)
		}
		object[name] = value
		return nil
	})
	return object, err
}

// eachMember visits the members of an object, up to the point where the text stops being JSON.
func eachMember(data []byte, visit func(name string, value json.RawMessage) error) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if first, err := decoder.Token(); err != nil || first != json.Delim('{') {
		return errors.Join(errors.New("not a JSON object"), err)
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return err
		}
		text, _ := name.(string)
		if err := visit(text, value); err != nil {
			return err
		}
	}
	return nil
}

// shapeOf returns how deep brackets nest outside of strings, and at most how many values there are. It must run before
// anything that recurses or decodes.
func shapeOf(data []byte) (deepest, values int) {
	depth, inString := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == ',':
			values++
		case c == '{' || c == '[':
			values++
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest, values
}

// decodeStrict fills the struct behind target from an object. Names must match exactly and types strictly; unknown
// members are ignored. A member that is null counts as absent. Each member in required must be there.
func decodeStrict(data []byte, target any, required ...string) error {
	object, err := parseObject(data)
	if err != nil {
		return err
	}
	for name, value := range object {
		if string(value) == "null" {
			delete(object, name)
		}
	}
	for _, name := range required {
		if _, ok := object[name]; !ok {
			return fmt.Errorf("%s is missing", name)
		}
	}
	fields := reflect.ValueOf(target).Elem()
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Type().Field(i).Tag.Get("json"), ",")
		value, ok := object[name]
		if !ok {
			continue
		}
		if err := json.Unmarshal(value, fields.Field(i).Addr().Interface()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// encode writes a value in this package's one spelling: two blanks of indent, no HTML escapes, a newline at the end.
func encode(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}
