package configs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one mistake in a configuration. As a Warning it is a probable mistake.
type Problem struct {
	File string
	Line int    // 0 if there is no file
	Key  string // such as profiles.shell.limits.memory
	Text string
}

// Warning is a Problem that does not keep the configuration from loading.
type Warning = Problem

func (p Problem) String() string {
	var parts []string
	switch {
	case p.Line > 0:
		parts = append(parts, fmt.Sprintf("%s:%d", p.File, p.Line))
	case p.File != "":
		parts = append(parts, p.File)
	}
	if p.Key != "" {
		parts = append(parts, p.Key)
	}
	return strings.Join(append(parts, p.Text), ": ")
}

// Error holds every problem of a configuration, in the order of its lines.
type Error struct{ Problems []Problem }

// ByOutbox sorts the problems by outbox, because a problem of one outbox need not stop the others. rest holds the
// problems that belong to no outbox; it is nil if there are none.
func (e *Error) ByOutbox(outboxes []Outbox) (each map[string]error, rest error) {
	parts, others := map[string]*Error{}, &Error{}
	for _, p := range e.Problems {
		part := others
		for _, o := range outboxes {
			if holds("outboxes."+o.Name, p.Key) {
				part = cmp.Or(parts[o.Name], &Error{})
				parts[o.Name] = part
			}
		}
		part.Problems = append(part.Problems, p)
	}
	each = map[string]error{}
	for name, part := range parts {
		each[name] = part
	}
	if len(others.Problems) > 0 {
		rest = others
	}
	return each, rest
}

// maxShown bounds the problems in an error's text: a file in a wrong format can have one on every line.
const maxShown = 50

func (e *Error) Error() string {
	var lines []string
	for _, problem := range e.Problems {
		if len(lines) == maxShown {
			lines = append(lines, fmt.Sprintf("and %d more", len(e.Problems)-maxShown))
			break
		}
		lines = append(lines, problem.String())
	}
	return strings.Join(lines, "\n")
}

// report collects the problems and warnings, and knows the line of each key.
type report struct {
	file     string
	lines    map[string]int // the line of each key in the file
	noLines  bool           // the configuration does not come from a file
	meant    []string       // known keys that the author probably meant when writing unknown ones
	problems []Problem
	warnings []Warning
}

// maxKept bounds the number of problems, and so the work, for a file that is wrong throughout.
const maxKept = 1000

// problem adds a problem of a key. It keeps only the first problem of a key and of the keys inside it, because the
// others would probably follow from the first.
func (r *report) problem(key, format string, args ...any) {
	known := func(p Problem) bool { return key != "" && (holds(key, p.Key) || holds(p.Key, key)) }
	if len(r.problems) >= maxKept || slices.ContainsFunc(r.problems, known) {
		return
	}
	r.problems = append(r.problems, Problem{r.file, r.line(key), key, fmt.Sprintf(format, args...)})
}

// missing reports a key that is not there, unless an unknown key seems to be this one misspelt: one mistake is one
// problem.
func (r *report) missing(key, text string) {
	if !r.misspelt(key) {
		r.problem(key, "%s", text)
	}
}

// misspelt reports whether an unknown key seems to be this key, or a key around it, misspelt.
func (r *report) misspelt(key string) bool {
	return slices.ContainsFunc(r.meant, func(meant string) bool { return holds(meant, key) })
}

func (r *report) warn(key, format string, args ...any) {
	r.warnings = append(r.warnings, Warning{r.file, r.line(key), key, fmt.Sprintf(format, args...)})
}

// holds reports whether key is outer or lies in it.
func holds(outer, key string) bool {
	rest, ok := strings.CutPrefix(key, outer)
	return ok && outer != "" && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// line returns the line of the key or, for a missing key, of the nearest key above it.
func (r *report) line(key string) int {
	for !r.noLines {
		if line, ok := r.lines[key]; ok {
			return line
		}
		end := strings.LastIndexAny(key, ".[")
		if end < 0 {
			return r.lines[""]
		}
		key = key[:end]
	}
	return 0
}

// given reports whether the file has the key.
func (r *report) given(key string) bool {
	_, ok := r.lines[key]
	return ok
}

// result returns warnings and problems for the caller, in the order of their lines.
func (r *report) result() ([]Warning, error) {
	byLine := func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) }
	slices.SortStableFunc(r.problems, byLine)
	slices.SortStableFunc(r.warnings, byLine)
	if len(r.problems) > 0 {
		return r.warnings, &Error{r.problems}
	}
	return r.warnings, nil
}
