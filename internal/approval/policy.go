package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"torno/internal/paths"
)

// Policy is what a profile says about its agent's questions. The zero value forwards every one.
type Policy struct {
	Allow     []Rule        `json:"allow,omitempty"`     // approved without a question; nil approves nothing by itself
	Deny      []Rule        `json:"deny,omitempty"`      // denied, also where Allow has them
	Otherwise Otherwise     `json:"otherwise,omitempty"` // what becomes of the rest
	DecidedBy []Decider     `json:"decided_by,omitempty"`
	Expires   time.Duration `json:"expires"`  // a question that was not decided is denied then
	Pause     time.Duration `json:"pause"`    // the run's clock stands still for so long at most, over all of its questions
	TimeBox   time.Duration `json:"time_box"` // how long Allow counts, from the run's start
	Rates     Rates         `json:"rates"`
}

// Otherwise is what becomes of a call that no rule has.
type Otherwise string

// The ways of a call that no rule has.
const (
	Forward Otherwise = "forward"
	Refuse  Otherwise = "deny"
)

// Decider decides what is forwarded.
type Decider string

// The deciders. Only the first two are people and parents; the others are for records.
const (
	ByParent   Decider = "parent"
	ByOperator Decider = "operator"
	ByPolicy   Decider = "policy"
	ByTime     Decider = "time"   // it expired
	ByAgent    Decider = "agent"  // which took its question back
	ByChange   Decider = "change" // of what the run may do
	ByEnd      Decider = "end"    // of the run
)

// Rates bound what is approved without a question.
type Rates struct {
	CallsPerMinute  int `json:"calls_per_minute"`
	Calls           int `json:"calls"` // of a run
	ShellPerMinute  int `json:"shell_per_minute"`
	WritesPerMinute int `json:"writes_per_minute"`
}

// Rule matches calls of a tool: all of them, or those whose argument fits.
type Rule struct {
	// Tool is a tool's name. A star at its end matches every rest: mcp__files__*.
	Tool string `json:"tool"`
	// Argument is the one that is looked at; "" is command for Exact and Words, and file_path for Under.
	Argument string   `json:"argument,omitempty"`
	Exact    string   `json:"exact,omitempty"` // it is this text
	Words    []string `json:"words,omitempty"` // it is a plain command of these words: * is any one word, ... at the end any rest
	Under    string   `json:"under,omitempty"` // it is a path in this directory, by its text
	Whole    string   `json:"whole,omitempty"` // all arguments are these, in their canonical form; no configuration has it
}

// AnyRest is the word at the end of Words that stands for any words, also none.
const AnyRest = "..."

// Check says what is wrong with a rule.
func (r Rule) Check() error {
	patterns := 0
	for _, given := range []bool{r.Exact != "", len(r.Words) > 0, r.Under != ""} {
		if given {
			patterns++
		}
	}
	star := strings.IndexByte(r.Tool, '*')
	switch {
	case r.Tool == "":
		return errors.New("it names no tool")
	case r.Tool == "*" || star >= 0 && star != len(r.Tool)-1:
		return errors.New("a star stands at the end of a tool's name, behind its beginning")
	case patterns > 1:
		return errors.New("exact, words and under exclude each other")
	case patterns == 0 && r.Argument != "":
		return errors.New("argument needs exact, words or under")
	case r.Under != "" && !path.IsAbs(r.Under):
		return fmt.Errorf("under is an absolute path as the child sees it, and %q is none", r.Under)
	}
	for i, word := range r.Words {
		if word == AnyRest && i+1 < len(r.Words) {
			return errors.New("... stands at the end of words")
		}
		if word != "*" && (!isPlain(word) || strings.ContainsRune(word, ' ')) {
			return fmt.Errorf("%q is no plain word; write exact for a command with quotes or signs of the shell", word)
		}
	}
	return nil
}

// fit is how a call fits a rule.
type fit int

const (
	no fit = iota
	yes
	unclear // the rule is about the tool, and cannot read this call
)

