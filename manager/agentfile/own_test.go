package agentfile_test

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestWhatLiesBesideAnAgent is part of its prompt: the skills that it is to have, in the order of their names, and then its memory.
func TestWhatLiesBesideAnAgent(t *testing.T) {
	for front, want := range map[string]string{
		"":                               "prompt, how to ask, how to say, it was wet",
		"skills: [say]":                  "prompt, how to say, it was wet",
		"skills: []":                     "prompt, it was wet",
		"skills: {exclude: [say, more]}": "prompt, how to ask, it was wet",
	} {
		root := openRoot(t)
		write(t, root, "agents/x/agent.md", file("a", front))
		write(t, root, "agents/x/skills/say.md", []byte("how to say\n"))
		write(t, root, "agents/x/skills/ask.md", []byte("how to ask\n"))
		write(t, root, "agents/x/skills/notes.txt", []byte("no skill"))
		write(t, root, "agents/x/memory.md", []byte("it was wet\n"))
		set := read(t, root)
		a, err := set.Get("a", "main")
		if err != nil {
			t.Fatal(err, set.Problems)
		}
		if got := strings.ReplaceAll(a.Prompt, "\n\n", ", "); got != want {
			t.Errorf("%q: %q, want %q", front, got, want)
		}
	}
}

// TestWhatLiesBesideAnAgentIsHostile: with a file that must not be read the agent is not served.
func TestWhatLiesBesideAnAgentIsHostile(t *testing.T) {
	for what, lay := range map[string]func(string) error{
		"a link":     func(dir string) error { return os.Symlink("/etc/passwd", dir+"/memory.md") },
		"a FIFO":     func(dir string) error { return syscall.Mkfifo(dir+"/memory.md", 0o600) },
		"too long":   func(dir string) error { return os.WriteFile(dir+"/memory.md", make([]byte, 257<<10), 0o600) },
		"no text":    func(dir string) error { return os.WriteFile(dir+"/memory.md", []byte("\xff"), 0o600) },
		"linked dir": func(dir string) error { return os.Symlink("/etc", dir+"/skills") },
		"together": func(dir string) error {
			half := []byte(strings.Repeat("x", 200<<10))
			return errors.Join(os.Mkdir(dir+"/skills", 0o755), os.WriteFile(dir+"/skills/a.md", half, 0o600), os.WriteFile(dir+"/memory.md", half, 0o600))
		},
	} {
		root := openRoot(t)
		write(t, root, "agents/x/agent.md", file("a"))
		if err := lay(root.Name() + "/agents/x"); err != nil {
			t.Fatal(err)
		}
		if set := read(t, root); len(set.Names()) > 0 || len(set.Problems) != 1 {
			t.Errorf("%s: %v are served, %v", what, set.Names(), set.Problems)
		}
	}
}
