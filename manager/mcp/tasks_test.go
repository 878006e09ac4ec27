package mcp_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"torno/manager/mcp"
	"torno/manager/mcp/stakpak"
)

func stakpakTools(t *testing.T) *mcp.Toolbox {
	return mcp.NewToolbox(t, mcp.Options{Set: stakpak.Name, Sets: []mcp.Set{stakpak.Set()}})
}

func wantSaid(t *testing.T, b *mcp.Toolbox, tool, arguments string, parts ...string) (text string) {
	t.Helper()
	text, _ = b.Call(tool, arguments)
	for _, part := range parts {
		unwanted, not := strings.CutPrefix(part, "not: ")
		if strings.Contains(text, unwanted) == not {
			t.Errorf("%s %s: want %q, got\n%s", tool, arguments, part, text)
		}
	}
	return text
}

// TestATaskWithoutItsResultIsStillRunning: the host says that a run has ended before its response is there.
func TestATaskWithoutItsResultIsStillRunning(t *testing.T) {
	b := stakpakTools(t)
	b.Host("spawns", "a")
	b.Host("told", "a", "ended")
	wantSaid(t, b, "get_all_tasks", `{"view":""}`, "| a | Running |", "Total: 1 task(s)")
	wantSaid(t, b, "wait_for_tasks", `{"task_ids":"a","timeout":0}`, "> [RUN] a", "Total: 1 tasks | Waiting for: 1", "Task timeout")
	wantSaid(t, b, "get_task_details", `{"task_id":"a"}`, "Status: Running")
	b.Host("ends", "a", "completed", "exited", "0", "done")
	wantSaid(t, b, "wait_for_tasks", `{"task_ids":"a"}`, "> [OK] a", "Waiting for: 0")
}

// TestAListingReadsNoWholeAnswers: what it costs does not grow with what children have written.
func TestAListingReadsNoWholeAnswers(t *testing.T) {
	b := stakpakTools(t)
	long := strings.Repeat("x ", 512<<10)
	for _, id := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		b.Host("spawns", id)
		b.Host("ends", id, "completed", "exited", "0", long)
	}
	calls := map[string]string{"get_all_tasks": `{"view":""}`, "wait_for_tasks": `{"task_ids":"a b"}`}
	for tool, arguments := range calls {
		wantSaid(t, b, tool, arguments, "ompleted")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		wantSaid(t, b, tool, arguments, "ompleted")
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 2<<20 {
			t.Errorf("%s took %d bytes of memory beside 8 answers of 1 MiB", tool, took)
		}
	}
}

// TestAnothersTaskKeepsItsResult: to look at it is not to take it. Resumed, it makes room.
func TestAnothersTaskKeepsItsResult(t *testing.T) {
	b := stakpakTools(t)
	b.Host("spawns", "a")
	b.Host("keeps", "a", "s1", "coder", "done")
	wantSaid(t, b, "get_task_details", `{"task_id":"a"}`, "Status: Completed", "done")
	wantSaid(t, b, "get_all_tasks", `{"view":""}`, "untrusted: done")
	b.Leave()
	if files := b.Files(); !strings.Contains(files, "response_a.json") {
		t.Error("the result was taken:", files)
	}
}

// TestAnothersTaskIsResumed where its end was shown: nothing else can take its result out of the way.
func TestAnothersTaskIsResumed(t *testing.T) {
	b := stakpakTools(t)
	b.Host("spawns", "a")
	b.Host("keeps", "a", "s1", "coder", "done")
	wantSaid(t, b, "resume_subagent_task", `{"task_id":"a","input":"more"}`, "an output that you did not get yet")
	wantSaid(t, b, "get_task_details", `{"task_id":"a"}`, "Status: Completed", "done")
	wantSaid(t, b, "resume_subagent_task", `{"task_id":"a","input":"more"}`, "Subagent Task Resumed")
}

// TestTheToolsOfAnothersTaskAreNotKnown, and the answer says so.
func TestTheToolsOfAnothersTaskAreNotKnown(t *testing.T) {
	b := stakpakTools(t)
	b.Host("beat", "offers", "agent_settings", "sessions")
	b.Host("spawns", "a")
	b.Host("keeps", "a", "s1", "coder", "done")
	wantSaid(t, b, "get_task_details", `{"task_id":"a"}`, "Status: Completed", "done")
	wantSaid(t, b, "resume_subagent_task", `{"task_id":"a","input":"more"}`, "Subagent Task Resumed", "does not know which tools the task was begun with")
}

// TestADescriptionIsOfOneRun: where another process began the next run of a task, the old description does not name it.
func TestADescriptionIsOfOneRun(t *testing.T) {
	b := stakpakTools(t)
	text := wantSaid(t, b, "dynamic_subagent_task", `{"description":"Paint it","instructions":"y","tools":["view"]}`, "Task ID: ")
	_, rest, _ := strings.Cut(text, "Task ID: ")
	id := rest[:6]
	wantSaid(t, b, "get_all_tasks", `{"view":""}`, "| Paint it |")
	for _, name := range []string{"request_" + id + ".json", "workspaces/" + id} {
		if err := os.RemoveAll(b.Path(name)); err != nil {
			t.Fatal(err)
		}
	}
	b.Host("spawns", id)
	wantSaid(t, b, "get_all_tasks", `{"view":""}`, "not: Paint it", "| x |")
}

