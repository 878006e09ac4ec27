package massgen

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"torno/delegation"
	"torno/internal/massgen/remains"
	"torno/manager"
	mg "torno/manager/massgen"
	"torno/manager/massgen/handover"
	"torno/manager/massgen/layout"
	"torno/manager/massgen/outcome"
	"torno/manager/mcp"
)

// An answer quotes at most this much of one child, in bytes of JSON.
const (
	maxAnswer = 24_000
	maxError  = 4_000
)

// shown is the result of a child as it goes out.
type shown struct {
	outcome.Result
	request string
	job     mg.Status // the status in MassGen's list of jobs
}

// collect makes the result of a child that has ended. room and the page bound the quoted text. The first time collect
// also keeps the records that MassGen keeps.
func (h *home) collect(desk *yard, page *mcp.Page, child mcp.Child, room int) (shown, error) {
	result, err := desk.Result(child, room+1)
	if err != nil {
		return shown{}, err
	}
	k := h.of(child)
	id, err := delegation.ParseSubagentID(child.SubagentID)
	if err != nil {
		return shown{}, err
	}
	end := outcome.End{
		SubagentID: child.SubagentID, Status: result.Status, ExitCode: result.ExitCode, ByParent: result.Reason == delegation.ReasonCancelled, Workspace: mcp.Words(result.Workspace),
		Timeout: k.timeout, Usage: usageOf(result), Warnings: h.warningsOf(k, result),
	}
	if !result.StartedAt.IsZero() && result.CompletedAt.After(result.StartedAt) {
		end.Seconds = result.CompletedAt.Sub(result.StartedAt).Seconds()
	}
	saved := outcome.Saved{}
	root, _, err := desk.OpenWorkspace(child.SubagentID)
	if err != nil {
		root = nil // its answer is known all the same
	} else {
		defer root.Close()
		end.Warnings = append(end.Warnings, h.look(id, k, result, root, &saved)...)
	}
	quoteEnd(page, &end, result, room, &saved)
	made := outcome.Judge(end, saved)
	made.SubagentType = k.kind
	s := shown{made, child.RequestID, jobStatus(made.Status, result)}
	err = h.settle(child, k, s, result, root)
	s.LogPath = h.eventsPath(id, root) // settle has just put it there
	return s, err
}

// look examines the remains of a child. It recovers the work of a run that did not come to its end, and it checks the
// files that a round's evaluator owes.
func (h *home) look(id delegation.SubagentID, k kid, result manager.Result, root *os.Root, saved *outcome.Saved) (warnings []string) {
	if result.Status == delegation.StatusTimeout || result.Status == delegation.StatusCancelled {
		_ = h.withLogs(id, func(logs *os.Root) error {
			*saved = remains.Recover(remains.Places{Log: logs, Workspace: root, WorkspacePath: result.Workspace, Since: result.StartedAt})
			return nil
		})
		if h.settings.Logs == "" {
			*saved = remains.Recover(remains.Places{Workspace: root, WorkspacePath: result.Workspace, Since: result.StartedAt})
		}
		if saved.Answer == nil && result.Answer != "" {
			saved.Answer = &result.Answer
		}
	}
	if k.kind == handover.RoundEvaluator || strings.HasPrefix(id.String(), roundEvaluators) {
		warnings = owed(root)
	}
	return warnings
}

// roundEvaluators is the prefix of the names that MassGen gives to its evaluators: round_eval_r2.
const roundEvaluators = "round_eval_r"

// quoteEnd quotes the child's own text about its end.
func quoteEnd(page *mcp.Page, end *outcome.End, result manager.Result, room int, saved *outcome.Saved) {
	answer := strings.TrimSpace(result.Answer)
	if saved.Answer != nil {
		answer = *saved.Answer
	}
	quoted, used := page.Field(answer, room)
	whole := result.AnswerWhole
	if whole == "" {
		whole = result.Workspace + "/answer.txt"
	}
	switch {
	case result.AnswerErr != nil:
		end.Warnings = append(end.Warnings, "Its answer was not read: "+mcp.Words(result.AnswerErr.Error()))
	case used < len(answer) || result.AnswerTruncated:
		end.Warnings = append(end.Warnings, fmt.Sprintf("The answer is cut after %d bytes. All of it is in the file %s.", used, mcp.Words(whole)))
	}
	end.Answer = quoted
	if saved.Answer != nil {
		saved.Answer = &quoted
	}
	saved.Winner = mcp.Words(saved.Winner)
	tail := result.StderrTail
	if result.Error != nil { // the host's own sentence
		end.StderrTail = mcp.Words(tail)
		if result.Error.Hint != "" {
			end.StderrTail += ". Next: " + mcp.Words(result.Error.Hint)
		}
		return
	}
	end.StderrTail, _ = page.Field(strings.Join(strings.Fields(tail), " "), min(room, maxError))
}

func (h *home) warningsOf(k kid, result manager.Result) []string {
	warnings := append([]string{}, k.warnings...)
	for _, warning := range result.Warnings {
		warnings = append(warnings, mcp.Words(warning))
	}
	return warnings
}

func usageOf(result manager.Result) outcome.TokenUsage {
	if result.Usage == nil || result.Usage.Model == nil {
		return outcome.TokenUsage{}
	}
	used := outcome.TokenUsage{Input: result.Usage.Model.InputTokens, Output: result.Usage.Model.OutputTokens}
	if cost, err := strconv.ParseFloat(result.Usage.Model.Money, 64); err == nil && cost > 0 && cost < 1e12 {
		used.Cost = cost
	}
	return used
}

// jobStatus returns the status that MassGen's jobs give to an end. An error counts as an error, and not as a job that
// runs forever.
func jobStatus(status mg.Status, result manager.Result) mg.Status {
	switch {
	case result.Status == delegation.StatusCancelled:
		return mg.StatusCancelled
	case status == mg.StatusTimeout, status == mg.StatusError:
		return mg.StatusError
	}
	return mg.StatusCompleted
}

// stateOf returns the status that the registry keeps for an end.
func stateOf(s shown) mg.Status {
	if s.job == mg.StatusCancelled {
		return mg.StatusCancelled
	}
	return s.Status.State()
}

// settle writes the end of a run into the registry, and keeps its logs, once.
func (h *home) settle(child mcp.Child, k kid, s shown, result manager.Result, root *os.Root) error {
	registry, err := h.registry()
	if err != nil {
		return err
	}
	entry := registry.Find(child.SubagentID)
	if entry == nil || entry.Status.Terminal() {
		return nil
	}
	if err := h.keepLogs(child.SubagentID, k, s, result, root); err != nil {
		return err
	}
	return h.update(func(r *layout.Registry) {
		entry := r.Find(child.SubagentID)
		if entry == nil {
			return
		}
		entry.Status, entry.Success, entry.ExecutionTime = stateOf(s), s.Success, s.ExecutionTime
		entry.SessionID = nil
		if result.SessionID != "" {
			session := mcp.Words(result.SessionID)
			entry.SessionID = &session
		}
	})
}
