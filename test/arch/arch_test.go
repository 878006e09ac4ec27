package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layout are the directories at the top. A stranger reads them first.
var layout = []string{"cmd", "configs", "contrib", "delegation", "docs", "internal", "manager", "runsc", "sandbox", "scripts", "test", "tools", "watcher"}

// made are those that .gitignore names: what was built, and the outbox of the first steps.
var made = []string{"bin", "dist", "outbox"}

func TestLayout(t *testing.T) {
	entries, err := os.ReadDir(root(t))
	if err != nil {
		t.Fatal(err)
	}
	var dirs []string
	for _, entry := range entries {
		if entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") && !slices.Contains(made, entry.Name()) {
			dirs = append(dirs, entry.Name())
		}
	}
	if !slices.Equal(dirs, layout) {
		t.Errorf("the directories at the top are %v, want %v", dirs, layout)
	}
}

func TestImportsFollowTheMap(t *testing.T) {
	var all []pkg
	for path, files := range packages(t) {
		p := pkg{path: path}
		for _, f := range files {
			p.imports = append(p.imports, importsOf(t, f.syntax)...)
		}
		all = append(all, p)
	}
	report(t, forbiddenImports(all, standard))
}

func TestEveryRoomOfTheMapExists(t *testing.T) {
	known := packages(t)
	for path := range rooms {
		dir := strings.TrimSuffix(path, "/...")
		if _, ok := known[dir]; !ok && dir == path {
			t.Errorf("%s is on the map and not in the tree", path)
		}
	}
}

func TestClientsContainNothingOfTheHost(t *testing.T) {
	for _, c := range clients {
		for _, system := range c.systems {
			report(t, strangers(c, dependencies(t, c.program, system), standard))
		}
	}
}

func TestEveryPackageTeaches(t *testing.T) {
	for path, files := range packages(t) {
		var docs []string
		for _, f := range files {
			if text := f.syntax.Doc.Text(); text != "" {
				docs = append(docs, text)
			}
		}
		report(t, undocumented(path, files[0].syntax.Name.Name, docs))
	}
}

func TestUntrustedDirectoriesAreHeld(t *testing.T) {
	all := packages(t)
	for _, path := range heldOnly {
		if len(all[path]) == 0 {
			t.Fatalf("no source in %s", path)
		}
		for _, f := range all[path] {
			report(t, namedFiles(f.syntax, f.at))
		}
	}
}

func TestPackageCommentsNameWhatThereIs(t *testing.T) {
	all := packages(t)
	names := exported(all)
	for path, files := range all {
		for _, f := range files {
			report(t, stale(path, f.syntax.Doc.Text(), names))
		}
	}
}

// TestTheContractNamesItsLaunchers: the documentation of package sandbox names every launcher that exists, and no other.
func TestTheContractNamesItsLaunchers(t *testing.T) {
	all := packages(t)
	var doc string
	for _, f := range all["sandbox"] {
		doc += f.syntax.Doc.Text()
	}
	var registered []string
	for _, f := range all["sandbox/launchers"] {
		for _, path := range importsOf(t, f.syntax) {
			if own, ok := strings.CutPrefix(path, module+"/"); ok && strings.HasPrefix(own, "sandbox/") {
				registered = append(registered, own)
			}
		}
	}
	if len(registered) == 0 {
		t.Fatal("no launcher is registered")
	}
	report(t, unnamed(doc, registered))
}

func TestNothingIsWrittenTwice(t *testing.T) {
	for path, files := range packages(t) {
		if r, _ := roomOf(path); r.open {
			continue
		}
		for _, f := range files {
			report(t, doneTwice(path, f.syntax, f.at))
		}
	}
}

// TestFormsThatMislead: no name of Go's own means something else, no statement hides in an if, and no test changes a variable of
// its package.
func TestFormsThatMislead(t *testing.T) {
	tests := parsed(t, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	for path, files := range packages(t) {
		var vars []string
		for _, f := range files {
			vars = append(vars, variables(f.syntax)...)
		}
		for _, f := range tests[path] {
			report(t, exchanged(f.syntax, vars, f.at))
		}
		for _, f := range append(files, tests[path]...) {
			report(t, append(misnamed(f.syntax, f.at), hidden(f.syntax, f.at)...))
		}
	}
}

func report(t *testing.T, found []string) {
	t.Helper()
	slices.Sort(found)
	for _, line := range slices.Compact(found) {
		t.Error(line)
	}
}

// source is one file.
type source struct {
	syntax *ast.File
	set    *token.FileSet
}

func (s source) at(n ast.Node) string { return s.set.Position(n.Pos()).String() }

// packages are the packages of the module by their path below it, with all their files that are no tests, for whatever system they are.
func packages(t *testing.T) map[string][]source {
	t.Helper()
	return parsed(t, func(name string) bool { return !strings.HasSuffix(name, "_test.go") })
}

// parsed are the files of the module whose names are wanted, by the path of their package.
func parsed(t *testing.T, wanted func(name string) bool) map[string][]source {
	t.Helper()
	top := root(t)
	all := map[string][]source{}
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if path != top && (strings.HasPrefix(name, ".") || name == "testdata" || filepath.Dir(path) == top && slices.Contains(made, name) || isFile(filepath.Join(path, "go.mod"))) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || !wanted(name) {
			return nil
		}
		s := source{set: token.NewFileSet()}
		if s.syntax, err = parser.ParseFile(s.set, path, nil, parser.ParseComments); err != nil {
			return err
		}
		dir, err := filepath.Rel(top, filepath.Dir(path))
		all[dir] = append(all[dir], s)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func importsOf(t *testing.T, file *ast.File) []string {
	t.Helper()
	var paths []string
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// standard says whether a package comes with Go. C does not count: the products are pure Go.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return first != "C" && first != module && !strings.Contains(first, ".")
}

// dependencies are all packages that a program consists of on a system.
func dependencies(t *testing.T, program, system string) []string {
	t.Helper()
	list := exec.Command("go", "list", "-deps", "./"+program)
	list.Dir = root(t)
	list.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
	var complaint strings.Builder
	list.Stderr = &complaint
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v: %s", err, complaint.String())
	}
	return strings.Fields(string(out))
}

func root(t *testing.T) string {
	t.Helper()
	top, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return top
}
