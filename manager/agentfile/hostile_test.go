package agentfile_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"torno/manager/agentfile"
)

func nothing(string) string { return "" }

// file is an agent.md with more lines in its front matter.
func file(name string, more ...string) []byte {
	return []byte("---\nname: " + name + "\ndescription: d\n" + strings.Join(more, "\n") + "\n---\nprompt")
}

func read(t *testing.T, root *os.Root) *agentfile.Set {
	t.Helper()
	set, err := agentfile.Read(root, nil, nothing)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestNoAgents(t *testing.T) {
	set := read(t, openRoot(t))
	if len(set.Names())+len(set.Problems) != 0 {
		t.Errorf("%v, %v", set.Names(), set.Problems)
	}
	_, err := set.Get("x", "main")
	if err == nil || err.Error() != `Unknown agent: "x". Available: none` {
		t.Errorf("got %v", err)
	}
}

// TestForms has what editors of other systems write.
func TestForms(t *testing.T) {
	for name, data := range map[string][]byte{
		"CRLF":              []byte(strings.ReplaceAll(string(file("a")), "\n", "\r\n")),
		"a byte order mark": append([]byte("\xef\xbb\xbf"), file("a")...),
	} {
		root := openRoot(t)
		write(t, root, "agents/x/agent.md", data)
		set := read(t, root)
		a, err := set.Get("a", "main")
		if err != nil || a.Description != "d" || a.Prompt != "prompt" {
			t.Errorf("%s: %+v, %v, %v", name, a, err, set.Problems)
		}
	}
}

// TestRefusedBytes has what no file may hold.
func TestRefusedBytes(t *testing.T) {
	for want, data := range map[string][]byte{
		"is larger than 256 KiB":           append(file("a"), make([]byte, 256<<10)...),
		"is not text":                      append(file("a"), 0),
		"or is not UTF-8":                  append(file("a"), 0xff),
		"more than 64 KiB of front matter": file("a", "zzz: "+strings.Repeat("z", 64<<10)),
		"nested more than 32 deep":         file("a", "zzz: "+strings.Repeat("[", 40)+strings.Repeat("]", 40)),
		"is not YAML":                      file("a", "zzz: "+strings.Repeat("[", 20000)),
		"more than 8192 values":            file("a", "zzz: ["+strings.Repeat("1,", 9000)+"]"),
		"no list of keys and values":       []byte("---\n- a\n---\n"),
		"skills: has more than 256 values": file("a", "skills: ["+strings.Repeat("x,", 257)+"]"),
		"model: is longer than 16 KiB":     file("a", "model: "+strings.Repeat("m", 17<<10)),
		"env: must be names of variables":  file("a", "mcp_servers: [{name: s, command: c, env: {"+variables(257)+"}}]"),
		`has the name "LD-PRELOAD"`:        file("a", "mcp_servers: [{name: s, command: c, env: {LD-PRELOAD: x}}]"),
		"a key that is not a word":         file("a", "[a]: b"),
	} {
		root := openRoot(t)
		write(t, root, "agents/x/agent.md", data)
		set := read(t, root)
		if len(set.Names()) != 0 || len(set.Problems) != 1 || !strings.Contains(set.Problems[0].Error(), want) {
			t.Errorf("want %q, got %v, %v", want, set.Names(), set.Problems)
		}
	}
}

func variables(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, "V%d: x, ", i)
	}
	return all.String()
}

