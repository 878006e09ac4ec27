package jarvis_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"

	"torno/manager/mcp/jarvis"
)

const project = "testdata/project"

func open(t *testing.T, o jarvis.Options) (list string, notices []string) {
	t.Helper()
	if o.Project == "" {
		o.Project = project
	}
	if o.Outbox == "" {
		o.Outbox = t.TempDir()
	}
	set, notices, err := jarvis.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return set.Tools[0].About, notices
}

// write makes a file below a directory, and returns the directory.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func wantLines(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s", diff.Diff("want", []byte(want), "got", []byte(got)))
	}
}

// TestTheListOfAgents is for the caller of this server, and says of each what its file asks for in vain.
func TestTheListOfAgents(t *testing.T) {
	list, notices := open(t, jarvis.Options{})
	wantLines(t, list, `Have an agent do a task, and return its answer. It runs in a sandbox of its own, with its own instructions and tools; the call ends when it has.
The agents:
- counter: Counts words. It answers in JSON.
- free: May use any tool.
- lister: Says what there is, as JSON. It answers in JSON.
- researcher: Finds things out, and remembers them. It goes on with its conversation at each call.
- reviewer: Reviews a change, and says what is wrong with it. Not given: skills: only those in its own directory are given.
- tester: Runs tests. Not given: maxTurns: the number of turns is not bounded; the time is; memory: a child keeps nothing between its runs but its workspace and its conversation.`)
	wantLines(t, strings.Join(notices, "\n"), "not served: agents/broken/agent.md:4: hooks: runs commands by itself; remove the key")
	list, _ = open(t, jarvis.Options{Caller: "scheduler"})
	if !strings.HasSuffix(list, "The agents:\n- private: Works for the scheduler alone.") {
		t.Errorf("the scheduler has %s", list)
	}
	list, _ = open(t, jarvis.Options{Project: t.TempDir()})
	if !strings.HasSuffix(list, "There is no agent: agents/NAME/agent.md and .claude/agents/NAME.md describe them.") {
		t.Errorf("an empty project has %s", list)
	}
}

// TestACallerIsAWord, so that it stands for itself in a file and in a text.
func TestACallerIsAWord(t *testing.T) {
	for _, caller := range []string{"a b", "--all", `main"`} {
		if _, _, err := jarvis.Open(jarvis.Options{Project: project, Outbox: t.TempDir(), Caller: caller}); err == nil || !strings.Contains(err.Error(), "the caller is ") {
			t.Errorf("%q: %v", caller, err)
		}
	}
}

const scout = "---\nname: scout\ndescription: Looks around.\n---\nLook.\n"

// TestTheAgentsOfAUser are served beside those of the project, once, also where the project is the user's home.
func TestTheAgentsOfAUser(t *testing.T) {
	home := write(t, t.TempDir(), ".claude/agents/scout.md", scout)
	env := func(name string) string { return map[string]string{"HOME": home}[name] }
	for _, dir := range []string{project, home} {
		list, notices := open(t, jarvis.Options{Project: dir, Env: env})
		if !strings.Contains(list, "- scout: Looks around.") || strings.Contains(strings.Join(notices, "\n"), "scout") {
			t.Errorf("%s: %s\n%s", dir, list, notices)
		}
	}
	write(t, home, "claude/agents/other.md", strings.ReplaceAll(scout, "scout", "other"))
	moved := func(name string) string {
		return map[string]string{"HOME": home, "CLAUDE_CONFIG_DIR": filepath.Join(home, "claude")}[name]
	}
	if list, _ := open(t, jarvis.Options{Env: moved}); !strings.Contains(list, "- other:") || strings.Contains(list, "- scout:") {
		t.Errorf("with a directory of its own Claude Code has %s", list)
	}
	write(t, home, "agents/scout/agent.md", scout)
	if list, notices := open(t, jarvis.Options{Project: home, Env: env}); strings.Contains(list, "scout") || !strings.Contains(strings.Join(notices, "\n"), "none of them is served") {
		t.Errorf("two files of one name are served: %s\n%s", list, notices)
	}
}

