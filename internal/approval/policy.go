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

// Policy says how a profile treats its agent's questions. The zero value forwards every question.
type Policy struct {
	Allow     []Rule        `json:"allow,omitempty"`     // approved without a question; nil approves nothing by itself
	Deny      []Rule        `json:"deny,omitempty"`      // denied, even if Allow has them
	Otherwise Otherwise     `json:"otherwise,omitempty"` // for all other calls
	DecidedBy []Decider     `json:"decided_by,omitempty"`
	Expires   time.Duration `json:"expires"`  // after this time an undecided question is denied
	Pause     time.Duration `json:"pause"`    // the most that the run's clock stands still, over all of its questions
	TimeBox   time.Duration `json:"time_box"` // how long Allow counts, from the run's start
	Rates     Rates         `json:"rates"`
}

// Otherwise says how to treat a call that no rule matches.
type Otherwise string

// There are two ways to treat such a call.
const (
	Forward Otherwise = "forward"
	Refuse  Otherwise = "deny"
)

// Decider names who decides a forwarded question.
type Decider string

// These are the deciders. Only the first two are people and parents; the others appear only in records.
const (
	ByParent   Decider = "parent"
	ByOperator Decider = "operator"
	ByPolicy   Decider = "policy"
	ByTime     Decider = "time"   // it expired
	ByAgent    Decider = "agent"  // the agent took its question back
	ByChange   Decider = "change" // somebody changed the rights of the run
	ByEnd      Decider = "end"    // the run ended
)

// Rates bound the calls that are approved without a question.
type Rates struct {
	CallsPerMinute  int `json:"calls_per_minute"`
	Calls           int `json:"calls"` // per run
	ShellPerMinute  int `json:"shell_per_minute"`
	WritesPerMinute int `json:"writes_per_minute"`
}

// Rule matches calls of a tool: all of them, or those whose argument fits.
type Rule struct {
	// Tool is a tool's name. A star at its end stands for any rest: mcp__files__*.
	Tool string `json:"tool"`
	// Argument names the argument to look at. If it is "", Exact and Words look at command, and Under looks at
	// file_path.
	Argument string   `json:"argument,omitempty"`
	Exact    string   `json:"exact,omitempty"` // the argument is this text
	Words    []string `json:"words,omitempty"` // a plain command of these words: * is any one word, ... at the end any rest
	Under    string   `json:"under,omitempty"` // a path in this directory, compared as text
	Whole    string   `json:"whole,omitempty"` // all arguments, in their canonical form; no configuration can set it
}

// AnyRest stands at the end of Words for any further words, or for none.
const AnyRest = "..."

// Check returns an error if the rule is faulty.
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
		return errors.New("a star may stand only at the end of a tool's name, after its beginning")
	case patterns > 1:
		return errors.New("only one of exact, words and under may be set")
	case patterns == 0 && r.Argument != "":
		return errors.New("argument needs exact, words or under")
	case r.Under != "" && !path.IsAbs(r.Under):
		return fmt.Errorf("under must be an absolute path as the child sees it, and %q is not", r.Under)
	}
	for i, word := range r.Words {
		if word == AnyRest && i+1 < len(r.Words) {
			return errors.New("... may stand only at the end of words")
		}
		if word != "*" && (!isPlain(word) || strings.ContainsRune(word, ' ')) {
			return fmt.Errorf("%q is not a plain word; use exact for a command with quotes or special characters of the shell", word)
		}
	}
	return nil
}

// fit says how a call fits a rule.
type fit int

const (
	no fit = iota
	yes
	unclear // the rule is about this tool, but cannot read this call
)

// fits returns how a call fits the rule.
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

// fitsPath compares texts. A link in the workspace may lead elsewhere, but only where the sandbox lets the child go.
func (r Rule) fitsPath(text string) fit {
	if !path.IsAbs(text) || path.Clean(text) != text {
		return unclear
	}
	return fitIf(paths.Within(r.Under, text))
}

// Verdict is a policy's judgement of a call.
type Verdict int

// The verdicts.
const (
	Forwarded Verdict = iota
	Allowed
	Denied
)

// Judge returns the verdict on a call, without looking at rates and time. Sometimes a rule of Deny is about the call's
// tool but cannot read the call. Then the policy itself never approves the call, unless Allow has its exact text.
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

// leaves reports whether rules of Allow approve a call, after Deny has found this fit.
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

// MayDecide reports whether the policy lets this decider decide forwarded questions.
func (p *Policy) MayDecide(by Decider) bool {
	return len(p.DecidedBy) == 0 || slices.Contains(p.DecidedBy, by)
}

// saysItself names, for each known tool, the argument that describes the call. The other arguments may differ the next
// time.
var saysItself = map[string]string{
	"Bash": commandOf, "PowerShell": commandOf, "Read": pathOf, "Write": pathOf, "Edit": pathOf, "MultiEdit": pathOf, "NotebookEdit": "notebook_path",
	"WebFetch": "url", "file_change": pathOf,
}

// Again returns a rule for calls like this one. For a known tool, the rule fits calls with the same command, file or
// address. For an unknown tool, for example of an MCP server, all arguments must be the same: an argument called
// command or url may be the least important part of such a call.
func (c Call) Again() (Rule, bool) {
	if len(c.Arguments) == 0 {
		return Rule{}, false
	}
	if name, known := saysItself[c.Tool]; known {
		if text, there := c.argument(name); there && text != "" {
			return Rule{Tool: c.Tool, Argument: name, Exact: text}, true
		}
	}
	return Rule{Tool: c.Tool, Whole: string(c.Arguments)}, true
}

// Version returns a digest that tells policies apart.
func (p *Policy) Version() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // a policy has only texts, numbers and lists of them
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
