package arch

import (
	"fmt"
	"go/ast"
	"strconv"
	"strings"
)

// minDoc is the shortest package comment that can teach anything.
const minDoc = 80

// undocumented says what a package's comment lacks. docs are the comments of its files.
func undocumented(path, name string, docs []string) []string {
	text := strings.TrimSpace(strings.Join(docs, "\n"))
	begin := "Package " + name + " "
	switch {
	case text == "":
		return []string{path + " has no package comment"}
	case len(docs) > 1:
		return []string{path + " has package comments in several files"}
	case name != "main" && !strings.HasPrefix(text, begin):
		return []string{fmt.Sprintf("the comment of %s does not begin with %q", path, begin)}
	case len(text) < minDoc:
		return []string{fmt.Sprintf("the comment of %s teaches nothing: %q", path, text)}
	}
	return nil
}

// byName are the functions that follow or truncate whatever an outbox or a workspace holds under a name (I5, I6).
var byName = map[string][]string{
	"os": {
		"Create", "WriteFile", "OpenFile", "Open", "ReadFile", "Mkdir", "MkdirAll", "MkdirTemp", "CreateTemp", "Symlink", "Link",
		"Rename", "Remove", "RemoveAll", "Chmod", "Chown", "Truncate", "CopyFS", "DirFS",
	},
	"io/ioutil": {"WriteFile", "ReadFile", "TempFile", "TempDir", "ReadDir"},
}

// heldOnly are the rooms that touch untrusted directories, which they do through held handles only.
var heldOnly = []string{"delegation", "watcher"}

// namedFiles are the uses of byName in a file. local gives the name under which a package is imported.
func namedFiles(file *ast.File, at func(ast.Node) string) []string {
	local := map[string]string{}
	var found []string
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil || byName[path] == nil {
			continue
		}
		switch {
		case spec.Name == nil:
			local[path[strings.LastIndex(path, "/")+1:]] = path
		case spec.Name.Name == ".":
			found = append(found, at(spec)+" imports "+path+" as its own names")
		default:
			local[spec.Name.Name] = path
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := selector.X.(*ast.Ident); ok && contains(byName[local[x.Name]], selector.Sel.Name) {
			found = append(found, fmt.Sprintf("%s uses %s.%s", at(n), x.Name, selector.Sel.Name))
		}
		return true
	})
	return found
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}
