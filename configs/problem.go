package configs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one mistake in a configuration, or as a Warning a probable one.
type Problem struct {
	File string
	Line int    // 0 when there is no file
	Key  string // as in profiles.shell.limits.memory
	Text string
}

// Warning is a Problem with which a configuration loads.
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

// Error is every problem of a configuration, in the order of its lines.
type Error struct{ Problems []Problem }

// ByOutbox parts the problems of single outboxes, which others need not suffer from, from the rest, which is nil where there are no others.
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

// maxShown bounds an error's text; a file in another format can have a problem on every line.
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

// report collects what is wrong and knows where each key is.
type report struct {
	file     string
	lines    map[string]int // of each key in the file
	noLines  bool           // the configuration does not come from a file
	meant    []string       // the known keys for which unknown ones stand, as it seems
	problems []Problem
	warnings []Warning
}

// maxKept bounds the work for a file that is wrong throughout.
const maxKept = 1000

// problem reports what is wrong with a key. One problem is enough for a key and for what lies in it: the next one would
// follow from it.
func (r *report) problem(key, format string, args ...any) {
	known := func(p Problem) bool { return key != "" && (holds(key, p.Key) || holds(p.Key, key)) }
	if len(r.problems) >= maxKept || slices.ContainsFunc(r.problems, known) {
		return
	}
	r.problems = append(r.problems, Problem{r.file, r.line(key), key, fmt.Sprintf(format, args...)})
}

// missing reports a key that is not there, unless an unknown key seems to stand for it: one mistake is one problem.
func (r *report) missing(key, text string) {
	if !r.misspelt(key) {
		r.problem(key, "%s", text)
	}
}

// misspelt says whether an unknown key seems to stand for this one, or for one that it lies in.
func (r *report) misspelt(key string) bool {
	return slices.ContainsFunc(r.meant, func(meant string) bool { return holds(meant, key) })
}

func (r *report) warn(key, format string, args ...any) {
	r.warnings = append(r.warnings, Warning{r.file, r.line(key), key, fmt.Sprintf(format, args...)})
}

// holds says whether a key is, or lies in, another one.
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

// given says whether the file has the key.
func (r *report) given(key string) bool {
	_, ok := r.lines[key]
	return ok
}

// result is what the caller gets to see.
func (r *report) result() ([]Warning, error) {
	byLine := func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) }
	slices.SortStableFunc(r.problems, byLine)
	slices.SortStableFunc(r.warnings, byLine)
	if len(r.problems) > 0 {
		return r.warnings, &Error{r.problems}
	}
	return r.warnings, nil
}
