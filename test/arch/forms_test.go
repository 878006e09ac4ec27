package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
)

// misleading are names that a reader takes for Go's own.
var misleading = []string{"any", "clear", "make", "recover"}

// misnamed are the results, methods and functions of a file that are called like something of Go's own.
func misnamed(file *ast.File, at func(ast.Node) string) (found []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if slices.Contains(misleading, n.Name.Name) {
				found = append(found, fmt.Sprintf("%s calls a function %s", at(n), n.Name.Name))
			}
		case *ast.FuncType:
			if n.Results == nil {
				return true
			}
			for _, result := range n.Results.List {
				for _, name := range result.Names {
					if slices.Contains(misleading, name.Name) {
						found = append(found, fmt.Sprintf("%s calls a result %s", at(name), name.Name))
					}
				}
			}
		case *ast.InterfaceType:
			for _, method := range n.Methods.List {
				for _, name := range method.Names {
					if slices.Contains(misleading, name.Name) {
						found = append(found, fmt.Sprintf("%s calls a method %s", at(name), name.Name))
					}
				}
			}
		}
		return true
	})
	return found
}

// hidden are the ifs of a file that begin with a statement of which the condition does not speak: it saves a line and costs a
// reader.
func hidden(file *ast.File, at func(ast.Node) string) (found []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		if n, ok := n.(*ast.IfStmt); ok && n.Init != nil && !speaksOf(n.Cond, changedBy(n.Init)) {
			found = append(found, at(n)+" hides a statement in an if whose condition does not speak of it")
		}
		return true
	})
	return found
}

// changedBy are the names in what a statement changes, makes or calls.
func changedBy(s ast.Stmt) (names []string) {
	var of []ast.Node
	switch s := s.(type) {
	case *ast.AssignStmt:
		for _, left := range s.Lhs {
			of = append(of, left)
		}
	default:
		of = append(of, s)
	}
	for _, n := range of {
		ast.Inspect(n, func(n ast.Node) bool {
			if name, ok := n.(*ast.Ident); ok {
				names = append(names, name.Name)
			}
			return true
		})
	}
	return names
}

func speaksOf(cond ast.Expr, names []string) (speaks bool) {
	ast.Inspect(cond, func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok && slices.Contains(names, name.Name) {
			speaks = true
		}
		return !speaks
	})
	return speaks
}

// variables are the names of a file's package variables.
func variables(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		d, ok := d.(*ast.GenDecl)
		if !ok || d.Tok != token.VAR {
			continue
		}
		for _, spec := range d.Specs {
			for _, name := range spec.(*ast.ValueSpec).Names {
				names = append(names, name.Name)
			}
		}
	}
	return names
}

// exchanged are the places in a file that change a package variable of another file. In a test that is a seam that two tests
// cannot use at once.
func exchanged(file *ast.File, vars []string, at func(ast.Node) string) (found []string) {
	isOfFile := func(name *ast.Ident) bool { return !slices.Contains(file.Unresolved, name) }
	ast.Inspect(file, func(n ast.Node) bool {
		assigned, ok := n.(*ast.AssignStmt)
		if !ok || assigned.Tok == token.DEFINE {
			return true
		}
		for _, left := range assigned.Lhs {
			if name := firstName(left); name != nil && !isOfFile(name) && slices.Contains(vars, name.Name) {
				found = append(found, fmt.Sprintf("%s changes the package variable %s; a test gives a value of its own", at(left), name.Name))
			}
		}
		return true
	})
	return found
}

// firstName is the variable in what is assigned to: of a.b[c] it is a.
func firstName(e ast.Expr) *ast.Ident {
	switch e := e.(type) {
	case *ast.Ident:
		return e
	case *ast.SelectorExpr:
		return firstName(e.X)
	case *ast.IndexExpr:
		return firstName(e.X)
	case *ast.StarExpr:
		return firstName(e.X)
	case *ast.ParenExpr:
		return firstName(e.X)
	}
	return nil
}
