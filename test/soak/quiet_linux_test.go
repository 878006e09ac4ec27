package soak

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"torno/delegation"
	"torno/test/house"
)

// settle waits until every waiting client is answered, and its response lies where the client left it.
func (s *scene) settle() {
	s.Helper()
	for _, who := range subjects {
		a := s.lying(who)
		if a == nil {
			continue
		}
		s.Eventually("there is a response to "+who.String()+" "+a.token(), func() bool {
			return s.answered(a) && (a.dropped.After(a.written[len(a.written)-1]) || s.boxes[who.outbox].Exists("response_"+who.id+".json"))
		})
	}
}

// nothingIsLeft has all clients clean up, and then wants nothing of them anywhere.
func (s *scene) nothingIsLeft(mounted []string) {
	s.Helper()
	for _, who := range subjects {
		s.tidy(who, s.lying(who), 2)
	}
	s.gone("of sandboxes", func() []string { return s.power.left(s) })
	for _, name := range outboxes {
		s.gone("in the outbox "+name, func() []string { return s.filesOf(name) })
	}
	notes, err := os.ReadDir(filepath.Join(s.State, "runs"))
	s.Must(err)
	if len(notes) > 0 {
		s.Errorf("notes are left: %v", notes)
	}
	s.gone("as mounts", func() []string {
		now := s.mounts()
		if len(now) <= len(mounted) {
			return nil
		}
		return append(now, "where there were:", strings.Join(mounted, "\n"))
	})
}

// gone waits until nothing is found, and says what is found for too long.
func (s *scene) gone(where string, find func() []string) {
	s.Helper()
	for deadline := time.Now().Add(house.Patience); len(find()) > 0; time.Sleep(3 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.Fatalf("left %s:\n%s", where, strings.Join(find(), "\n"))
		}
	}
}

// filesOf is what lies in an outbox and should not.
func (s *scene) filesOf(name string) (left []string) {
	entries, err := os.ReadDir(s.boxes[name].Outbox)
	s.Must(err)
	for _, e := range entries {
		if e.Name() != "workspaces" && e.Name() != delegation.HeartbeatName {
			left = append(left, e.Name())
		}
	}
	return left
}

// mounts are those below the house, and those of what makes sandboxes. An engine that was killed while it made a container
// forgets what it had mounted to prepare the container's root; no sandbox has that.
func (s *scene) mounts() (found []string) {
	for _, line := range strings.Split(s.Read("/proc/self/mountinfo"), "\n") {
		if strings.Contains(line, "-init/merged ") {
			continue
		}
		if slices.ContainsFunc(append(s.power.dirs(s), s.Dir), func(dir string) bool { return strings.Contains(line, dir) }) {
			found = append(found, line)
		}
	}
	return found
}
