package layout

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"torno/delegation"
	"torno/manager/massgen/outcome"
)

func tree(t *testing.T) (*Tree, string) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	opened, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { opened.Close() })
	return opened, dir
}

func child(t *testing.T) delegation.SubagentID {
	t.Helper()
	id, err := delegation.ParseSubagentID("s1")
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// holds compares a file with what S§1.8 says, without regard to space.
func holds(t *testing.T, path, want string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(strings.Fields(string(data)), ""); got != want {
		t.Errorf("%s has\n%s\nwant\n%s", path, got, want)
	}
}

// S§1.8: the registry and its entries.
func TestRegistry(t *testing.T) {
	tree, dir := tree(t)
	session := "sid"
	err := tree.SaveRegistry(Registry{ParentAgentID: "a", OrchestratorID: "o", Subagents: []Entry{
		{SubagentID: "s1", SessionID: &session, Task: strings.Repeat("ä", 201), Status: "completed", Workspace: "/w", CreatedAt: "t", ExecutionTime: 1.5, Success: true, SourceAgent: "a"},
		{SubagentID: "s2", Status: "failed", LastContinuedAt: "u"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	holds(t, dir+"/subagents/_registry.json", `{"parent_agent_id":"a","orchestrator_id":"o","subagents":[{"subagent_id":"s1","session_id":"sid","task":"`+strings.Repeat("ä", 200)+
		`","status":"completed","workspace":"/w","created_at":"t","execution_time_seconds":1.5,"success":true,"continuable":true,"continuable_via":"session","source_agent":"a"},`+
		`{"subagent_id":"s2","session_id":null,"task":"","status":"failed","workspace":"","created_at":"","execution_time_seconds":0,"success":false,"continuable":true,"continuable_via":"context_recovery","source_agent":"","last_continued_at":"u"}]}`)
	got, err := tree.Registry()
	if err != nil || len(got.Subagents) != 2 || got.Subagents[1].LastContinuedAt != "u" || !got.Subagents[1].Continuable {
		t.Errorf("got %+v, %v", got, err)
	}
}

// S§1.8: "old dict form {id:{…}} is converted".
func TestOldRegistry(t *testing.T) {
	for _, text := range []string{
		`{"subagents":{"b":{"status":"completed"},"a":{"task":"x"},"../c":{}}}`,
		`{"b":{"status":"completed"},"a":{"task":"x"},"../c":{}}`,
	} {
		got, err := parseRegistry([]byte(text))
		if err != nil || len(got.Subagents) != 2 || got.Subagents[0].SubagentID != "a" || got.Subagents[1].Status != "completed" {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
}

// Without a registry there are no children. One that is a link, no JSON or no form of MassGen's is an error.
func TestBadRegistries(t *testing.T) {
	tree, dir := tree(t)
	if got, err := tree.Registry(); err != nil || len(got.Subagents) != 0 {
		t.Error(got, err)
	}
	path := dir + "/subagents/_registry.json"
	for _, text := range []string{"", "[]", "{", `{"subagents":5}`, `{"subagents":[{"subagent_id":5}]}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := tree.Registry(); err == nil {
			t.Errorf("%q became %+v", text, got)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/elsewhere", []byte(`{"subagents":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../elsewhere", path); err != nil {
		t.Fatal(err)
	}
	if got, err := tree.Registry(); err == nil {
		t.Errorf("a link became %+v", got)
	}
}

// S§1.8: _spawn_status.json while the children work, and when they are done.
func TestSpawnStatus(t *testing.T) {
	tree, dir := tree(t)
	path := dir + "/subagents/_spawn_status.json"
	if err := tree.SaveSpawning("t1", []Started{{SubagentID: "s1", Task: "x", Status: "running", Timeout: 300, Workspace: "/w", LogPath: "/l"}}); err != nil {
		t.Fatal(err)
	}
	holds(t, path, `{"status":"spawning","started_at":"t1","subagents":[{"subagent_id":"s1","task":"x","status":"running","progress_percent":0,"timeout_seconds":300,"workspace":"/w","log_path":"/l"}]}`)
	if err := tree.SaveSpawned("t1", "t2", []outcome.Result{{SubagentID: "s1", Status: "completed"}}); err != nil {
		t.Fatal(err)
	}
	holds(t, path, `{"status":"completed","started_at":"t1","completed_at":"t2","subagents":[{"subagent_id":"s1","status":"completed","success":false,"answer":null,"workspace":"","execution_time_seconds":0,"error":null,"token_usage":{"input_tokens":0,"output_tokens":0,"estimated_cost":0}}]}`)
}

// S§1.8: {id}/_metadata.json and live_logs.
func TestMetadataAndLiveLogs(t *testing.T) {
	tree, dir := tree(t)
	id := child(t)
	if err := tree.SaveMetadata(id, Metadata{ParentAgentID: "a", CreatedAt: "t", WorkspacePath: "/w"}); err != nil {
		t.Fatal(err)
	}
	holds(t, dir+"/subagents/s1/_metadata.json", `{"subagent_id":"s1","parent_agent_id":"a","created_at":"t","workspace_path":"/w"}`)
	for _, workspace := range []string{"/old", "/w", "/w"} {
		if err := tree.LinkLiveLogs(id, workspace); err != nil {
			t.Fatal(err)
		}
	}
	if target, err := os.Readlink(dir + "/subagents/s1/live_logs"); err != nil || target != "/w/.massgen/massgen_logs" {
		t.Error(target, err)
	}
}

// Planted links and files are neither followed nor replaced by what leads elsewhere.
func TestNothingIsWrittenThroughALink(t *testing.T) {
	tree, dir := tree(t)
	id := child(t)
	outside := t.TempDir()
	if err := os.Symlink(outside, dir+"/subagents/s1"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside+"/stolen", dir+"/subagents/_registry.json"); err != nil {
		t.Fatal(err)
	}
	if err := tree.SaveMetadata(id, Metadata{}); err == nil {
		t.Error("wrote through a directory that is a link")
	}
	if err := tree.LinkLiveLogs(id, "/w"); err == nil {
		t.Error("linked through a directory that is a link")
	}
	if err := tree.SaveRegistry(Registry{}); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 0 {
		t.Errorf("outside there is %v, %v", entries, err)
	}
	if err := tree.SaveMetadata(delegation.SubagentID{}, Metadata{}); err == nil {
		t.Error("an id that was never parsed got a directory")
	}
}

// S§1.8: no temporary file is left behind.
func TestNothingIsLeftBehind(t *testing.T) {
	tree, dir := tree(t)
	if err := tree.SaveRegistry(Registry{}); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir + "/subagents"); err != nil || len(entries) != 1 {
		t.Errorf("there is %v, %v", entries, err)
	}
}

// Of several processes that change a registry at once none loses what another has put in.
func TestUpdatesAreOneAfterTheOther(t *testing.T) {
	first, dir := tree(t)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	var group sync.WaitGroup
	const each = 20
	for process := range 3 {
		group.Go(func() {
			other, err := Open(root)
			if err != nil {
				t.Error(err)
				return
			}
			defer other.Close()
			for i := range each {
				if err := other.Update(func(r *Registry) { r.Put(Entry{SubagentID: fmt.Sprintf("s%d-%d", process, i)}) }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if got, err := first.Registry(); err != nil || len(got.Subagents) != 3*each {
		t.Errorf("there are %d, %v", len(got.Subagents), err)
	}
}

// The whole task of a child is kept, and its workspace is a link where it is elsewhere.
func TestTaskAndWorkspace(t *testing.T) {
	tree, dir := tree(t)
	id := child(t)
	long := strings.Repeat("ä", 5000)
	if err := tree.SaveTask(id, long); err != nil {
		t.Fatal(err)
	}
	if got, err := tree.Task(id); err != nil || got != long {
		t.Error(len(got), err)
	}
	if err := tree.LinkWorkspace(id, "/elsewhere"); err != nil {
		t.Fatal(err)
	}
	if target, err := os.Readlink(dir + "/subagents/s1/workspace"); err != nil || target != "/elsewhere" {
		t.Error(target, err)
	}
	root, err := tree.Workspace(id)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if there, err := os.Lstat(dir + "/subagents/s1/workspace"); err != nil || !there.IsDir() {
		t.Error("the workspace was opened through the link:", there, err)
	}
}

// TestARegistryIsNeverTooLongToBeRead: what a child is told may take six times its length in JSON, and thousands of them made a file that the next
// reader refused, for good.
func TestARegistryIsNeverTooLongToBeRead(t *testing.T) {
	opened, _ := tree(t)
	many := Registry{}
	for n := range maxEntries {
		many.Subagents = append(many.Subagents, Entry{SubagentID: fmt.Sprintf("s%d", n), Task: strings.Repeat("<", taskPreview), Workspace: "/workspace"})
	}
	if err := opened.SaveRegistry(many); err != nil {
		t.Fatal(err)
	}
	if err := opened.Update(func(r *Registry) { r.Put(Entry{SubagentID: "newest"}) }); err != nil {
		t.Fatal(err)
	}
	read, err := opened.Registry()
	if err != nil || read.Find("newest") == nil || read.Find(fmt.Sprintf("s%d", maxEntries-1)) == nil || len(read.Subagents) < maxEntries/4 {
		t.Errorf("there are %d entries, %v", len(read.Subagents), err)
	}
}