// fits looks at a call.
func (r Rule) fits(c Call) fit {
	if begin, star := strings.CutSuffix(r.Tool, "*"); star && !strings.HasPrefix(c.Tool, begin) || !star && r.Tool != c.Tool {
		return no
	}
	switch {
	case r.Whole != "":
		return fitIf(string(c.Arguments) == r.Whole)
	case r.Exact != "":
		return r.look(c, commandOf, func(text string) fit { return fitIf(text == r.Exact) })
	case len(r.Words) > 0:
		return r.look(c, commandOf, r.fitsWords)
	case r.Under != "":
		return r.look(c, pathOf, r.fitsPath)
	}
	return yes
}

func (r Rule) look(c Call, usual string, at func(string) fit) fit {
	name := r.Argument
	if name == "" {
		name = usual
	}
	text, there := c.argument(name)
	if !there {
		return unclear
	}
	return at(text)
}

func fitIf(is bool) fit {
	if is {
		return yes
	}
	return no
}

func (r Rule) fitsWords(text string) fit {
	if !isPlain(text) {
		return unclear
	}
	said, want := strings.Fields(text), r.Words
	if rest := len(want) - 1; want[rest] == AnyRest {
		want = want[:rest]
		said = said[:min(len(said), rest)]
	}
	return fitIf(len(said) == len(want) && slices.EqualFunc(said, want, func(a, b string) bool { return b == "*" || a == b }))
}

// fitsPath compares texts: a link in the workspace may lead elsewhere, where the sandbox lets the child go.
func (r Rule) fitsPath(text string) fit {
	if !path.IsAbs(text) || path.Clean(text) != text {
		return unclear
	}
	return fitIf(paths.Within(r.Under, text))
}

// Verdict is what a policy says of a call.
type Verdict int

// The verdicts.
const (
	Forwarded Verdict = iota
	Allowed
	Denied
)

// Judge says what becomes of a call, without rates and time. A call that a rule of Deny is about and cannot read is never approved
// by the policy itself, unless Allow has its very text.
func (p *Policy) Judge(c Call) Verdict {
	denied := strongest(p.Deny, c)
	switch {
	case denied == yes:
		return Denied
	case denied.leaves(p.Allow, c):
		return Allowed
	case p.Otherwise == Refuse:
		return Denied
	}
	return Forwarded
}

// leaves says whether rules allow a call of which Deny has found this.
func (denied fit) leaves(rules []Rule, c Call) bool {
	return slices.ContainsFunc(rules, func(r Rule) bool { return r.fits(c) == yes && (denied == no || r.Exact != "") })
}

func strongest(rules []Rule, c Call) fit {
	found := no
	for _, r := range rules {
		switch r.fits(c) {
		case yes:
			return yes
		case unclear:
			found = unclear
		}
	}
	return found
}

// MayDecide says whether the policy lets a decider decide what is forwarded.
func (p *Policy) MayDecide(by Decider) bool {
	return len(p.DecidedBy) == 0 || slices.Contains(p.DecidedBy, by)
}

// saysItself is, of tools that are known, the argument that says what a call does. What is beside it may be another the next time.
var saysItself = map[string]string{
	"Bash": commandOf, "PowerShell": commandOf, "Read": pathOf, "Write": pathOf, "Edit": pathOf, "MultiEdit": pathOf, "NotebookEdit": "notebook_path",
	"WebFetch": "url", "file_change": pathOf,
}

// Again is a rule for calls like this one: of the same tool, and with the same command, file or address; of a tool that is not known, as one of an
// MCP server, with all arguments the same. An argument called command or url may be the least of what such a tool does.
func (c Call) Again() (Rule, bool) {
	if len(c.Arguments) == 0 {
		return Rule{}, false
	}
	name := saysItself[c.Tool]
	if text, there := c.argument(name); there && text != "" {
		return Rule{Tool: c.Tool, Argument: name, Exact: text}, true
	}
	return Rule{Tool: c.Tool, Whole: string(c.Arguments)}, true
}

// Version tells policies apart.
func (p *Policy) Version() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // it is texts, numbers and lists of them
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
