package patch

import (
	"maps"
	"os"
	"strings"
	"testing"
)

// bare are the files of a git directory, in a directory.
func bare(dir string) map[string]string {
	files := map[string]string{}
	for name, text := range map[string]string{
		"HEAD": "ref: refs/heads/main\n", "config": "[remote \"origin\"]\n\turl = https://u:password@h/\n", "objects/x": "", "refs/x": "",
	} {
		files[dir+name] = text
	}
	return files
}

// A git directory under an ordinary name is not copied, and nothing is written in it, whatever the child has at its place.
func TestGitDirectoriesUnderOrdinaryNames(t *testing.T) {
	files := bare(".bare/")
	files["f"] = "f"
	for path, text := range map[string]string{".git": "gitdir: ./.bare\n", "linked/HEAD": "x", "linked/commondir": "../.bare"} {
		files[path] = text
	}
	plants := map[string]func(s *scene){
		"a hook":          func(s *scene) { write(s, s.child(".bare/hooks/pre-commit"), "evil") },
		"a configuration": func(s *scene) { write(s, s.child(".bare/config"), "[core]\n\tfsmonitor = evil\n") },
		"all of it": func(s *scene) {
			for path, text := range bare(".bare/") {
				write(s, s.child(path), text)
			}
		},
		"a link in its place": func(s *scene) { s.must(os.Symlink("f", s.child(".bare"))) },
		"a link into it":      func(s *scene) { s.must(os.Symlink(".bare/hooks", s.child("scripts"))) },
		"a worktree's":        func(s *scene) { write(s, s.child("linked/config.worktree"), "[core]\n\tfsmonitor = evil\n") },
	}
	for name, plant := range plants {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, files)
			for path := range listing(t, s.workspace) {
				if strings.Contains(path, "bare") || strings.Contains(path, "linked") {
					t.Errorf("the child was given %s", path)
				}
			}
			plant(s)
			before := listing(t, s.origin)
			if plan := s.plan(); plan.Fits() {
				t.Errorf("it would take %+v", plan.Steps)
			} else if _, err := plan.Apply(t.Context()); err == nil || !maps.Equal(before, listing(t, s.origin)) {
				t.Errorf("it was applied: %v", err)
			}
		})
	}
}

// No git directory is made of what the child adds, at once or piece by piece, in any case of its names.
func TestNoGitDirectoryIsMade(t *testing.T) {
	for name, plant := range map[string]func(s *scene){
		"new":         func(s *scene) { s.putAll(bare("x.git/")) },
		"of the root": func(s *scene) { s.putAll(bare("")) },
		"in any case": func(s *scene) { s.putAll(map[string]string{"d/head": "x", "d/Objects/x": "x", "d/REFS/x": "x"}) },
		"of a directory that is there": func(s *scene) {
			s.putAll(map[string]string{"fixture/objects/x": "x", "fixture/refs/x": "x"})
		},
		"with what only the parent has": func(s *scene) { s.putAll(map[string]string{"ours/refs/x": "x"}) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, map[string]string{"fixture/HEAD": "x", "fixture/config": "x"})
			write(t, s.ours("ours/HEAD"), "x")
			write(t, s.ours("ours/objects/x"), "x")
			plant(s)
			if plan := s.plan(); plan.Fits() {
				t.Errorf("it would take %+v", plan.Steps)
			}
		})
	}
	s := newScene(t, map[string]string{"f": "x"})
	s.must(os.RemoveAll(s.origin))
	for path, text := range bare("") {
		write(t, s.ours(path), text)
	}
	s.must(os.RemoveAll(s.workspace))
	s.must(os.Mkdir(s.workspace, 0o755))
	if _, err := s.store.Copy(t.Context(), s.origin, Destination{Subagent: "s1", Path: s.workspace, Root: s.open(s.workspace)}, How{Limits: DefaultLimits}); err == nil {
		t.Error("a git directory was copied")
	}
}

// TestGetMakesNoGitDirectory piece by piece: no part of it makes one by itself.
func TestGetMakesNoGitDirectory(t *testing.T) {
	for name, pieces := range map[string][]map[string]string{
		"head last":             {{"config": "x", "objects/x": "x", "refs/x": "x"}, {"HEAD": "x"}},
		"head first":            {{"HEAD": "x", "refs/x": "x"}, {"Objects/x": "x"}},
		"below a directory":     {{"a/b/HEAD": "x", "a/b/objects/x": "x"}, {"a/b/refs/x/y": "x"}},
		"of a linked work tree": {{"HEAD": "x"}, {"commondir": "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, to := newScene(t, map[string]string{"f": "x"}), t.TempDir()
			for _, piece := range pieces {
				s.must(os.RemoveAll(s.workspace))
				s.must(os.Mkdir(s.workspace, 0o755))
				s.putAll(piece)
				s.get(to)
			}
			for at := range listing(t, to) {
				if dir, err := os.ReadDir(at); err == nil {
					var names []string
					for _, e := range dir {
						names = append(names, e.Name())
					}
					if isRepository(names) {
						t.Errorf("%s is a git directory: %q", at, names)
					}
				}
			}
		})
	}
	s, to := newScene(t, map[string]string{"f": "x"}), t.TempDir()
	write(t, to+"/objects/x", "x")
	s.putAll(map[string]string{"refs/x": "x"})
	s.must(os.Symlink("f", s.child("HEAD")))
	if left := s.get(to); left["HEAD"] != repositoryFault { // it is judged before refs is made, and made after it
		t.Errorf("with a link: %q", left)
	}
}

// putAll writes files of the child's.
func (s *scene) putAll(files map[string]string) {
	s.Helper()
	for path, text := range files {
		write(s, s.child(path), text)
	}
}
