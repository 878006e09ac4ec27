package readme

import (
	"regexp"
	"slices"
	"strings"
)

var (
	fence  = regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?)^```$")
	inline = regexp.MustCompile("`([^`\n]+)`")
	link   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

// snippets are the pieces of a page that are meant to be typed: the lines of shell blocks, and what stands in backquotes.
func snippets(page string) (lines []string) {
	for _, block := range fence.FindAllStringSubmatch(page, -1) {
		if block[1] != "sh" {
			continue
		}
		for line := range strings.Lines(strings.ReplaceAll(block[2], "\\\n", " ")) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	for _, span := range inline.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
		lines = append(lines, span[1])
	}
	return lines
}

// use is one invocation of a program of ours.
type use struct {
	program, command string
	options          []string
}

// uses finds the invocations of programs in a snippet. Quoted text is an argument, and comments are none.
func uses(snippet string, programs ...string) (found []use) {
	var current *use
	previous := ""
	for _, word := range words(snippet) {
		switch {
		case slices.Contains([]string{"&&", ";", "|", "(", ")", "&", "→"}, word), word == "--": // what follows "--" is the child's
			current = nil
		case slices.Contains(programs, word):
			found = append(found, use{program: word})
			current = &found[len(found)-1]
		case current == nil, previous == "--outbox": // the one option that stands before a command
		case strings.HasPrefix(word, "-"):
			name, _, _ := strings.Cut(word, "=")
			current.options = append(current.options, name)
		case current.command == "" && command.MatchString(word):
			current.command = word
		}
		previous = word
	}
	return found
}

var command = regexp.MustCompile(`^[a-z]+$`)

// words takes a line of shell apart, as far as pages need it.
func words(line string) (all []string) {
	line = regexp.MustCompile(`'[^']*'|"[^"]*"`).ReplaceAllString(line, "QUOTED")
	line, _, _ = strings.Cut(line+" ", " # ")
	line = regexp.MustCompile(`&&|[;|()&]`).ReplaceAllString(line, " $0 ")
	for word := range strings.FieldsSeq(strings.ReplaceAll(line, "$", " ")) {
		all = append(all, strings.Trim(word, "…[]"))
	}
	return all
}

// links are the places in the repository that a page leads to.
func links(page string) (paths []string) {
	for _, found := range link.FindAllStringSubmatch(page, -1) {
		path, _, _ := strings.Cut(found[1], "#")
		if path != "" && !strings.Contains(path, "://") {
			paths = append(paths, path)
		}
	}
	return paths
}
