package docker

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"torno/internal/seccomp"
	"torno/sandbox"
)

var update = flag.Bool("update", false, "write the page anew")

const page = "../../docs/SANDBOXES.md"

// The table of system calls stands between these.
const (
	tableBegin = "<!-- begin system calls -->\n"
	tableEnd   = "<!-- end system calls -->\n"
)

// TestDocumented holds the page for people against the rules: everything that a sandbox may call and every guarantee is there.
func TestDocumented(t *testing.T) {
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	before, rest, found := strings.Cut(text, tableBegin)
	_, after, foundEnd := strings.Cut(rest, tableEnd)
	if !found || !foundEnd {
		t.Fatal("the page has no place for the table")
	}
	want := before + tableBegin + table() + tableEnd + after
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		text = want
	}
	if text != want {
		t.Error("the table of system calls is not that of the rules; write it with -update")
	}
	for _, key := range sandbox.GuaranteeKeys {
		if !strings.Contains(text, "`"+string(key)+"`") {
			t.Errorf("nothing is said of %s", key)
		}
	}
}

// values are the names that a rule has for what an argument may be.
func values(r seccomp.Rule) string {
	var names []string
	for _, a := range r.Args {
		if a.OneOf != nil {
			for _, n := range *a.OneOf {
				names = append(names, n.Name)
			}
		}
	}
	if names == nil {
		return ""
	}
	return " with " + strings.Join(names, ", ")
}

// table is the rules for people, who read the other conditions in the reasons.
func table() string {
	var b strings.Builder
	b.WriteString("\n| because | calls |\n|---|---|\n")
	for _, r := range (seccomp.Filter{}).Rules() {
		if r.Errno != 0 {
			continue
		}
		where := ""
		if r.Arch != "" {
			where = " (" + r.Arch + ")"
		}
		fmt.Fprintf(&b, "| %s%s | `%s`%s |\n", r.Reason, where, strings.Join(r.Names, "` `"), values(r))
	}
	b.WriteString("\n")
	return b.String()
}
