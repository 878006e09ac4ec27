package layout

import "torno/manager/massgen/outcome"

// Started describes a child of a blocking call that is at work.
type Started struct {
	SubagentID string `json:"subagent_id"`
	Task       string `json:"task"`
	Status     string `json:"status"`
	Progress   int    `json:"progress_percent"`
	Timeout    int    `json:"timeout_seconds"`
	Workspace  string `json:"workspace"`
	LogPath    string `json:"log_path"`
}

// SaveSpawning describes the children of a blocking call, before they start.
func (t *Tree) SaveSpawning(startedAt string, children []Started) error {
	return save(t.root, statusName, struct {
		Status    string    `json:"status"`
		StartedAt string    `json:"started_at"`
		Subagents []Started `json:"subagents"`
	}{"spawning", startedAt, append([]Started{}, children...)})
}

// SaveSpawned writes the results of a blocking call.
func (t *Tree) SaveSpawned(startedAt, completedAt string, results []outcome.Result) error {
	return save(t.root, statusName, struct {
		Status      string           `json:"status"`
		StartedAt   string           `json:"started_at"`
		CompletedAt string           `json:"completed_at"`
		Subagents   []outcome.Result `json:"subagents"`
	}{"completed", startedAt, completedAt, append([]outcome.Result{}, results...)})
}
