package attack

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// sources are the facts about tests in the repository's Go files.
type sources struct {
	functions map[string]bool   // "dir: TestName"
	texts     map[string]bool   // "dir: text" for every string in a package, among them the names of cases
	recorded  map[string]string // a row, and a directory whose tests record it
}

// readSources parses every Go file below a directory.
func readSources(root string) (sources, error) {
	s := sources{functions: map[string]bool{}, texts: map[string]bool{}, recorded: map[string]string{}}
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && path != root {
			return filepath.SkipDir
		}
		if entry.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		s.add(filepath.ToSlash(dir), file)
		return nil
	})
	return s, err
}

// add notes a file's tests, texts and recorded rows.
func (s sources) add(dir string, file *ast.File) {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
			s.functions[dir+": "+f.Name.Name] = true
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
				s.texts[dir+": "+text] = true
			}
		case *ast.KeyValueExpr:
			s.addRow(dir, n)
		}
		return true
	})
}

// addRow notes `Row: "O1"` in a literal, which is how tests say what they attack.
func (s sources) addRow(dir string, field *ast.KeyValueExpr) {
	key, ok := field.Key.(*ast.Ident)
	if !ok || !strings.EqualFold(key.Name, "row") || dir == "test/attack" { // this package only plays with rows
		return
	}
	if literal, ok := field.Value.(*ast.BasicLit); ok {
		if text, err := strconv.Unquote(literal.Value); err == nil && rowID.MatchString(text) {
			s.recorded[text] = dir
		}
	}
}

// has says whether a test, and its case, exist. A case's name may be put together; its first part must be there.
func (s sources) has(t Test) bool {
	if !s.functions[t.Dir+": "+t.Name] {
		return false
	}
	first, _, _ := strings.Cut(t.Case, "/")
	return first == "" || s.texts[t.Dir+": "+first] || s.texts[t.Dir+": "+strings.ReplaceAll(first, "_", " ")]
}
