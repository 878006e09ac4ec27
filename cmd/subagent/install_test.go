package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torno/internal/cli"
)

// home is where an agent's files are; it installs.
type home struct {
	*testing.T
	dir, file string
}

func newHome(t *testing.T) *home {
	dir := t.TempDir()
	return &home{t, dir, filepath.Join(dir, ".claude", "CLAUDE.md")}
}

func (h *home) install(args ...string) (out, said string, code int) {
	h.Helper()
	env := func(name string) string { return map[string]string{"HOME": h.dir}[name] }
	var stdout, stderr strings.Builder
	system := cli.System{Env: env, In: strings.NewReader(""), Out: cli.NewOutput(&stdout, env), Errors: cli.NewOutput(&stderr, env)}
	code = run(context.Background(), append([]string{"install", "claude"}, args...), system)
	return stdout.String(), stderr.String(), code
}

func (h *home) write(text string) {
	h.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(h.file), 0o755), os.WriteFile(h.file, []byte(text), 0o600), os.Chmod(h.file, 0o640)); err != nil {
		h.Fatal(err)
	}
}

// holds wants the file to hold a text, and its directory nothing else.
func (h *home) holds(text string) {
	h.Helper()
	got, err := os.ReadFile(h.file)
	if err != nil || string(got) != text {
		h.Errorf("the file holds %q, %v; want %q", got, err, text)
	}
	if names, _ := os.ReadDir(filepath.Dir(h.file)); len(names) != 1 {
		h.Errorf("beside it lies %v", names)
	}
}

// TestAPageIsPutInAndTakenOut (H24): the same page once, and the file as it was.
func TestAPageIsPutInAndTakenOut(t *testing.T) {
	page := pageBegins + skill + pageEnds
	for before, after := range map[string]string{
		"":                     page,
		"# Mine\n\nBe kind.\n": "# Mine\n\nBe kind.\n\n" + page,
		"no end of line":       "no end of line\n\n" + page,
		"one\r\ntwo\r\n":       "one\r\ntwo\r\n\n" + page,
		"\xff\x00\n":           "\xff\x00\n\n" + page,
	} {
		h := newHome(t)
		if before != "" {
			h.write(before)
		}
		if out, _, code := h.install("--print"); out != after || code != exitCompleted {
			t.Errorf("printed %q, %d", out, code)
		}
		for range 2 {
			if _, said, code := h.install(); code != exitCompleted {
				t.Errorf("%d, %s", code, said)
			}
			h.holds(after)
		}
		if info, err := os.Stat(h.file); err != nil || before != "" && info.Mode() != 0o640 {
			t.Errorf("its mode is %v, %v", info.Mode(), err)
		}
		for range 2 {
			if _, said, code := h.install("--remove"); code != exitCompleted {
				t.Errorf("%d, %s", code, said)
			}
		}
		if before == "" {
			if names, _ := os.ReadDir(filepath.Dir(h.file)); len(names) > 0 {
				t.Errorf("%v is left", names)
			}
			continue
		}
		h.holds(strings.TrimSuffix(before, "\n") + "\n")
	}
}

// TestAnOldPageIsBroughtUpToDate: and what stands around it stays.
func TestAnOldPageIsBroughtUpToDate(t *testing.T) {
	h := newHome(t)
	h.write("above\n" + pageBegins + "an old page\n" + pageEnds + "below")
	h.install()
	h.holds("above\n" + pageBegins + skill + pageEnds + "below")
}

// TestAFileInDoubtIsLeft (H24).
func TestAFileInDoubtIsLeft(t *testing.T) {
	for name, text := range map[string]string{
		"no end":           pageBegins + "mine\n",
		"no beginning":     "mine\n" + pageEnds,
		"the other way":    pageEnds + "mine\n" + pageBegins,
		"two pages":        pageBegins + pageEnds + "mine\n" + pageBegins + pageEnds,
		"two beginnings":   pageBegins + "mine\n" + pageBegins + pageEnds,
		"in a line":        "as in " + pageBegins + pageEnds,
		"an end in a line": pageBegins + "mine " + pageEnds,
		"behind an end":    pageBegins + strings.TrimSuffix(pageEnds, "\n") + " mine\n",
		"another mark":     markBegins + " of another version -->\nmine\n" + pageEnds,
		"too long":         strings.Repeat("x", maxInstructions+1),
	} {
		t.Run(name, func(t *testing.T) {
			for _, args := range [][]string{nil, {"--remove"}} {
				h := newHome(t)
				h.write(text)
				if _, said, code := h.install(args...); code == exitCompleted || !strings.Contains(said, "next: ") {
					t.Errorf("%d, %s", code, said)
				}
				h.holds(text)
			}
		})
	}
}

// TestALinkIsNotFollowed (H24): nor a file with two names, nor a FIFO.
func TestALinkIsNotFollowed(t *testing.T) {
	for name, plant := range map[string]func(victim, file string) error{"a link": os.Symlink, "a second name": os.Link} {
		h := newHome(t)
		victim := filepath.Join(h.dir, "victim")
		err := errors.Join(os.MkdirAll(filepath.Dir(h.file), 0o755), os.WriteFile(victim, []byte("mine"), 0o600), plant(victim, h.file))
		if err != nil {
			t.Fatal(err)
		}
		if _, said, code := h.install(); code == exitCompleted {
			t.Errorf("%s: %s", name, said)
		}
		if text, _ := os.ReadFile(victim); string(text) != "mine" {
			t.Errorf("%s: the victim holds %q", name, text)
		}
	}
}

// TestAWriterMeanwhileWins (H24).
func TestAWriterMeanwhileWins(t *testing.T) {
	h := newHome(t)
	none, err := readInstructions(h.file)
	if err != nil {
		t.Fatal(err)
	}
	h.write("first\n")
	if none.replace("ours\n") == nil {
		t.Error("a file that was made meanwhile was replaced")
	}
	h.holds("first\n")
	some, err := readInstructions(h.file)
	if err != nil {
		t.Fatal(err)
	}
	h.write("a second writer\n")
	if some.replace("ours\n") == nil {
		t.Error("a file that was changed meanwhile was replaced")
	}
	h.holds("a second writer\n")
}
