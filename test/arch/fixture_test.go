package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// check compares what a rule found, in any order.
func check(t *testing.T, what string, found []string, want ...string) {
	t.Helper()
	slices.Sort(found)
	slices.Sort(want)
	if !slices.Equal(found, want) {
		t.Errorf("%s: the rule found\n\t%s\nwant\n\t%s", what, strings.Join(found, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func TestRuleFindsForbiddenImports(t *testing.T) {
	for what, c := range map[string]struct {
		p    pkg
		want []string
	}{
		"the way down":          {pkg{path: "watcher", imports: []string{"fmt", "torno/sandbox", "torno/delegation", "torno/internal/version"}}, nil},
		"the way up":            {pkg{path: "sandbox", imports: []string{"torno/watcher"}}, []string{"sandbox may not import torno/watcher"}},
		"a client and the host": {pkg{path: "manager", imports: []string{"torno/sandbox"}}, []string{"manager may not import torno/sandbox"}},
		"a launcher by name":    {pkg{path: "watcher", imports: []string{"torno/sandbox/docker"}}, []string{"watcher may not import torno/sandbox/docker"}},
		"the engine's client": {
			pkg{path: "watcher", imports: []string{"github.com/docker/docker/client"}},
			[]string{"watcher may not import github.com/docker/docker/client"},
		},
		"the engine's client at home":     {pkg{path: "sandbox/docker/engine", imports: []string{"github.com/docker/docker/client"}}, nil},
		"the engine's client beside it":   {pkg{path: "sandbox/docker", imports: []string{"github.com/docker/docker/client"}}, []string{"sandbox/docker may not import github.com/docker/docker/client"}},
		"a room below knows the launcher": {pkg{path: "sandbox/docker/box", imports: []string{"torno/sandbox/docker"}}, []string{"sandbox/docker/box may not import torno/sandbox/docker"}},
		"a similar name":                  {pkg{path: "sandbox/docker", imports: []string{"github.com/docker/dockerfile"}}, []string{"sandbox/docker may not import github.com/docker/dockerfile"}},
		"a library nobody chose":          {pkg{path: "delegation", imports: []string{"github.com/pkg/errors"}}, []string{"delegation may not import github.com/pkg/errors"}},
		"C":                               {pkg{path: "sandbox", imports: []string{"C"}}, []string{"sandbox may not import C"}},
		"a room below a room":             {pkg{path: "sandbox/sandboxtest/below", imports: []string{"torno/sandbox/sandboxtest/inside"}}, nil},
		"a room that nobody knows":        {pkg{path: "internal/attic"}, []string{"internal/attic is not on the map in rooms_test.go"}},
		"a tool":                          {pkg{path: "test/e2e", imports: []string{"torno/watcher", "example.org/x"}}, nil},
	} {
		check(t, what, forbiddenImports([]pkg{c.p}, standard), c.want...)
	}
}

func TestRuleFindsStrangersInClients(t *testing.T) {
	c := clients[0]
	check(t, "a clean client", strangers(c, []string{
		"fmt", "crypto/internal/fips140", "golang.org/x/sys/unix", "github.com/fsnotify/fsnotify/internal",
		"torno/delegation", "torno/manager", "torno/internal/version", "torno/cmd/subagent",
	}, standard))
	check(t, "a client with the host in it", strangers(c, []string{
		"torno/sandbox", "torno/internal/journal", "github.com/docker/docker/client", "github.com/fsnotify/fsnotifyx",
	}, standard),
		"cmd/subagent contains torno/sandbox", "cmd/subagent contains torno/internal/journal",
		"cmd/subagent contains github.com/docker/docker/client", "cmd/subagent contains github.com/fsnotify/fsnotifyx")
}

func TestRuleFindsPackagesThatDoNotTeach(t *testing.T) {
	long := strings.Repeat("It does this and promises that. ", 5)
	check(t, "a comment", undocumented("x/a", "a", []string{"Package a is a room. " + long}))
	check(t, "a program", undocumented("cmd/a", "main", []string{"Command a is a program. " + long}))
	check(t, "none", undocumented("x/a", "a", nil), "x/a has no package comment")
	check(t, "two", undocumented("x/a", "a", []string{"Package a is. " + long, "Package a was."}), "x/a has package comments in several files")
	check(t, "another's", undocumented("x/a", "a", []string{"Package ab is. " + long}), `the comment of x/a does not begin with "Package a "`)
	check(t, "a word", undocumented("x/a", "a", []string{"Package a is a."}), `the comment of x/a teaches nothing: "Package a is a."`)
}

func TestRuleFindsFilesByName(t *testing.T) {
	const text = `package p
import (
	"os"
	other "os"
	old "io/ioutil"
	. "os"
)
type local struct{}
func (local) Create(string) {}
func f(held interface{ Create(string) }) {
	os.Getpid()
	held.Create("x")
	local{}.Create("x")
	os.Create("x")
	write := other.WriteFile
	old.TempFile("", "")
}
`
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "p.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	at := func(n ast.Node) string { return set.Position(n.Pos()).String() }
	check(t, "names", namedFiles(file, at),
		"p.go:6:2 imports os as its own names", "p.go:14:2 uses os.Create", "p.go:15:11 uses other.WriteFile", "p.go:16:2 uses old.TempFile")
}

func TestRuleFindsWhatIsWrittenTwice(t *testing.T) {
	const text = `package p
import "strings"
func f(dir, p string) bool { return strings.HasPrefix(p, dir+"/") || strings.HasPrefix(p, "/") || strings.HasPrefix(p, dir+".") || os.Rename(p, dir) != nil }
func g(fd int) error { return unix.Flock(fd, unix.LOCK_EX) }
const socket, mine = "unix:///var/run/docker.sock", "/run/torno/control.sock"
`
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "p.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	at := func(n ast.Node) string { return set.Position(n.Pos()).String() }
	byHand, named := "p.go:3:37 asks by hand whether a path lies in another one; internal/paths says it", "p.go:5:22 names an engine's socket; the list is internal/engines"
	renames := "p.go:3:132 calls Rename; internal/atomicfile replaces files"
	locks := "p.go:4:31 calls Flock; internal/flock locks files"
	check(t, "a room", doneTwice("watcher", file, at), byHand, named, renames, locks)
	check(t, "the room for paths", doneTwice("internal/paths", file, at), named, renames, locks)
	check(t, "the room for engines", doneTwice("internal/engines", file, at), byHand, renames, locks)
	check(t, "the room for files", doneTwice("internal/atomicfile", file, at), byHand, named, locks)
}

func TestRuleFindsStaleNames(t *testing.T) {
	names := map[string]map[string]bool{"sandbox": {"Spec": true}, "compile": {"Compile": true}}
	check(t, "names", stale("x", "Use compile.Compile, sandbox.Spec and box.Run.\n\n\tsandbox.Compile(r)\n\tos.Open(sandbox.Box{})", names),
		"the comment of x names sandbox.Compile, which does not exist", "the comment of x names sandbox.Box, which does not exist")
}

func TestRuleFindsUnnamedLaunchers(t *testing.T) {
	const doc = "It is a contract. The launchers are sandbox/docker and\nsandbox/lxc. So it is."
	check(t, "launchers", unnamed(doc, []string{"sandbox/docker", "sandbox/gvisor"}),
		"the comment of sandbox does not name the launcher sandbox/gvisor", "the comment of sandbox names sandbox/lxc, which is no launcher")
}

func TestRuleFindsFormsThatMislead(t *testing.T) {
	const text = `package p
import "other"
type clears interface { clear(); tidy() }
func (s *set) recover() (any bool) { return any }
func f(s *set) (err error) {
	if err = g(); s.full { return err }
	if s.n++; s.n > 3 { return nil }
	if s.try(); s.full { return nil }
	if must(err); s.full { return nil }
	if n, err := h(); err != nil { return err }
	now = nil
	other.table["x"] = 1
	limit := 3
	limit = 4
	retries[limit] = 5
	return nil
}
`
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "p.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	at := func(n ast.Node) string { return set.Position(n.Pos()).String() }
	check(t, "names", misnamed(file, at), "p.go:3:25 calls a method clear", "p.go:4:1 calls a function recover", "p.go:4:26 calls a result any")
	const says = " hides a statement in an if whose condition does not speak of it"
	check(t, "ifs", hidden(file, at), "p.go:6:2"+says, "p.go:9:2"+says)
	const instead = "; a test gives a value of its own"
	check(t, "seams", exchanged(file, []string{"now", "limit", "retries"}, at),
		"p.go:11:2 changes the package variable now"+instead, "p.go:15:2 changes the package variable retries"+instead)
}
