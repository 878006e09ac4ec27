package answerschema

import (
	"errors"
	"fmt"
	"maps"
	"regexp/syntax"
	"slices"
	"strings"
)

const (
	// maxWeight bounds a schema's weight with all its references written out.
	maxWeight = 8192
	maxDepth  = 64
	// maxPattern bounds a pattern, because compiling it takes time and memory.
	maxPattern = 512
	// Texts and patterns cost less than schemas, but they are not free.
	bytesPerUnit, stepsPerUnit = 32, 8
)

var (
	errTooHeavy = fmt.Errorf("is too large with its references written out: more than %d parts", maxWeight)
	errTooDeep  = fmt.Errorf("is nested more than %d deep", maxDepth)
)

// scale weighs a schema. It treats every part as a schema, even an example: too much weight is safe, but an overlooked
// reference is not.
type scale struct {
	parts  map[string]any // the parts that references can lead to
	known  map[string]int // the weights of those parts
	onPath map[string]bool
}

func weigh(document map[string]any) (int, error) {
	s := &scale{parts: map[string]any{}, known: map[string]int{}, onPath: map[string]bool{}}
	for key, value := range document {
		if key != "$defs" && key != "definitions" {
			if strings.EqualFold(key, "$defs") || strings.EqualFold(key, "definitions") {
				return 0, fmt.Errorf("has the key %q; write it as $defs", short(key))
			}
			continue
		}
		parts, _ := value.(map[string]any)
		for name, part := range parts {
			s.parts["#/"+key+"/"+name] = part
		}
	}
	return s.value(document, 0)
}

func (s *scale) value(value any, depth int) (int, error) {
	if depth > maxDepth {
		return 0, errTooDeep
	}
	switch value := value.(type) {
	case map[string]any:
		return s.object(value, depth)
	case []any:
		weight := 1
		for _, item := range value {
			w, err := s.value(item, depth+1)
			if err != nil {
				return 0, err
			}
			weight += w
		}
		return bounded(weight)
	case string:
		return bounded(1 + len(value)/bytesPerUnit)
	}
	return 1, nil
}

func (s *scale) object(object map[string]any, depth int) (int, error) {
	weight := 1
	for _, key := range slices.Sorted(maps.Keys(object)) { // sorted, so that of two mistakes it always reports the same one
		value := object[key]
		w, err := s.value(value, depth+1)
		if err != nil {
			return 0, err
		}
		more, err := s.keyword(key, value, depth)
		if err != nil {
			return 0, err
		}
		weight += w + more + len(key)/bytesPerUnit
		if weight > maxWeight {
			return 0, errTooHeavy
		}
	}
	return weight, nil
}

// keyword returns the weight that a key adds to the weight of its value.
func (s *scale) keyword(key string, value any, depth int) (int, error) {
	switch value := value.(type) {
	case string:
		switch strings.ToLower(key) {
		case "$ref":
			return s.reference(key, value)
		case "$dynamicref", "$recursiveref":
			return 0, fmt.Errorf("has %s, which is not supported; use $ref", short(key))
		case "$id":
			if key != "$id" || depth > 0 {
				return 0, errors.New("has an $id in one of its parts, which is not supported")
			}
		case "pattern":
			return pattern(value)
		}
	case map[string]any:
		return patterns(key, value)
	}
	return 0, nil
}

// reference returns the weight of the part that a reference leads to. It counts the depth from that part on, so the
// part weighs the same from everywhere.
func (s *scale) reference(key, target string) (int, error) {
	part, ok := s.parts[target]
	if !ok || key != "$ref" || !plainTarget(target) {
		return 0, fmt.Errorf("has the $ref %q, which leads to no part of it; only #/$defs/NAME and #/definitions/NAME are followed, and nothing is fetched", short(target))
	}
	if s.onPath[target] {
		return 0, fmt.Errorf("contains itself through the $ref %q; write the levels out that you need", short(target))
	}
	if weight, ok := s.known[target]; ok {
		return weight, nil
	}
	s.onPath[target] = true
	weight, err := s.value(part, 1)
	s.onPath[target] = false
	s.known[target] = weight
	return weight, err
}

// plainTarget reports whether every reader understands a reference in the same way: it has no escapes and no further
// steps.
func plainTarget(target string) bool {
	for _, c := range []byte(target[strings.LastIndexByte(target, '/')+1:]) {
		if c != '_' && c != '-' && c != '.' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return strings.Count(target, "/") == 2
}

func patterns(key string, object map[string]any) (int, error) {
	if !strings.EqualFold(key, "patternProperties") {
		return 0, nil
	}
	weight := 0
	for text := range object {
		w, err := pattern(text)
		if err != nil {
			return 0, err
		}
		weight += w
	}
	return weight, nil
}

// pattern returns the weight of a regular expression, which grows with the repetitions in it.
func pattern(text string) (int, error) {
	if len(text) > maxPattern {
		return 0, fmt.Errorf("has a pattern of more than %d characters", maxPattern)
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0, fmt.Errorf("has a pattern that Go does not know: %w", err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0, fmt.Errorf("has a pattern that Go does not know: %w", err)
	}
	return len(program.Inst) / stepsPerUnit, nil
}

func bounded(weight int) (int, error) {
	if weight > maxWeight {
		return 0, errTooHeavy
	}
	return weight, nil
}
