package agentfile

import (
	"fmt"
	"strings"
	"time"
)

// shownName limits how much of a name made up by a model an error repeats.
const shownName = 128

// Problem says why a file describes no agent.
type Problem struct {
	Path string
	Line int    // 0 if it concerns the whole file
	Key  string // "" if it concerns no key
	Text string
}

func (p *Problem) Error() string {
	if p.Line == 0 {
		return p.Text
	}
	return fmt.Sprintf("%s:%d: %s: %s", p.Path, p.Line, p.Key, p.Text)
}

func (w Warning) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", w.Path, w.Line, w.Key, w.Text)
}

// UnknownAgentError says that no file describes the agent.
type UnknownAgentError struct {
	Name  string
	Known []string
}

func (e *UnknownAgentError) Error() string {
	known := "none"
	if len(e.Known) > 0 {
		known = strings.Join(e.Known, ", ")
	}
	return fmt.Sprintf("Unknown agent: %s. Available: %s", quote(e.Name), known)
}

// CallerError says that an agent does not work for this caller.
type CallerError struct{ Agent, Caller string }

func (e *CallerError) Error() string {
	return fmt.Sprintf("Agent %s does not allow caller %s.", quote(e.Agent), quote(e.Caller))
}

// FailureKind says why an agent's run has no result.
type FailureKind string

// The reasons in Jarvis's own words.
const (
	FailureTimeout FailureKind = "timeout"
	FailureCLI     FailureKind = "cli_error"
	FailureParse   FailureKind = "parse_error"
)

// RunError reports a run that ended without a result. Message may hold a child's words: quote it before a model sees
// it.
type RunError struct {
	Agent   string
	Kind    FailureKind
	Message string
}

func (e *RunError) Error() string {
	return fmt.Sprintf("Subagent %s failed (%s): %s", quote(e.Agent), e.Kind, e.Message)
}

// TimedOut returns the RunError for an agent that did not end in time.
func TimedOut(agent string, after time.Duration) *RunError {
	text := fmt.Sprintf("Subagent %s timed out after %dms.", quote(agent), after.Milliseconds())
	return &RunError{Agent: agent, Kind: FailureTimeout, Message: text}
}

// quote shows a name in quotation marks, with escapes for unusual characters.
func quote(name string) string {
	if len(name) > shownName {
		name = strings.ToValidUTF8(name[:shownName], "") + "…"
	}
	return fmt.Sprintf("%q", name)
}