// TestTheTroubleOfOneTaskHidesNoOther.
func TestTheTroubleOfOneTaskHidesNoOther(t *testing.T) {
	b := stakpakTools(t)
	for _, id := range []string{"a", "b"} {
		b.Host("spawns", id)
	}
	b.Host("ends", "a", "completed", "exited", "0", "done")
	if err := os.WriteFile(b.Path("request_b.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantSaid(t, b, "wait_for_tasks", `{"task_ids":"a b","timeout":1}`, "> [OK] a", "Waiting for: 1", "Note: b was not waited for: ")
	wantSaid(t, b, "get_task_details", `{"task_id":"b"}`, "GET_TASK_DETAILS_ERROR", "Failed to get task details: ")
}

// TestTheNewestAreListed where there are too many, those of results that the client has among them.
func TestTheNewestAreListed(t *testing.T) {
	b := stakpakTools(t)
	for i := range 100 {
		id := fmt.Sprintf("c%d", i)
		b.Host("spawns", id)
		b.Host("ends", id, "completed", "exited", "0", "done")
	}
	text := wantSaid(t, b, "dynamic_subagent_task", `{"description":"The last one","instructions":"y","tools":["view"]}`, "Task ID: ")
	_, rest, _ := strings.Cut(text, "Task ID: ")
	id := rest[:6]
	b.Host("ends", id, "completed", "exited", "0", "it is painted")
	b.Host("takes", id)
	for range 2 { // the second time what is remembered of its copy
		wantSaid(t, b, "get_all_tasks", `{"view":""}`, "| The last one |", "untrusted: it is painted", "**Total: 100 task(s)** and older ones", "not: | c0 |")
	}
}

// TestADecisionIsOfATaskThatAsks: where the task has ended, a call that decides begins nothing.
func TestADecisionIsOfATaskThatAsks(t *testing.T) {
	b := stakpakTools(t)
	b.Host("spawns", "a")
	b.Host("keeps", "a", "s1", "coder", "done")
	wantSaid(t, b, "get_task_details", `{"task_id":"a"}`, "Status: Completed")
	for _, flag := range []string{`"approve_all":true`, `"reject_all":true`, `"approve":["call_1_ab"]`, `"reject":["call_1_ab"]`} {
		wantSaid(t, b, "resume_subagent_task", `{"task_id":"a","input":"and be quick",`+flag+`}`, "it asks nothing any more", "not: Resumed")
	}
	wantSaid(t, b, "get_task_details", `{"task_id":"a"}`, "Status: Completed")
}

// TestAQuestionForTheOperator is shown as such, is no one else's to approve, and ends one wait.
func TestAQuestionForTheOperator(t *testing.T) {
	b := stakpakTools(t)
	b.Host("spawns", "a")
	b.Host("asks", "a", "Bash", "{}", "operator")
	wantSaid(t, b, "get_task_details", `{"task_id":"a"}`, "rejected at 20", "for the operator alone", "Tell the user", "not: Resume hint")
	wantSaid(t, b, "wait_for_tasks", `{"task_ids":"a","timeout":18}`, "Paused", "Waiting for: 1", "Note: tell the user that a waits for the operator", "not: Task timeout")
	wantSaid(t, b, "wait_for_tasks", `{"task_ids":"a","timeout":1}`, "Paused", "Task timeout")
}

// TestWhatIsNotWholeIsNotHintedAt: the hint names a question that can be judged.
func TestWhatIsNotWholeIsNotHintedAt(t *testing.T) {
	b := stakpakTools(t)
	b.Host("spawns", "a")
	b.Host("asks", "a", "Bash", strings.Repeat("\u202e", 1000))
	wantSaid(t, b, "get_task_details", `{"task_id":"a"}`, "it is longer than that", `"reject_all": true`, `not: "approve":`)
}

// TestAnAnswerThatIsNotRead says why.
func TestAnAnswerThatIsNotRead(t *testing.T) {
	b := stakpakTools(t)
	b.Host("spawns", "a")
	b.Host("writes", "a", "answer.txt/x", "no answer")
	b.Host("ends", "a", "completed", "exited", "0")
	wantSaid(t, b, "get_task_details", `{"task_id":"a"}`, "Its answer was not read:\n  | ")
	wantSaid(t, b, "get_all_tasks", `{"view":""}`, "| a | Completed |")
}

// TestATaskKeepsItsModel when it is resumed, whichever model its parent has by then.
func TestATaskKeepsItsModel(t *testing.T) {
	b := stakpakTools(t)
	b.Host("beat", "team")
	_, rest, _ := strings.Cut(b.CallAs("claude-opus-4-6", "dynamic_subagent_task", `{"description":"x","instructions":"y","tools":["view"]}`), "Task ID: ")
	id := rest[:6]
	b.Host("beat", "asking")
	for range 2 {
		if model := b.Model(id); model != "claude-haiku-4-5" {
			t.Errorf("its model is %q", model)
		}
		b.Host("keeps", id, "s1", "team", "done")
		wantSaid(t, b, "get_task_details", `{"task_id":"`+id+`"}`, "Status: Completed")
		if text := b.CallAs("gpt-5", "resume_subagent_task", `{"task_id":"`+id+`","input":"more"}`); !strings.Contains(text, "Resumed") {
			t.Error(text)
		}
	}
	wantSaid(t, b, "get_all_tasks", `{"view":""}`, "| x |")
}
