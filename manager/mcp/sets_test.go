package mcp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torno/manager/mcp"
	"torno/manager/mcp/massgen"
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

func massgenAt(t *testing.T, args ...string) func(origin string) mcp.Options {
	return func(origin string) mcp.Options {
		settings, _, err := massgen.Settings(append([]string{"--agent-id", "agent_a", "--orchestrator-id", "orch"}, args...), origin)
		if err != nil {
			t.Fatal(err)
		}
		settings.InContainer = true
		return mcp.Options{Set: massgen.Name, Sets: []mcp.Set{massgen.Set(settings)}}
	}
}

func TestTranscriptsOfMassGen(t *testing.T) {
	mcp.TranscriptsAt(t, "massgen/testdata", massgenAt(t))
	mcp.TranscriptsAt(t, "massgen/testdata/inherit", massgenAt(t, "--orchestrator-config", `{"enabled":true,"inherit_spawning_agent_backend":true}`))
	mcp.TranscriptsAt(t, "massgen/testdata/logs", func(origin string) mcp.Options {
		return massgenAt(t, "--log-directory", origin+"/logs", "--agent-temporary-workspace", origin+"/temp", "--coordination-config-file", allKinds(t))(origin)
	})
}

// Where nobody serves and the settings say so, children are processes. What they run as MassGen is a script.
func TestTranscriptsOfMassGenWithoutAHost(t *testing.T) {
	scriptedMassGen(t)
	mcp.TranscriptsAt(t, "massgen/testdata/here", massgenAt(t, "--runtime-fallback-mode", "inherited", "--max-concurrent", "2"))
}

// Where there is no outbox at all, and where a prefix starts the children.
func TestTranscriptsOfMassGenByMode(t *testing.T) {
	scriptedMassGen(t)
	mcp.TranscriptsAt(t, "massgen/testdata/bare", bareMassGen(t, "--runtime-mode", "delegated"))
	mcp.TranscriptsAt(t, "massgen/testdata/prefix", massgenAt(t, "--host-launch-prefix", `["sh","-c","echo begun >prefixed; exec \"$@\"","prefix"]`))
}

// bareMassGen is the set of a server that was started without an outbox.
func bareMassGen(t *testing.T, args ...string) func(origin string) mcp.Options {
	return func(origin string) mcp.Options {
		settings, _, err := massgen.Settings(append([]string{"--agent-id", "agent_a"}, args...), origin)
		if err != nil {
			t.Fatal(err)
		}
		settings.InContainer, settings.NoOutbox = true, true
		return mcp.Options{Set: massgen.Name, Sets: []mcp.Set{massgen.Set(settings)}}
	}
}

// Children of the server end with it.
func TestChildrenOfTheServerEndWithIt(t *testing.T) {
	scriptedMassGen(t)
	mcp.EndsWithTheServer(t, massgenAt(t, "--runtime-mode", "inherited"), "args", "over")
}

func scriptedMassGen(t *testing.T) {
	t.Helper()
	bin := t.TempDir()
	if err := os.WriteFile(bin+"/uv", []byte(massgenScript), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
}

// massgenScript notes how it is called, and does what the last line of its task says.
const massgenScript = `#!/bin/sh
for a do last=$a; done
note() { for a do case $a in *"Subagent Context"*) a=TASK;; esac; echo "$a"; done; }
case $last in
*sleep) trap 'echo >over; exit 4' INT; note "$@" >args; while :; do sleep 0.05; done ;;
*fail) while ! test -e go || ! test -e ../../b/workspace/args; do sleep 0.05; done; echo "it broke" >&2; exit 2 ;;
esac
note "$@" >args
printf 'There are three.\n' >"$8"
`

// What children of MassGen's set write, and what others write into the parent's files, stands in its fields and frames.
func TestAStrangersTextStaysInItsPlaceInMassGen(t *testing.T) {
	mcp.StrangersObjects(t, func(origin string) mcp.Options {
		return massgenAt(t, "--agent-temporary-workspace", origin+"/temp", "--coordination-config-file", allKinds(t))(origin)
	})
}

// TestWhatIsLeftOutIsToldOnce: a kind of subagent without a description, and one that the settings name and nobody knows.
func TestWhatIsLeftOutIsToldOnce(t *testing.T) {
	work := t.TempDir()
	lay(t, work, map[string]string{
		"CONTEXT.md": "We count files.", ".massgen/subagent_types/mine/SUBAGENT.md": "---\nname: mine\n---\nLook.", "f": `{"subagent_types":["critic","krytic"]}`,
	})
	b := mcp.NewToolbox(t, massgenAt(t, "--workspace-path", work, "--coordination-config-file", work+"/f")(work))
	for i, told := range []bool{true, false} {
		said, _ := b.Call("spawn_subagents", `{"background":true,"tasks":[{"task":"Count."}]}`)
		for _, word := range []string{"krytic", "mine/SUBAGENT.md"} {
			if strings.Contains(said, word) != told {
				t.Errorf("call %d says %s", i, said)
			}
		}
	}
}

// lay writes files below a directory.
func lay(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAChildIsContinuedLongAfterItsRun: nothing of the run is left but its workspace and the parent's registry.
func TestAChildIsContinuedLongAfterItsRun(t *testing.T) {
	work := t.TempDir()
	lay(t, work, map[string]string{
		"CONTEXT.md":                       "We count files.",
		"subagents/a/workspace/answer.txt": "There are three.",
		"subagents/_registry.json": `{"parent_agent_id":"agent_a","orchestrator_id":"orch","subagents":[{"subagent_id":"a","session_id":null,"task":"Count.","status":"completed",` +
			`"workspace":"` + work + `/subagents/a/workspace","created_at":"2026-01-01T00:00:00+00:00","execution_time_seconds":1,"success":true,"continuable":true,"continuable_via":"context_recovery","source_agent":"agent_a"}]}`,
	})
	b := mcp.NewToolbox(t, massgenAt(t, "--workspace-path", work)(work))
	if said, _ := b.Call("continue_subagent", `{"subagent_id":"a","message":"m","background":true}`); !strings.Contains(said, `"status":"running"`) {
		t.Errorf("it says %s", said)
	}
}

// A call of MassGen's that is given up loses nothing.
func TestABlockingCallThatIsGivenUp(t *testing.T) { mcp.GivenUp(t, massgenAt(t)) }

// Long answers and files that have grown cost no more than their bounds.
func TestMassGenIsBounded(t *testing.T) { mcp.BoundedObjects(t, massgenAt(t)) }

// allKinds are settings in which more kinds of subagents are on.
func allKinds(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "coordination.json")
	if err := os.WriteFile(path, []byte(`{"subagent_types":["round_evaluator","critic"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A wait ends when a task is paused, and when it ends.
func TestAWaitOfStakpakEndsWithAPause(t *testing.T) {
	mcp.WaitForAPause(t, mcp.Options{Set: stakpak.Name, Sets: []mcp.Set{stakpak.Set()}}, `wait_for_tasks {"task_ids":"a"}`, "Paused", "Completed")
}
