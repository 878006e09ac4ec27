// Package fields is for tests that hold pages against types: each field that JSON has must be on a page.
package fields

import (
	"reflect"
	"strings"
)

// Names are those of all fields of values, and of their fields' types, as JSON has them.
func Names(values ...any) map[string]bool {
	names := map[string]bool{}
	for _, value := range values {
		add(reflect.TypeOf(value), names)
	}
	return names
}

func add(of reflect.Type, names map[string]bool) {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		add(of.Elem(), names)
	case reflect.Struct:
		for f := range of.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "-" || !f.IsExported() && !f.Anonymous {
				continue
			}
			if name != "" {
				names[name] = true
			}
			add(f.Type, names)
		}
	}
}
