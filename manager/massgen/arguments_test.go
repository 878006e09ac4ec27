package massgen

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// vectors are the cases of an archive, each as its lines.
func vectors(t *testing.T, name string, lines int) map[string][]string {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for _, file := range archive.Files {
		all[file.Name] = strings.Split(strings.TrimSuffix(string(file.Data), "\n"), "\n")
		if len(all[file.Name]) != lines {
			t.Fatalf("%s has %d lines, want %d", file.Name, len(all[file.Name]), lines)
		}
	}
	if len(all) != len(archive.Files) || len(all) == 0 {
		t.Fatalf("%s has %d cases with %d names", name, len(archive.Files), len(all))
	}
	return all
}

func encoded(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func testParent(name string) Parent {
	parent := Parent{
		Workspace: "/p", MaxTasks: 2, Running: []string{"busy", "alive"}, Types: []string{"explorer", "Critic"},
		Exists:          func(path string) bool { return !strings.Contains(path, "gone") },
		InheritsBackend: strings.HasPrefix(name, "inherit"),
	}
	if strings.Contains(name, "none configured") {
		parent.Types = nil
	}
	next := 0
	parent.NextID = func() string {
		next++
		return "subagent_" + string(rune('0'+next-1))
	}
	return parent
}

// S§1.9: the failures of spawn_subagents and their order.
func TestSpawnRefusals(t *testing.T) {
	for name, lines := range vectors(t, "spawn.txtar", 2) {
		t.Run(name, func(t *testing.T) {
			_, failure := ParseSpawn([]byte(lines[0]), testParent(name))
			if got := encoded(t, failure); got != lines[1] {
				t.Errorf("got\n%s\nwant\n%s", got, lines[1])
			}
		})
	}
}

// S§1.9 and S§1.7: what a call of spawn_subagents comes to, and what holds where it says nothing.
func TestSpawnArguments(t *testing.T) {
	spawn, failure := ParseSpawn([]byte(`{"background":true,"refine":false,"context_paths":["/all","own"],"tasks":[
		{"task":"a","context_paths":["own"],"subagent_type":"CRITIC","context_files":["f"],"model":"m","system_prompt":"s",
		 "skills":["k"],"metadata":{"x":1},"include_parent_workspace":false,"include_temp_workspace":false,"timeout_seconds":90},
		{"task":"b","subagent_id":"b-1","context_paths":null}]}`), testParent(""))
	if failure != nil {
		t.Fatal(failure)
	}
	if !spawn.Background || spawn.Refine || len(spawn.Tasks) != 2 {
		t.Errorf("got %+v", spawn)
	}
	first, second := spawn.Tasks[0], spawn.Tasks[1]
	if first.ID.String() != "subagent_0" || first.Type != "critic" || first.Model != "m" || first.Timeout != 90 ||
		first.IncludeParent || first.IncludeTemp || !reflect.DeepEqual(first.ContextPaths, []string{"own", "/all"}) ||
		!reflect.DeepEqual(first.Skills, []string{"k"}) || first.Metadata["x"] != json.Number("1") {
		t.Errorf("got %+v", first)
	}
	if second.ID.String() != "b-1" || !second.IncludeParent || !second.IncludeTemp || !reflect.DeepEqual(second.ContextPaths, []string{"/all", "own"}) {
		t.Errorf("got %+v", second)
	}
	plain, failure := ParseSpawn([]byte(`{"tasks":[{"task":"a"}]}`), testParent(""))
	if failure != nil || plain.Background || !plain.Refine {
		t.Errorf("got %+v, %v", plain, failure)
	}
}

// S§1.9: the failures of the other four tools and their order.
func TestSteeringRefusals(t *testing.T) {
	for name, lines := range vectors(t, "steer.txtar", 4) {
		t.Run(name, func(t *testing.T) {
			var child Child
			if err := json.Unmarshal([]byte(lines[2]), &child); err != nil {
				t.Fatal(err)
			}
			if got := encoded(t, steer(t, lines[0], []byte(lines[1]), child)); got != lines[3] {
				t.Errorf("got\n%s\nwant\n%s", got, lines[3])
			}
		})
	}
}

func steer(t *testing.T, tool string, arguments []byte, child Child) *Failure {
	t.Helper()
	type checked interface{ Check(child Child) *Failure }
	var call checked
	var failure *Failure
	switch tool {
	case "continue_subagent":
		call, failure = ParseContinue(arguments)
	case "send_message_to_subagent":
		call, failure = ParseSend(arguments)
	case "cancel_subagent":
		call, failure = ParseCancel(arguments)
	case "list_subagents":
		return ParseList(arguments)
	default:
		t.Fatalf("no tool %s", tool)
	}
	if failure != nil {
		return failure
	}
	return call.Check(child)
}

// S§1.9: "Continuation timed out after {n}s".
func TestContinuationTimedOut(t *testing.T) {
	if got := (Continue{}).TimedOut(90).Text; got != "Continuation timed out after 90s" {
		t.Error(got)
	}
}

func TestArgumentsAreBounded(t *testing.T) {
	huge := []byte(`{"tasks":[{"task":"` + strings.Repeat("a", MaxArguments) + `"}]}`)
	if _, failure := ParseSpawn(huge, testParent("")); failure == nil || !strings.Contains(failure.Text, "at most 1048576 are allowed") {
		t.Errorf("got %v", failure)
	}
}

// Whatever the bytes are, a call is refused or all its ids are names that a file can have.
func FuzzParseSpawn(f *testing.F) {
	f.Add([]byte(`{"tasks":[{"task":"a","subagent_id":"x"}]}`))
	f.Add([]byte(`{"tasks":[{"task":"a","subagent_id":"../x","context_paths":[[]]}]}`))
	f.Fuzz(func(t *testing.T, arguments []byte) {
		spawn, failure := ParseSpawn(arguments, testParent(""))
		for _, task := range spawn.Tasks {
			if failure == nil && (task.ID.IsZero() || task.Task == "") {
				t.Errorf("accepted %+v", task)
			}
		}
	})
}
