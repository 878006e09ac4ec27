package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
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
var heldOnly = []string{"delegation", "manager/agentfile", "watcher", "watcher/collect", "watcher/outbox", "watcher/outbox/identity", "watcher/output", "watcher/run", "watcher/workspace"}

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

// enginesSocket is the name of a socket through which one is root on the host.
var enginesSocket = regexp.MustCompile(`\b(docker|containerd|podman|crio|buildkitd)\.sock\b`)

// onceOnly are what one room alone may do, since two rooms that do it come to differ: by the room, what it is called.
var onceOnly = map[string]struct {
	rooms []string
	found func(ast.Node) string // what the node does, or ""
}{
	"the list is internal/engines": {[]string{"internal/engines", "sandbox/docker"}, func(n ast.Node) string {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING && enginesSocket.MatchString(literal.Value) {
			return "names an engine's socket"
		}
		return ""
	}},
	"internal/paths says it": {[]string{"internal/paths"}, func(n ast.Node) string {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 2 {
			return ""
		}
		name, isSelector := call.Fun.(*ast.SelectorExpr)
		sum, isSum := call.Args[1].(*ast.BinaryExpr)
		if !isSelector || !isSum || name.Sel.Name != "HasPrefix" && name.Sel.Name != "CutPrefix" {
			return ""
		}
		if slash, ok := sum.Y.(*ast.BasicLit); ok && slash.Value == `"/"` {
			return "asks by hand whether a path lies in another one"
		}
		return ""
	}},
	"internal/atomicfile replaces files": {renamers, func(n ast.Node) string {
		call, isCall := n.(*ast.CallExpr)
		if !isCall {
			return ""
		}
		name, isSelector := call.Fun.(*ast.SelectorExpr)
		if isSelector && slices.Contains([]string{"Rename", "Renameat", "Renameat2", "CreateTemp"}, name.Sel.Name) {
			return "calls " + name.Sel.Name
		}
		return ""
	}},
	"internal/flock locks files": {[]string{"internal/flock"}, func(n ast.Node) string {
		if selector, ok := n.(*ast.SelectorExpr); ok && selector.Sel.Name == "Flock" {
			return "calls Flock"
		}
		return ""
	}},
}

// These rooms may rename. They do not replace a file that they have just written, or they need a way of their own.
var renamers = []string{
	"internal/atomicfile", "delegation", "manager/patch", "internal/initproc", "internal/agent/adapter", // strangers rename there at the same moment
	"internal/images", "internal/tree", "manager", "sandbox/gvisor", "sandbox/gvisor/boxes", "sandbox/local/hostroot", "watcher/collect", // directories
	"internal/events", "internal/logfile", // old files move aside
	"internal/gateway/budget", "internal/gateway/cache", "internal/journal", // what they rename was filled over time
	"sandbox/gvisor/keeper", "watcher/session", // the place was reserved before, or its name belongs to the run
	"sandbox/local",       // its draft lies in another directory, because sandboxes see the program's
	"cmd/watcher",         // a file for an editor
	"sandbox/sandboxtest", // tests there exchange directories behind a launcher's back
}

// doneTwice are the places in a file of a room that do what another room is there for.
func doneTwice(path string, file *ast.File, at func(ast.Node) string) (found []string) {
	for instead, rule := range onceOnly {
		if contains(rule.rooms, path) {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if n != nil {
				if what := rule.found(n); what != "" {
					found = append(found, fmt.Sprintf("%s %s; %s", at(n), what, instead))
				}
			}
			return true
		})
	}
	return found
}

// exported are the names that each package has at its top, by the package's name. Packages of one name share an entry.
func exported(all map[string][]source) map[string]map[string]bool {
	names := map[string]map[string]bool{}
	for _, files := range all {
		own := files[0].syntax.Name.Name
		if names[own] == nil {
			names[own] = map[string]bool{}
		}
		for _, f := range files {
			for _, name := range declared(f.syntax) {
				names[own][name] = true
			}
		}
	}
	return names
}

// declared are the names at the top of a file; methods are none.
func declared(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names = append(names, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, spec.Name.Name)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names
}

// qualified is a name of a package, as an example has it.
var qualified = regexp.MustCompile(`(?:^|[^\w./"])([a-z][a-z0-9]*)\.([A-Z]\w*)`)

// assigned are the variables of an example.
var assigned = regexp.MustCompile(`(?m)^\s*([\w, ]+?) :?= `)

// stale are the names in a package comment that no package has. A word before a point that is no package of ours, or that
// the example itself assigns, is a variable.
func stale(path, doc string, names map[string]map[string]bool) (found []string) {
	variables := map[string]bool{}
	for _, m := range assigned.FindAllStringSubmatch(doc, -1) {
		for name := range strings.SplitSeq(m[1], ",") {
			variables[strings.TrimSpace(name)] = true
		}
	}
	for _, m := range qualified.FindAllStringSubmatch(doc, -1) {
		if own := names[m[1]]; own != nil && !own[m[2]] && !variables[m[1]] {
			found = append(found, fmt.Sprintf("the comment of %s names %s.%s, which does not exist", path, m[1], m[2]))
		}
	}
	return found
}

// unnamed are the launchers that the contract's comment does not name, and those that it names and that there are not.
func unnamed(doc string, registered []string) (found []string) {
	_, sentence, _ := strings.Cut(strings.Join(strings.Fields(doc), " "), "The launchers are ")
	sentence, _, _ = strings.Cut(sentence, ".")
	named := strings.FieldsFunc(sentence, func(r rune) bool { return r == ' ' || r == ',' })
	for _, path := range registered {
		if !contains(named, path) {
			found = append(found, "the comment of sandbox does not name the launcher "+path)
		}
	}
	for _, word := range named {
		if word != "and" && !contains(registered, word) {
			found = append(found, "the comment of sandbox names "+word+", which is no launcher")
		}
	}
	return found
}
