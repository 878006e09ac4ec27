package handover

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"torno/internal/paths"
	"torno/manager/massgen"
)

// RoundEvaluator is the profile that always reads the peers' workspaces.
const RoundEvaluator = "round_evaluator"

// Parent names the places that a parent itself may read.
type Parent struct {
	Workspace    string
	Temp         string // the directory of the peers' workspaces, or ""
	ContextPaths []string
}

// Place is an entry of orchestrator.context_paths.
type Place struct {
	Path       string `json:"path"`
	Permission string `json:"permission"`
}

// Places returns the places that a child may read: the peers' workspaces and the parent's workspace, unless the task
// declines them, and the task's own context paths. resolve follows the links of a path, and fails if nothing is there.
func Places(task massgen.Task, parent Parent, resolve func(string) (string, error)) ([]Place, error) {
	roots, err := resolved(append([]string{parent.Workspace, parent.Temp}, parent.ContextPaths...), resolve)
	if err != nil {
		return nil, err
	}
	var wanted []string
	if parent.Temp != "" && (task.IncludeTemp || task.Type == RoundEvaluator) {
		wanted = append(wanted, parent.Temp)
	}
	if task.IncludeParent {
		wanted = append(wanted, parent.Workspace)
	}
	for _, path := range task.ContextPaths {
		if !filepath.IsAbs(path) {
			path = filepath.Join(parent.Workspace, path)
		}
		wanted = append(wanted, path)
	}
	found, err := resolved(wanted, resolve)
	if err != nil {
		return nil, err
	}
	var places []Place
	for _, path := range found {
		if !slices.ContainsFunc(roots, func(root string) bool { return paths.Within(root, path) }) {
			return nil, fmt.Errorf("the context path %s is in none of the places that you may read: %s. Give a path that is in one of them", path, strings.Join(roots, ", "))
		}
		if place := (Place{path, "read"}); !slices.Contains(places, place) {
			places = append(places, place)
		}
	}
	return places, nil
}

// resolved follows the links of every path that is not empty.
func resolved(all []string, resolve func(string) (string, error)) ([]string, error) {
	var found []string
	for _, path := range all {
		if path == "" {
			continue
		}
		if !filepath.IsAbs(path) {
			return nil, fmt.Errorf("the path %s is not absolute", path)
		}
		target, err := resolve(path)
		if err != nil {
			return nil, fmt.Errorf("look up the context path %s: %w", path, err)
		}
		found = append(found, filepath.Clean(target))
	}
	return found, nil
}

// Files checks the context_files of a task. They are copied from the parent's workspace into the child's under the same
// name, so each must be a path below both.
func Files(task massgen.Task) ([]string, error) {
	files := make([]string, 0, len(task.ContextFiles))
	for _, name := range task.ContextFiles {
		up := slices.Contains(strings.Split(filepath.ToSlash(name), "/"), "..")
		clean := filepath.Clean(name)
		if up || !filepath.IsLocal(name) || clean == "." || strings.ContainsRune(name, 0) {
			return nil, fmt.Errorf("the context file %q is not a path below your workspace. Give one without '..', such as src/main.go", name)
		}
		if !slices.Contains(files, clean) {
			files = append(files, clean)
		}
	}
	return files, nil
}
