package layout

import "torno/manager/massgen/outcome"

// Started is a child of a blocking call that is at work.
type Started struct {
	SubagentID string `json:"subagent_id"`
	Task       string `json:"task"`
	Status     string `json:"status"`
	Progress   int    `json:"progress_percent"`
	Timeout    int    `json:"timeout_seconds"`
	Workspace  string `json:"workspace"`
	LogPath    string `json:"log_path"`
}

// SaveSpawning writes, before the children of a blocking call start, what they are.
func (t *Tree) SaveSpawning(startedAt string, children []Started) error {
	return save(t.root, statusName, struct {
		Status    string    `json:"status"`
		StartedAt string    `json:"started_at"`
		Subagents []Started `json:"subagents"`
	}{"spawning", startedAt, append([]Started{}, children...)})
}

// SaveSpawned writes what a blocking call has come to.
func (t *Tree) SaveSpawned(startedAt, completedAt string, results []outcome.Result) error {
	return save(t.root, statusName, struct {
		Status      string           `json:"status"`
		StartedAt   string           `json:"started_at"`
		CompletedAt string           `json:"completed_at"`
		Subagents   []outcome.Result `json:"subagents"`
	}{"completed", startedAt, completedAt, append([]outcome.Result{}, results...)})
}
