package mcp_test

import (
	"testing"

	"torno/manager/mcp"
	"torno/manager/mcp/stakpak"
)

// The sets of other packages play on the same stage as our own.
func TestTranscriptsOfStakpak(t *testing.T) {
	mcp.Transcripts(t, "stakpak/testdata", mcp.Options{Set: stakpak.Name, Sets: []mcp.Set{stakpak.Set()}})
}

// The child's text stays behind its bars and in its cells, whichever tool shows it.
func TestAStrangersTextStaysInItsPlaceInStakpak(t *testing.T) {
	mcp.StrangersText(t, mcp.Options{Set: stakpak.Name, Sets: []mcp.Set{stakpak.Set()}},
		[]string{
			`get_task_details {"task_id":"a"}`, `get_task_details {"task_id":"b"}`, `get_task_details {"task_id":"c"}`, `get_all_tasks {"view":""}`,
			`wait_for_tasks {"task_ids":"a b c"}`, `cancel_task {"task_id":"a"}`, `resume_subagent_task {"task_id":"b","input":"x"}`, `resume_subagent_task {"task_id":"a","input":"x"}`,
		})
}

// A wait ends when a task is paused, and when it ends.
func TestAWaitOfStakpakEndsWithAPause(t *testing.T) {
	mcp.WaitForAPause(t, mcp.Options{Set: stakpak.Name, Sets: []mcp.Set{stakpak.Set()}}, `wait_for_tasks {"task_ids":"a"}`, "Paused", "Completed")
}