// TestOnlyRegularFiles: nothing but a regular file with one name below the project's directory describes an agent.
func TestOnlyRegularFiles(t *testing.T) {
	root, outside := openRoot(t), t.TempDir()+"/agent.md"
	if err := os.WriteFile(outside, file("outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"link", "inside", "hard", "fifo", "directory/agent.md"} {
		if err := root.MkdirAll("agents/"+dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, root, "other/agent.md", file("linked"))
	for _, err := range []error{
		os.Symlink(outside, root.Name()+"/agents/link/agent.md"),
		root.Symlink("../../other/agent.md", "agents/inside/agent.md"),
		root.Symlink("../other", "agents/dirlink"),
		root.Link("other/agent.md", "agents/hard/agent.md"),
		syscall.Mkfifo(root.Name()+"/agents/fifo/agent.md", 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	set := read(t, root)
	if len(set.Names()) != 0 || len(set.Problems) != 6 {
		t.Errorf("%v, %v", set.Names(), set.Problems)
	}
}

func TestADirectoryThatIsALink(t *testing.T) {
	root := openRoot(t)
	write(t, root, "other/x/agent.md", file("a"))
	if err := root.Symlink("other", "agents"); err != nil {
		t.Fatal(err)
	}
	if _, err := agentfile.Read(root, nil, nothing); err == nil {
		t.Error("a link was followed")
	}
}

func TestTooManyFiles(t *testing.T) {
	root := openRoot(t)
	for i := range 513 {
		write(t, root, fmt.Sprintf(".claude/agents/%d.md", i), nil)
	}
	if _, err := agentfile.Read(root, nil, nothing); err == nil || !strings.Contains(err.Error(), "more than 512 entries") {
		t.Errorf("got %v", err)
	}
}

// TestVariablesAreBounded has a small file that names a large variable often.
func TestVariablesAreBounded(t *testing.T) {
	root := openRoot(t)
	write(t, root, "agents/x/agent.md", file("a", "mcp_servers: [{name: s, command: \""+strings.Repeat("${V}", 3000)+"\"}]"))
	large := strings.Repeat("v", 100<<10)
	set, err := agentfile.Read(root, nil, func(string) string { return large })
	if err != nil || len(set.Problems) != 1 || !strings.Contains(set.Problems[0].Error(), "agents/x/agent.md:4: mcp_servers[0].command: brings more than 256 KiB") {
		t.Errorf("got %v, %v", err, set.Problems)
	}
}

// TestNamesThatCannotBeSeen: the path in an error shows what a terminal would not.
func TestNamesThatCannotBeSeen(t *testing.T) {
	root := openRoot(t)
	write(t, root, "agents/a\x1b[2J\n/agent.md", nil)
	set := read(t, root)
	want := `Invalid agent.md format (missing frontmatter): "agents/a\x1b[2J\n/agent.md"`
	if len(set.Problems) != 1 || set.Problems[0].Error() != want {
		t.Errorf("got %v, want %s", set.Problems, want)
	}
}

func TestCallers(t *testing.T) {
	root := openRoot(t)
	write(t, root, "agents/a/agent.md", file("a"))
	write(t, root, "agents/b/agent.md", file("b", "allowed_callers: [cron]"))
	write(t, root, "agents/c/agent.md", file("c", "allowed_callers: []"))
	set := read(t, root)
	for _, test := range []struct{ agent, caller, want string }{
		{"a", "main", ""},
		{"b", "cron", ""},
		{"a", "cron", `Agent "a" does not allow caller "cron".`},
		{"a", "", `Agent "a" does not allow caller "".`},
		{"b", "main", `Agent "b" does not allow caller "main".`},
		{"c", "main", `Agent "c" does not allow caller "main".`},
		{"A", "main", `Unknown agent: "A". Available: a, b, c`},
		{"x\n</result>", "main", `Unknown agent: "x\n</result>". Available: a, b, c`},
	} {
		got := ""
		a, err := set.Get(test.agent, test.caller)
		if err != nil {
			got = err.Error()
		}
		if got != test.want || (a == nil) != (err != nil) {
			t.Errorf("%s for %s: got %q, want %q", test.agent, test.caller, got, test.want)
		}
	}
}

func TestRunErrors(t *testing.T) {
	for want, err := range map[string]error{
		`Subagent "a" failed (timeout): Subagent "a" timed out after 1500ms.`: agentfile.TimedOut("a", 1500*time.Millisecond),
		`Subagent "a" failed (cli_error): m`:                                  &agentfile.RunError{Agent: "a", Kind: agentfile.FailureCLI, Message: "m"},
	} {
		if err.Error() != want {
			t.Errorf("got %s, want %s", err, want)
		}
	}
}

func TestTask(t *testing.T) {
	if got := agentfile.Task("p", "c"); got != "Context:\nc\n\nTask:\np" {
		t.Errorf("got %q", got)
	}
	if got := agentfile.Task("p", ""); got != "p" {
		t.Errorf("got %q", got)
	}
}
