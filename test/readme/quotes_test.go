package readme

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	quotedRow = regexp.MustCompile("(?m)^\\| `([^`]+)`")
	verb      = regexp.MustCompile(`%[-+#0-9.*]*[a-zA-Z]`)
)

// quotes are the messages that begin the rows of a page's tables.
func quotes(page string) (all []string) {
	for _, row := range quotedRow.FindAllStringSubmatch(page, -1) {
		all = append(all, row[1])
	}
	return all
}

// said tells whether a program can say a quote: its fixed parts are in one text of the sources, in that order.
func said(texts []string, quote string) bool {
	for _, text := range texts {
		if inOrder(text, strings.Split(quote, "…")) {
			return true
		}
	}
	return false
}

func inOrder(text string, parts []string) bool {
	for _, part := range parts {
		_, rest, found := strings.Cut(text, strings.TrimSpace(part))
		if !found {
			return false
		}
		text = rest
	}
	return true
}

// texts are the string literals of the programs, with a space in the place of each verb. Literals that are added up are one text.
func texts(t *testing.T) (all []string) {
	t.Helper()
	for _, dir := range []string{"cmd", "configs", "delegation", "internal", "manager", "sandbox", "watcher"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			all = append(all, literals(path, source)...)
			return err
		})
		must(t, err)
	}
	return all
}

func literals(path string, source []byte) (all []string) {
	files := token.NewFileSet()
	var s scanner.Scanner
	s.Init(files.AddFile(path, files.Base(), len(source)), source, nil, 0)
	open := false // the last token was a literal, or the + behind one
	for {
		switch _, kind, text := s.Scan(); {
		case kind == token.EOF:
			return all
		case kind == token.STRING:
			text, _ = strconv.Unquote(text) // the compiler has taken it
			text = verb.ReplaceAllString(text, " ")
			if open {
				all[len(all)-1] += text
			} else {
				all = append(all, text)
			}
			open = true
		case kind != token.ADD:
			open = false
		}
	}
}

// TestEachQuotedErrorIsSaid: a reader who looks for the words of an error finds them as the programs say them.
func TestEachQuotedErrorIsSaid(t *testing.T) {
	page, sources := pages(t)[filepath.Join(root, "docs/TROUBLESHOOTING.md")], texts(t)
	all := quotes(page)
	for _, quote := range all {
		if len(strings.Trim(quote, "… :")) < 8 {
			t.Errorf("%q is too short to be looked for", quote)
		}
		if !said(sources, quote) {
			t.Errorf("no program says %q", quote)
		}
	}
	if len(all) < 30 {
		t.Errorf("the page quotes %d messages only", len(all))
	}
}

func TestWhatIsSaid(t *testing.T) {
	sources := literals("x.go", []byte("package x\nvar a = f(\"the workspace of %s \" +\n\t\"belongs to %d\", \"another\")\n"))
	for quote, want := range map[string]bool{
		"the workspace of … belongs to …": true, "belongs to": true, "… belongs to": true,
		"belongs to … the workspace": false, "the workspace of another": false, "belongs to %d": false,
	} {
		if said(sources, quote) != want {
			t.Errorf("%q: said is not %t of %q", quote, want, sources)
		}
	}
	if got := quotes("| `a` | b |\n|---|\n| no quote | `x` |\n| `c …` and d | e |\n"); strings.Join(got, ",") != "a,c …" {
		t.Errorf("quoted: %q", got)
	}
}
