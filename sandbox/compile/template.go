package compile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"torno/internal/nearest"
)

// Placeholder is a piece of text in a profile's command that is replaced by a value of the run.
type Placeholder struct {
	Text string
	Use  string // one line for people
}

// Placeholders lists all placeholders. Each element of a command is expanded on its own, in one pass and without a
// shell. So a value stays one piece of one argument, whatever it contains, and placeholders inside a value stay as they
// are.
var Placeholders = []Placeholder{
	{"{{.Task}}", "the task's text"},
	{"{{.TaskFile}}", "the path of a read-only file with the task's text, for tasks too long for an argument"},
	{"{{.Config}}", "the path of a read-only file with the request's yaml_config, cleaned"},
	{"{{.AnswerFile}}", "the path where the answer is expected"},
	{"{{.Workspace}}", "the workspace"},
	{"{{.SubagentID}}", "the subagent_id"},
	{"{{.RequestID}}", "the hash of the request_id, as in the names of event files"},
	{"{{.Model}}", "the request's model, or nothing"},
	{"{{.SessionID}}", "the request's session_id, or nothing"},
}

const (
	taskPlaceholder     = "{{.Task}}"
	taskFilePlaceholder = "{{.TaskFile}}"
	configPlaceholder   = "{{.Config}}"
	answerPlaceholder   = "{{.AnswerFile}}"
)

// looksLike finds text that was probably meant as a placeholder.
var looksLike = regexp.MustCompile(`\{\{\s*\.[^{}]*\}\}`)

// CheckPlaceholders returns an error if an element of a command has a placeholder that does not exist.
func CheckPlaceholders(element string) error {
	var known []string
	for _, p := range Placeholders {
		known = append(known, p.Text)
	}
	for _, found := range looksLike.FindAllString(element, -1) {
		if slices.Contains(known, found) {
			continue
		}
		if near := nearest.Word(strings.Join(strings.Fields(found), ""), known); near != "" {
			return fmt.Errorf("unknown placeholder %s; did you mean %s?", found, near)
		}
		return fmt.Errorf("unknown placeholder %s; known are %s", found, strings.Join(known, " "))
	}
	return nil
}

// TaskMayBeOption returns the index of the first element of a command where a program would read a task that begins
// with "-" as an option: the element begins with the task's text, and no "--" comes before it. It returns -1 if there
// is none. It also returns -1 for a shell's script: there an option gives a stranger nothing that the script does not
// give.
func TaskMayBeOption(command []string) int {
	if isShell(command) {
		return -1
	}
	for i, element := range command {
		switch {
		case element == "--":
			return -1
		case strings.HasPrefix(element, taskPlaceholder):
			return i
		}
	}
	return -1
}

// expand replaces every placeholder of an element. The replacer goes over the element once, and never over the inserted
// values.
func expand(element string, values map[string]string) string {
	pairs := make([]string, 0, 2*len(values))
	for placeholder, value := range values {
		pairs = append(pairs, placeholder, value)
	}
	return strings.NewReplacer(pairs...).Replace(element)
}

// mentions reports whether some element of the command has the placeholder.
func mentions(command []string, placeholder string) bool {
	return slices.ContainsFunc(command, func(element string) bool { return strings.Contains(element, placeholder) })
}
