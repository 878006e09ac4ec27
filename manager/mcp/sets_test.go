package mcp_test

import (
	"os"
	"path/filepath"
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
	mcp.TranscriptsAt(t, "massgen/testdata/logs", func(origin string) mcp.Options {
		return massgenAt(t, "--log-directory", origin+"/logs", "--agent-temporary-workspace", origin+"/temp", "--coordination-config-file", allKinds(t))(origin)
	})
}

// Where nobody serves and the settings say so, children are processes. What they run as MassGen is a script.
func TestTranscriptsOfMassGenWithoutAHost(t *testing.T) {
	scriptedMassGen(t)
	mcp.TranscriptsAt(t, "massgen/testdata/here", massgenAt(t, "--runtime-fallback-mode", "inherited", "--max-concurrent", "2"))
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
