package evaluation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

func packet(data []byte) error {
	if strings.TrimSpace(string(data)) == "" {
		return fmt.Errorf("%s is empty", PacketFile)
	}
	return nil
}

// Verdict returns the first mistake in a verdict.json, or nil.
func Verdict(data []byte) error {
	var v struct {
		Schema  string              `json:"schema_version"`
		Verdict string              `json:"verdict"`
		Scores  map[string]*float64 `json:"scores"`
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return fmt.Errorf("%s is malformed: %w", VerdictFile, err)
	}
	switch {
	case v.Schema != "1":
		return fmt.Errorf("%s: schema_version must be \"1\"", VerdictFile)
	case v.Verdict != "iterate" && v.Verdict != "converged":
		return fmt.Errorf("%s: verdict must be iterate or converged", VerdictFile)
	case len(v.Scores) == 0:
		return fmt.Errorf("%s: scores must not be empty", VerdictFile)
	}
	for _, score := range v.Scores {
		if score == nil {
			return fmt.Errorf("%s: each of scores must be a number", VerdictFile)
		}
	}
	return nil
}

// NextTasks returns the first mistake in a next_tasks.json, or nil.
func NextTasks(data []byte) error {
	var t tasks
	if err := json.Unmarshal(data, &t); err != nil {
		return fmt.Errorf("%s is malformed: %w", TasksFile, err)
	}
	if field := t.wrong(); field != "" {
		return fmt.Errorf("%s: %s", TasksFile, field)
	}
	return nil
}

type tasks struct {
	Contract struct {
		Outcome  string    `json:"outcome_statement"`
		Bar      string    `json:"quality_bar"`
		FailIf   *[]string `json:"fail_if_any"`
		Evidence *[]string `json:"required_evidence"`
	} `json:"success_contract"`
	Mode       string `json:"strategy_mode"`
	Assessment struct {
		Ceiling string `json:"ceiling_status"`
	} `json:"approach_assessment"`
	Tasks   []task `json:"tasks"`
	Evolved *struct {
		Prompt string `json:"prompt"`
	} `json:"evolved_prompt"`
}

type task struct {
	Description  string `json:"description"`
	Verification string `json:"verification"`
	Metadata     struct {
		Verification string `json:"verification"`
	} `json:"metadata"`
	Criteria any       `json:"success_criteria"`
	Signals  *[]string `json:"failure_signals"`
	Evidence *[]string `json:"required_evidence"`
	Role     string    `json:"strategy_role"`
}

// wrong describes the first field that is missing or has a forbidden value. It returns "" if there is none.
func (t tasks) wrong() string {
	ceilings := []string{"ceiling_not_reached", "ceiling_approaching", "ceiling_reached"}
	switch {
	case t.Contract.Outcome == "":
		return "success_contract.outcome_statement is missing"
	case t.Contract.Bar == "":
		return "success_contract.quality_bar is missing"
	case t.Contract.FailIf == nil:
		return "success_contract.fail_if_any is missing"
	case t.Contract.Evidence == nil:
		return "success_contract.required_evidence is missing"
	case t.Mode != "incremental_refinement" && t.Mode != "thesis_shift":
		return "strategy_mode must be incremental_refinement or thesis_shift"
	case !slices.Contains(ceilings, t.Assessment.Ceiling):
		return "approach_assessment.ceiling_status must be one of " + strings.Join(ceilings, ", ")
	case len(t.Tasks) == 0:
		return "tasks is missing"
	case t.Evolved != nil && t.Evolved.Prompt == "":
		return "evolved_prompt.prompt is missing"
	}
	shifts := 0
	for i, one := range t.Tasks {
		if field := one.wrong(); field != "" {
			return fmt.Sprintf("tasks[%d].%s", i, field)
		}
		if one.Role == "thesis_shift" {
			shifts++
		}
	}
	if t.Mode == "thesis_shift" && shifts == 0 {
		return "strategy_mode is thesis_shift, and no task has that strategy_role"
	}
	return ""
}

func (t task) wrong() string {
	switch {
	case t.Description == "":
		return "description is missing"
	case t.Verification == "" && t.Metadata.Verification == "":
		return "verification is missing"
	case t.Criteria == nil || t.Criteria == "":
		return "success_criteria is missing"
	case t.Signals == nil:
		return "failure_signals is missing"
	case t.Evidence == nil:
		return "required_evidence is missing"
	case t.Role != "" && t.Role != "thesis_shift" && t.Role != "supporting_fix":
		return "strategy_role must be thesis_shift or supporting_fix"
	}
	return ""
}
