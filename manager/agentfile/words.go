package agentfile

import (
	"errors"
	"fmt"
	"strings"
)

const maxWord = 128

// checkName accepts the name of an agent, which may become the id of a subagent.
func checkName(s string) error {
	if s == mainAgent {
		return errors.New(`is "main", which is the parent itself; choose another name`)
	}
	return checkWord(s, "._-")
}

// checkModel accepts the name of a model that cannot be an option of a command.
func checkModel(s string) error { return checkWord(s, "._:/@-[]") }

// CheckCaller accepts the name of a caller or of a skill.
func CheckCaller(s string) error { return checkWord(s, "._:/@-") }

// checkWord accepts letters, digits and the given marks. The first character must be a letter or a digit.
func checkWord(s, marks string) error {
	for i, c := range []byte(s) {
		if !letterOrDigit(c) && (i == 0 || strings.IndexByte(marks, c) < 0) {
			return fmt.Errorf("is %s; use letters, digits and %s, and begin with a letter or a digit", quote(s), marks)
		}
	}
	if s == "" || len(s) > maxWord {
		return fmt.Errorf("must have 1 to %d characters", maxWord)
	}
	return nil
}

func letterOrDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// checkRule accepts a rule for tools: a name, and perhaps a pattern in brackets that ends the rule. So a rule is never
// an option, and a program that splits rules at commas never sees two.
func checkRule(s string) error {
	if s == "" || len(s) > 4*maxWord {
		return fmt.Errorf("must have 1 to %d characters", 4*maxWord)
	}
	name, pattern, bracket := strings.Cut(s, "(")
	if name != "*" {
		if err := checkWord(name, "._:*-"); err != nil {
			return err
		}
	}
	if bracket && !closesAtTheEnd(pattern) {
		return fmt.Errorf("is %s; a pattern stands in one pair of brackets at the end, such as Bash(git log:*)", quote(s))
	}
	return nil
}

// closesAtTheEnd reports whether the last character, and no earlier one, closes the bracket that was opened before.
func closesAtTheEnd(pattern string) bool {
	open := 1
	for i, c := range pattern {
		switch {
		case c < ' ' || c == 0x7f:
			return false
		case c == '(':
			open++
		case c == ')':
			open--
		}
		if open == 0 {
			return i == len(pattern)-1
		}
	}
	return false
}

// splitRules splits one line of Claude Code's form into rules. Commas separate the rules, but patterns may have commas
// too.
func splitRules(line string) []string {
	var rules []string
	open, from := 0, 0
	for i, c := range line {
		switch c {
		case '(':
			open++
		case ')':
			open--
		case ',':
			if open == 0 {
				rules = append(rules, strings.TrimSpace(line[from:i]))
				from = i + 1
			}
		}
	}
	return append(rules, strings.TrimSpace(line[from:]))
}
