package crash

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// effects are the calls that change something outside of the watcher: receiver and method, in whatever case they are written.
var effects = []string{
	"journal.Begin", "journal.Move", "journal.Bind", "journal.Release", "journal.NoteAnswered", "journal.NoteEnding", "journal.Refile", "journal.Again",
	"journal.KeepOutboxes", "journal.LookedThrough", "journal.PartWithWorkspace",
	"launcher.Create", "launcher.Start", "launcher.Open", "launcher.Attest", "launcher.Remove", "att.Release",
	"resource.Acquire", "resource.Attested", "resource.End", "resource.Release",
	"dir.Publish", "o.publish", "box.publish", "s.publish", "dir.Remove", "notes.save", "notes.drop",
	"archive.Forget", "archive.DropKeys", "archive.Shrink",
}

// exempt are calls that no run depends on, and why.
var exempt = map[string]string{
	"operator_output.go: launcher.Open": "an operator looks on",
	"away.go: Dir.Publish":              "the points are where it is called",
	"notes.go: dir.Remove":              "the points are where it is called",
	"removals.go: launcher.Remove":      "the points are where it is called",
	"live.go: s.Publish":                "the point is in what it calls",
	"recover_adopt.go: journal.Move":    "only a loss of power leads there",
	"bounds.go: dir.Remove":             "what is over the bounds is found again",
	"record.go: dir.Remove":             "an operator removes a session",
	"spool.go: dir.Remove":              "what counts for nothing is found again by the next start",
	"store.go: dir.Remove":              "an end that is told again finds that it was kept",
}

// source is what was found in the watcher's sources.
type source struct {
	points    []string // names, each once
	pointless []string // effects that no point stands before
}

func readSource(t *testing.T) (s source) {
	t.Helper()
	for name, file := range parse(t) {
		s.add(filepath.Base(name), file)
	}
	return s
}

// watchers is where the sources of the watcher are.
const watchers = "../../watcher"

// parse parses them, by their paths below that.
func parse(t *testing.T) map[string]*ast.File {
	t.Helper()
	all := map[string]*ast.File{}
	err := filepath.WalkDir(watchers, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		name, err := filepath.Rel(watchers, path)
		if err == nil {
			all[name], err = parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// add notes, in the order of the text, whether a point stands before each effect with no other effect between.
func (s *source) add(name string, file *ast.File) {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		guarded := false
		ast.Inspect(f.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if selector, ok := n.Fun.(*ast.SelectorExpr); ok && method(selector) == "crash.At" {
					guarded = true
					s.addPoint(n.Args[0])
				}
			case *ast.SelectorExpr: // a method that is called here, or handed on to be called
				what := method(n)
				if !slices.ContainsFunc(effects, func(e string) bool { return strings.EqualFold(e, what) }) || exempt[name+": "+what] != "" {
					return true
				}
				if !guarded {
					s.pointless = append(s.pointless, name+": "+f.Name.Name+": "+what)
				}
				guarded = false
			}
			return true
		})
	}
}

// method is "receiver.method" of a selector, with the last part of the receiver only.
func method(selector *ast.SelectorExpr) string {
	switch x := selector.X.(type) {
	case *ast.Ident:
		return x.Name + "." + selector.Sel.Name
	case *ast.SelectorExpr:
		return x.Sel.Name + "." + selector.Sel.Name
	}
	return ""
}

// addPoint notes a point's name. A name that is put together has a text for its beginning and a state after it.
func (s *source) addPoint(arg ast.Expr) {
	names := []string{}
	switch x := arg.(type) {
	case *ast.BasicLit:
		names = append(names, text(x))
	case *ast.BinaryExpr:
		if first, ok := x.X.(*ast.BasicLit); ok {
			for _, state := range []string{"starting", "running", "waiting", "ended"} {
				names = append(names, text(first)+state)
			}
		}
	}
	for _, name := range names {
		if !slices.Contains(s.points, name) {
			s.points = append(s.points, name)
		}
	}
}

func text(literal *ast.BasicLit) string {
	s, err := strconv.Unquote(literal.Value)
	if err != nil {
		panic(err)
	}
	return s
}

func TestEveryEffectHasAPoint(t *testing.T) {
	s := readSource(t)
	for _, effect := range s.pointless {
		t.Errorf("%s: no crash.At stands between this effect and the one before", effect)
	}
	if len(s.points) < 20 {
		t.Errorf("only %d points were found", len(s.points))
	}
	for _, point := range s.points {
		if stories[point] == nil {
			t.Errorf("the point %s is in no story, so that nobody was ever killed there", point)
		}
	}
	for point := range stories {
		if !slices.Contains(s.points, point) {
			t.Errorf("there is a story of %s, which is no point", point)
		}
	}
}

// TestAnEffectWithoutAPointIsFound: the test above would say so.
func TestAnEffectWithoutAPointIsFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.go")
	const code = `package x
func f() {
	crash.At("a")
	w.journal.Move(1)
	w.journal.NoteAnswered(2)
	crash.At("b")
	w.once(a.att.Release)
	w.once(r.launcher.Attest)
}`
	if err := os.WriteFile(path, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var s source
	s.add("x.go", file)
	if !slices.Equal(s.points, []string{"a", "b"}) || !slices.Equal(s.pointless, []string{"x.go: f: journal.NoteAnswered", "x.go: f: launcher.Attest"}) {
		t.Errorf("found %+v", s)
	}
}
