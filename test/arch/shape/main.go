// Command shape measures the house: for each package of the product its files and lines, its widest type, and its largest
// tangle, the files of it that all need each other, directly or through others.
//
//	go run ./test/arch/shape            all packages
//	go run ./test/arch/shape watcher    those whose path begins so
//
// A package that fits in the head has few files, no type with dozens of methods, and no tangle. What a file needs is told
// from names alone, so a method of a common name may draw an arrow too many.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	prefix := ""
	if len(os.Args) > 1 {
		prefix = os.Args[1]
	}
	fmt.Printf("%-28s %6s %6s %6s %6s  %s\n", "package", "files", "lines", "tests", "tangle", "widest type")
	all, err := folders(".")
	for _, dir := range all {
		if !strings.HasPrefix(dir, prefix) {
			continue
		}
		p, failed := measure(dir)
		if failed != nil {
			err = failed
			break
		}
		if len(p.files) > 0 {
			fmt.Println(p)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "shape:", err)
		os.Exit(1)
	}
}

// folders are those of the product, from the root of the tree.
func folders(root string) (all []string, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "test" || name == "tools" || name == "bin") {
			return fs.SkipDir
		}
		all = append(all, path)
		return nil
	})
	return all, err
}

// pack is one package as it was measured.
type pack struct {
	dir          string
	files        []string
	lines, tests int
	methods      map[string]map[string]int // by type: how many methods in which file
	needs        map[string]map[string]bool
}

func measure(dir string) (pack, error) {
	p := pack{dir: dir, methods: map[string]map[string]int{}, needs: map[string]map[string]bool{}}
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return p, err
	}
	set, trees := token.NewFileSet(), map[string]*ast.File{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return p, err
		}
		lines := strings.Count(string(text), "\n")
		if strings.HasSuffix(path, "_test.go") {
			p.tests += lines
			continue
		}
		tree, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
		if err != nil {
			return p, err
		}
		name := filepath.Base(path)
		p.lines += lines
		p.files, trees[name] = append(p.files, name), tree
	}
	p.connect(trees)
	return p, nil
}

// connect finds out which file needs which.
func (p *pack) connect(trees map[string]*ast.File) {
	homes := map[string][]string{} // where a name is declared
	for name, tree := range trees {
		for _, declared := range p.declared(name, tree) {
			homes[declared] = append(homes[declared], name)
		}
	}
	for name, tree := range trees {
		p.needs[name] = map[string]bool{}
		ast.Inspect(tree, func(n ast.Node) bool {
			if used, ok := n.(*ast.Ident); ok && len(homes[used.Name]) == 1 && homes[used.Name][0] != name {
				p.needs[name][homes[used.Name][0]] = true
			}
			return true
		})
	}
}

// declared are the names of the package that a file declares.
func (p *pack) declared(file string, tree *ast.File) (names []string) {
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			names = append(names, d.Name.Name)
			if d.Recv != nil {
				p.count(receiver(d.Recv.List[0].Type), file)
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

func (p *pack) count(of, file string) {
	if p.methods[of] == nil {
		p.methods[of] = map[string]int{}
	}
	p.methods[of][file]++
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// tangle is how many files need each other in the largest circle of them.
func (p *pack) tangle() (largest int) {
	reach := map[string]map[string]bool{}
	for _, name := range p.files {
		reach[name] = map[string]bool{}
		p.follow(name, reach[name])
	}
	for _, a := range p.files {
		size := 0
		for _, b := range p.files {
			if a != b && reach[a][b] && reach[b][a] {
				size++
			}
		}
		if size > 0 {
			largest = max(largest, size+1)
		}
	}
	return largest
}

func (p *pack) follow(name string, seen map[string]bool) {
	for next := range p.needs[name] {
		if !seen[next] {
			seen[next] = true
			p.follow(next, seen)
		}
	}
}

func (p pack) String() string {
	widest, most := "", 0
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range p.methods {
			if !yield(name) {
				return
			}
		}
	}) {
		sum := 0
		for _, n := range p.methods[name] {
			sum += n
		}
		if sum > most {
			widest, most = fmt.Sprintf("%s, %d methods in %d files", name, sum, len(p.methods[name])), sum
		}
	}
	return fmt.Sprintf("%-28s %6d %6d %6d %6d  %s", p.dir, len(p.files), p.lines, p.tests, p.tangle(), widest)
}
