package scripts

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestFuzzLeavesNothingOut compares what scripts/fuzz runs with every function of the tests whose name begins with Fuzz.
func TestFuzzLeavesNothingOut(t *testing.T) {
	out, err := exec.Command("../../scripts/fuzz", "list").Output()
	if err != nil {
		t.Fatal(err)
	}
	listed := strings.Split(strings.TrimSpace(string(out)), "\n")
	there := fuzzTests(t, "../..")
	if len(there) < 20 {
		t.Errorf("only %d fuzz tests were found", len(there))
	}
	for _, name := range there {
		if !slices.Contains(listed, name) {
			t.Errorf("%s is not run", name)
		}
	}
	for _, name := range listed {
		if !slices.Contains(there, name) {
			t.Errorf("%s is run and does not exist", name)
		}
	}
}

// TestFuzzNamesWhatFoundSomething runs a script whose go finds something in every test.
func TestFuzzNamesWhatFoundSomething(t *testing.T) {
	fake := t.TempDir()
	if err := os.WriteFile(filepath.Join(fake, "go"), []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", fake+":"+os.Getenv("PATH"))
	out, err := exec.Command("../../scripts/fuzz", "1s").CombinedOutput()
	if err == nil {
		t.Fatalf("all is well with\n%s", out)
	}
	for _, name := range fuzzTests(t, "../..") {
		if !strings.Contains(string(out), "== "+name+"\n") || !strings.Contains(string(out), "FOUND SOMETHING: "+name+"\n") {
			t.Errorf("%s is not named", name)
		}
	}
}

// fuzzTests are all functions of tests below a directory whose name begins with Fuzz, by their syntax: as DIRECTORY NAME.
func fuzzTests(t *testing.T, root string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Fuzz") {
				found = append(found, dir+" "+f.Name.Name)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
