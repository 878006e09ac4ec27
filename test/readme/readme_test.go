package readme

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"torno/test/house"
)

const root = "../.."

// pages are README.md and whatever else is for people.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all[path] = string(text)
		}
	}
	if all[filepath.Join(root, "README.md")] == "" {
		t.Fatal("there is no README.md")
	}
	return all
}

// helps asks a program for its help, once for each command. A command that does not exist has none.
type helps map[string]string

func (h helps) of(program, command string) string {
	key := program + " " + command
	if _, asked := h[key]; !asked {
		args := []string{"help"}
		if command != "" {
			args = append(args, command)
		}
		var out bytes.Buffer
		ask := exec.Command(house.Program(program), args...)
		if ask.Stdout = &out; ask.Run() != nil {
			out.Reset()
		}
		h[key] = out.String()
	}
	return h[key]
}

func TestCommandsAndOptionsExist(t *testing.T) {
	programs := []string{"watcher", "subagent"}
	h, checked := helps{}, 0
	for path, page := range pages(t) {
		if filepath.Base(path) == "TROUBLESHOOTING.md" {
			page = quotedRow.ReplaceAllString(page, "|") // what programs say, and not how they are called
		}
		for _, snippet := range snippets(page) {
			for _, use := range uses(snippet, programs...) {
				help := h.of(use.program, use.command)
				if help == "" {
					t.Errorf("%s: `%s`: %s has no command %q", path, snippet, use.program, use.command)
					continue
				}
				for _, option := range use.options {
					if !regexp.MustCompile(`(?m)^ .*` + regexp.QuoteMeta(option) + `[ ,\n]`).MatchString(help) {
						t.Errorf("%s: `%s`: %s %s has no option %s", path, snippet, use.program, use.command, option)
					}
				}
				checked++
			}
		}
	}
	if checked < 10 {
		t.Errorf("only %d invocations were found in all pages", checked)
	}
}

func TestTargetsExist(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for path, page := range pages(t) {
		for _, snippet := range snippets(page) {
			for _, use := range uses(snippet, "make") {
				if use.command != "" && !regexp.MustCompile(`(?m)^`+use.command+`:.* ## `).Match(makefile) {
					t.Errorf("%s: `%s`: the Makefile explains no such target", path, snippet)
				}
			}
		}
	}
}

func TestLinksLead(t *testing.T) {
	for path, page := range pages(t) {
		for _, target := range links(page) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), target)); err != nil {
				t.Errorf("%s: a link leads nowhere: %v", path, err)
			}
		}
	}
}

func TestWhatIsFoundOnAPage(t *testing.T) {
	page := strings.ReplaceAll(`Say 'make demo', or see [here](docs/X.md#y) and [there](https://example.org).
'''sh
make build && export PATH=x
id=$(subagent --outbox ./o spawn --timeout=10m -- 'watcher none' --not-ours)   # and watcher nothing
docker run \
  -v x subagent wait "$id"; watcher ps -a
'''
'''
watcher picture
'''
`, "'''", "```")
	page = strings.ReplaceAll(page, "'make demo'", "`make demo`")
	var got []use
	for _, snippet := range snippets(page) {
		got = append(got, uses(snippet, "make", "watcher", "subagent")...)
	}
	want := []use{
		{"make", "build", nil},
		{"subagent", "spawn", []string{"--outbox", "--timeout"}},
		{"subagent", "wait", nil},
		{"watcher", "ps", []string{"-a"}},
		{"make", "demo", nil},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("found %v\nwant  %v", got, want)
	}
	if got := links(page); !reflect.DeepEqual(got, []string{"docs/X.md"}) {
		t.Errorf("found the links %v", got)
	}
}
