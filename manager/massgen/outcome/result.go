package outcome

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"torno/delegation"
	"torno/internal/massgen/remains"
	"torno/manager/massgen"
)

// Result is MassGen's SubagentResult. Its JSON has MassGen's keys.
type Result struct {
	SubagentID    string         `json:"subagent_id"`
	Status        massgen.Status `json:"status"`
	Success       bool           `json:"success"`
	Answer        *string        `json:"answer"`
	Workspace     string         `json:"workspace"`
	ExecutionTime float64        `json:"execution_time_seconds"`
	Error         *string        `json:"error"`
	TokenUsage    TokenUsage     `json:"token_usage"`
	LogPath       string         `json:"log_path,omitempty"`
	Percentage    *int           `json:"completion_percentage,omitempty"`
	Warning       string         `json:"warning,omitempty"`
	Timeout       int            `json:"timeout_seconds,omitempty"`
	SubagentType  string         `json:"subagent_type,omitempty"`
}

// TokenUsage counts the tokens and the cost of a child's models.
type TokenUsage = remains.TokenUsage

// Saved holds the remains of a run that did not come to its end.
type Saved = remains.Saved

// End describes how a run ended for its parent.
type End struct {
	SubagentID string
	Status     delegation.Status
	ExitCode   int
	StderrTail string
	ByParent   bool   // the parent cancelled it, and not the host
	Answer     string // text of the answer file, unchanged
	Workspace  string
	LogPath    string
	Seconds    float64
	Timeout    int
	Usage      TokenUsage
	Warnings   []string
}

// Judge makes the result. If the time was up, or the child was cancelled, the saved remains decide:
//
//	an answer, and the last phase or a winner   completed_but_timeout
//	an answer                                   partial
//	no answer                                   timeout, or error if it was cancelled
func Judge(end End, saved Saved) Result {
	result := Result{
		SubagentID: end.SubagentID, Workspace: end.Workspace, ExecutionTime: end.Seconds, TokenUsage: end.Usage,
		LogPath: end.LogPath, Timeout: end.Timeout, Warning: JoinWarnings(end.Warnings...),
	}
	switch {
	case end.Status == delegation.StatusTimeout:
		result.salvage(fmt.Sprintf("Subagent exceeded timeout of %d seconds", end.Timeout), massgen.StatusTimeout, saved)
	case end.Status == delegation.StatusCancelled && end.ByParent:
		result.salvage("Subagent cancelled", massgen.StatusError, saved)
	case end.Status == delegation.StatusCancelled:
		result.salvage(end.text(), massgen.StatusError, saved)
	case end.Status == delegation.StatusCompleted && end.ExitCode == 0:
		answer := strings.TrimSpace(end.Answer)
		result.Status, result.Answer = massgen.StatusCompleted, &answer
	default:
		text := end.text()
		result.Status, result.Error = massgen.StatusError, &text
	}
	result.Success = result.Status.Success()
	return result
}

// text describes an end that MassGen counts as an error.
func (end End) text() string {
	return fmt.Sprintf("Delegated subagent %s %s (exit_code=%d): %s", end.SubagentID, end.Status, end.ExitCode, first(end.StderrTail, 500))
}

// salvage takes over what is left of a run that did not come to its end. without is the status if there is no answer.
func (r *Result) salvage(text string, without massgen.Status, saved Saved) {
	r.Error, r.Answer, r.Percentage = &text, saved.Answer, saved.Percentage
	if r.TokenUsage == (TokenUsage{}) {
		r.TokenUsage = saved.Usage
	}
	switch {
	case saved.Answer == nil:
		r.Status = without
	case saved.Presenting || saved.Winner != "":
		r.Status = massgen.StatusCompletedButTimeout
	default:
		r.Status = massgen.StatusPartial
	}
}

// first returns the beginning of a text, counted in characters as MassGen counts them.
func first(text string, characters int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if utf8.RuneCountInString(text) <= characters {
		return text
	}
	return string([]rune(text)[:characters])
}

// JoinWarnings joins warnings as MassGen does. It takes each warning once.
func JoinWarnings(warnings ...string) string {
	var once []string
	seen := map[string]bool{"": true}
	for _, warning := range warnings {
		if !seen[warning] {
			once = append(once, warning)
		}
		seen[warning] = true
	}
	return strings.Join(once, " | ")
}

// Summary counts the results of a blocking call. A result that is complete although its time was up counts twice, as
// completed and as timeout.
type Summary struct {
	Total     int `json:"total"`
	Completed int `json:"completed"`
	Failed    int `json:"failed"`
	Timeout   int `json:"timeout"`
}

// Blocking is the answer of a spawn_subagents that has waited for its children.
type Blocking struct {
	Success   bool              `json:"success"`
	Operation massgen.Operation `json:"operation"`
	Mode      string            `json:"mode"`
	Results   []Result          `json:"results"`
	Summary   Summary           `json:"summary"`
}

// Summarise makes the answer of a blocking call.
func Summarise(results []Result) Blocking {
	answer := Blocking{Success: true, Operation: massgen.OpSpawn, Mode: "blocking", Results: results, Summary: Summary{Total: len(results)}}
	for _, result := range results {
		answer.Success = answer.Success && result.Success
		switch result.Status {
		case massgen.StatusCompleted, massgen.StatusPartial:
			answer.Summary.Completed++
		case massgen.StatusCompletedButTimeout:
			answer.Summary.Completed++
			answer.Summary.Timeout++
		case massgen.StatusTimeout:
			answer.Summary.Timeout++
		case massgen.StatusError:
			answer.Summary.Failed++
		}
	}
	return answer
}

// Pointer returns the short form that MassGen uses to mention a child: one of four statuses, and the beginning of its
// answer.
func Pointer(result Result) (status massgen.Status, summary string) {
	status = result.Status
	switch result.Status {
	case massgen.StatusCompletedButTimeout:
		status = massgen.StatusTimeout
	case massgen.StatusPartial, massgen.StatusError:
		status = massgen.StatusFailed
	}
	if result.Answer == nil {
		return status, ""
	}
	summary = first(*result.Answer, 200)
	if summary != strings.ToValidUTF8(*result.Answer, "\uFFFD") {
		summary += "..."
	}
	return status, summary
}
