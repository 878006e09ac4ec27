package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tooLong finds the places where a test fails because something took longer than a bound: other work on the machine decides that. The clock of
// testing/synctest does not run meanwhile, so a function that runs in a bubble, or calls one of bubbles, may compare. measures tells which
// functions may compare because they run in the night.
func tooLong(file *ast.File, bubbles []string, at func(ast.Node) string, measures func(function string) bool) (found []string) {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil || usesBubble(f.Body, bubbles) {
			continue
		}
		took := elapsed(f.Body)
		ast.Inspect(f.Body, func(n ast.Node) bool {
			condition, ok := n.(*ast.IfStmt)
			if !ok {
				return true
			}
			ast.Inspect(condition.Cond, func(n ast.Node) bool {
				if b, ok := n.(*ast.BinaryExpr); ok && isElapsed(longer(b), took) && !measures(f.Name.Name) {
					found = append(found, fmt.Sprintf("%s: %s finds that something took too long; other work on the machine decides that", at(b), f.Name.Name))
				}
				return true
			})
			return true
		})
	}
	return found
}

// longer returns the side of a comparison that must grow for the comparison to become true, or nil.
func longer(b *ast.BinaryExpr) ast.Expr {
	switch b.Op {
	case token.GTR, token.GEQ, token.NEQ, token.EQL:
		return b.X
	case token.LSS, token.LEQ:
		return b.Y
	}
	return nil
}

// usesBubble reports whether a function has its work done in a bubble of testing/synctest.
func usesBubble(body *ast.BlockStmt, bubbles []string) (is bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return !is
		}
		name, ok := call.Fun.(*ast.Ident)
		is = is || ok && slices.Contains(bubbles, name.Name) || mentions(call.Fun, "synctest", "Test")
		return !is
	})
	return is
}

// bubblesOf returns the helpers of a package's tests that run their work in a bubble of testing/synctest.
func bubblesOf(files []source) (names []string) {
	for _, file := range files {
		for _, d := range file.syntax.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil && f.Recv == nil && usesBubble(f.Body, nil) && !strings.HasPrefix(f.Name.Name, "Test") {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}

// elapsed returns the variables to which a function assigns the result of time.Since.
func elapsed(body *ast.BlockStmt) (names []string) {
	ast.Inspect(body, func(n ast.Node) bool {
		assigned, ok := n.(*ast.AssignStmt)
		if !ok || len(assigned.Lhs) != len(assigned.Rhs) {
			return true
		}
		for i, right := range assigned.Rhs {
			if name, ok := assigned.Lhs[i].(*ast.Ident); ok && mentions(right, "time", "Since") {
				names = append(names, name.Name)
			}
		}
		return true
	})
	return names
}

func isElapsed(e ast.Expr, took []string) bool {
	if e == nil {
		return false
	}
	if name, ok := e.(*ast.Ident); ok && slices.Contains(took, name.Name) {
		return true
	}
	return mentions(e, "time", "Since")
}

// mentions reports whether a node has package.name in it.
func mentions(n ast.Node, pkg, name string) (is bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == name {
			x, ok := s.X.(*ast.Ident)
			is = is || ok && x.Name == pkg
		}
		return !is
	})
	return is
}

// TestNoClockDecides: no test of `make test` fails because something took too long. Those of the night may measure.
func TestNoClockDecides(t *testing.T) {
	stages, err := os.ReadFile(filepath.Join(root(t), "test", "gate", "stages.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, files := range parsed(t, func(name string) bool { return strings.HasSuffix(name, "_test.go") }) {
		bubbles := bubblesOf(files)
		for _, f := range files {
			report(t, tooLong(f.syntax, bubbles, f.at, func(function string) bool {
				return strings.HasPrefix(function, "Benchmark") || strings.Contains(string(stages), `"`+function+`"`)
			}))
		}
	}
}

func TestRuleFindsClocks(t *testing.T) {
	const text = `package p
func TestA(t *testing.T) {
	begin := time.Now()
	took := time.Since(begin)
	if took > time.Second || time.Since(begin) > 2*time.Second || time.Minute < took { t.Error("it is slow") }
	if took < time.Second { t.Error("it did not wait") }
}
func TestB(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if time.Since(begin) != time.Second { t.Error("it does not wait a second") }
	})
}
func TestC(t *testing.T) {
	if time.Since(begin) > time.Second { t.Error("it is slow") }
}
func TestD(t *testing.T) {
	in(t, func() { if time.Since(begin) > time.Second { t.Error("it is slow") } })
	eventually(func() bool { return time.Since(begin) > time.Second })
}
func in(t *testing.T, test func()) { synctest.Test(t, func(t *testing.T) { test() }) }
`
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "p_test.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	const says = ": TestA finds that something took too long; other work on the machine decides that"
	at := func(n ast.Node) string { return set.Position(n.Pos()).String() }
	bubbles := bubblesOf([]source{{file, set}})
	check(t, "clocks", tooLong(file, bubbles, at, func(function string) bool { return function == "TestC" }),
		"p_test.go:5:5"+says, "p_test.go:5:27"+says, "p_test.go:5:64"+says)
}
