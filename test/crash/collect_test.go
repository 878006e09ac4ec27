package crash

import (
	"os"
	"path/filepath"
	"strings"

	"torno/internal/control"
	"torno/test/house"
)

// collected is the story of a workspace that its client made, and that nothing needs any more: it goes once, and no half of it is left,
// wherever the watcher dies.
var collected = &story{
	during: func(s *scene) {
		s.ask = s.Submit(house.Ask{ID: "s1", Task: hello, Made: true})
		says("hello\n")(s)
		takeAway(s)
		nobodyIsAnswered(s)
		go func() {
			for { // its run may be over only in a moment; the watcher dies of one
				if _, err := s.Client.Collect(s.Context(), control.Collect{Age: 1}); err != nil {
					return
				}
			}
		}()
	},
	done: func(s *scene) {
		s.Helper()
		s.Eventually("the workspace is gone, and all of it", func() bool {
			if _, err := s.Client.Collect(s.Context(), control.Collect{Age: 1}); err != nil {
				s.Fatal(err)
			}
			left, err := os.ReadDir(filepath.Join(s.Outbox, "workspaces"))
			s.Must(err)
			for _, entry := range left {
				if entry.Name() == "s1" || strings.HasPrefix(entry.Name(), ".torno-") {
					return false
				}
			}
			return true
		})
	},
}
