package crash

import (
	"os"
	"path/filepath"
	"strings"

	"torno/test/house"
)

// copied is the story of a child that works in a copy, which the watcher makes: it is whole when the child begins, and no half of one is left,
// wherever the watcher dies.
var copied = &story{
	during: func(s *scene) {
		project := s.Mkdir(filepath.Join(s.Outbox, "workspaces", "project"))
		owner := s.OwnerOf(0)
		s.Must(os.WriteFile(filepath.Join(project, "given"), []byte("whole\n"), 0o644))
		for _, path := range []string{project, filepath.Join(project, "given")} {
			s.Must(os.Chown(path, owner, owner))
		}
		s.ask = s.Submit(house.Ask{ID: "s1", Profile: "copies", Workspace: project, Task: hello})
		s.ask.Workspace = filepath.Join(s.Outbox, "workspaces", "s1") // where its answer is
		s.ask.Answer = filepath.Join(s.ask.Workspace, "answer.txt")
	},
	done: func(s *scene) {
		s.Helper()
		says("hello\n")(s)
		for _, dir := range []string{"s1", ".torno-base-s1"} {
			data, err := os.ReadFile(filepath.Join(s.Outbox, "workspaces", dir, "given"))
			if err != nil || string(data) != "whole\n" {
				s.Errorf("%s holds %q, %v", dir, data, err)
			}
		}
		s.Eventually("no half of a copy is left", func() bool {
			left, err := os.ReadDir(filepath.Join(s.Outbox, "workspaces"))
			s.Must(err)
			for _, entry := range left {
				if strings.HasPrefix(entry.Name(), ".torno-copy-") {
					return false
				}
			}
			return true
		})
	},
}