// TestNoVariableComesByItself: a file that somebody else has written can name any, and a child would have it.
func TestNoVariableComesByItself(t *testing.T) {
	dir := write(t, t.TempDir(), "agents/a/agent.md", "---\nname: a\ndescription: b\nmcp_servers: [{name: s, command: x, env: {K: '${SECRET}', L: '${LEVEL}'}}]\n---\n")
	env := func(name string) string { return "the " + strings.ToLower(name) }
	_, notices := open(t, jarvis.Options{Project: dir, Env: env, Pass: []string{"LEVEL"}})
	wantLines(t, strings.Join(notices, "\n"), "agents' files name the variable SECRET, which is empty for them: --pass SECRET gives it to what agents start")
}

// TestAgentsWhereChildrenWrite are refused: a child could write there how the next one is instructed.
func TestAgentsWhereChildrenWrite(t *testing.T) {
	outbox := t.TempDir()
	workspace := write(t, outbox, "workspaces/a/agents/scout/agent.md", scout)
	inside := filepath.Join(workspace, "workspaces/a")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(inside, link); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{outbox, inside, link} {
		if _, _, err := jarvis.Open(jarvis.Options{Project: dir, Outbox: outbox}); err == nil || !strings.Contains(err.Error(), "lies in the outbox, where children write") {
			t.Errorf("%s: %v", dir, err)
		}
	}
	env := func(name string) string { return map[string]string{"CLAUDE_CONFIG_DIR": inside}[name] }
	if _, _, err := jarvis.Open(jarvis.Options{Project: project, Outbox: outbox, Env: env}); err == nil {
		t.Error("a user's agents are read from a workspace")
	}
	list, _ := open(t, jarvis.Options{Project: write(t, filepath.Dir(outbox), "agents/scout/agent.md", scout), Outbox: outbox})
	if !strings.Contains(list, "- scout:") {
		t.Errorf("a project that holds the outbox has %s", list)
	}
}

// TestFilesThatAreTraps are not served, and each is said.
func TestFilesThatAreTraps(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "agents/good/agent.md", strings.ReplaceAll(scout, "scout", "good"))
	write(t, dir, "elsewhere.md", scout)
	write(t, dir, "agents/bomb/agent.md", "---\nname: bomb\ndescription: d\noutput_schema: {$ref: '#/$defs/a', $defs: {a: {items: {$ref: '#/$defs/a'}}}}\n---\n")
	heavy := "---\nname: heavy\ndescription: d\noutput_schema:\n  $ref: '#/$defs/a9'\n  $defs:\n    a0: {type: string}\n"
	for _, pair := range []string{"01", "12", "23", "34", "45", "56", "67", "78", "89"} {
		heavy += "    a" + pair[1:] + ": {anyOf: [{$ref: '#/$defs/a" + pair[:1] + "'}, {$ref: '#/$defs/a" + pair[:1] + "'}, {$ref: '#/$defs/a" + pair[:1] + "'}]}\n"
	}
	write(t, dir, "agents/heavy/agent.md", heavy+"---\n")
	write(t, dir, "agents/huge/agent.md", scout+strings.Repeat("x", 300<<10))
	if err := os.Mkdir(filepath.Join(dir, "agents/linked"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../elsewhere.md", filepath.Join(dir, "agents/linked/agent.md")); err != nil {
		t.Fatal(err)
	}
	list, notices := open(t, jarvis.Options{Project: dir})
	if !strings.HasSuffix(list, "The agents:\n- good: Looks around.") {
		t.Errorf("it serves %s", list)
	}
	said := strings.Join(notices, "\n")
	for _, want := range []string{
		"agents/bomb/agent.md:4: output_schema: contains itself", "agents/heavy/agent.md:5: output_schema: is too large", "agents/huge/agent.md is larger than", "agents/linked/agent.md cannot be read",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not said in\n%s", want, said)
		}
	}
}
