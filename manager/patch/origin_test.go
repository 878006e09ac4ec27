package patch

import (
	"errors"
	"os"
	"testing"
)

// A child leaves a link where its parent copies from, or writes to, the next time. Links of the parent's own are followed.
func TestNoLinkInTheOutboxLeadsAParent(t *testing.T) {
	s := newScene(t, map[string]string{"deep/a": "a"})
	write(t, s.dir+"/parent/.ssh/id", "the parent's key")
	write(t, s.child("repo/x"), "x")
	s.must(os.Symlink("../../../parent/.ssh", s.child("link")))
	s.must(os.Symlink("../../../parent", s.child("up")))
	for path, target := range map[string]string{
		"box": s.dir + "/outbox", "into": "outbox/workspaces/s1/link", "good": "outbox/workspaces/s1/repo", "ours": "./origin/../origin/deep",
	} {
		s.must(os.Symlink(target, s.dir+"/"+path))
	}
	for path, opens := range map[string]bool{
		"/outbox/workspaces/s1/link": false, "/outbox/workspaces/s1/up/.ssh": false, "/box/workspaces/s1/link": false, "/into": false,
		"/outbox/workspaces/s1/repo": true, "/box/workspaces/s1/repo": true, "/good": true, "/ours": true, "/origin": true, "/none": false,
	} {
		root, err := OpenDirectory(s.dir+"/outbox", s.dir+path)
		if (err == nil) != opens {
			t.Errorf("%s: %v", path, err)
		}
		if err == nil {
			s.must(root.Close())
		}
	}
	if root, err := MakeDirectory(s.dir+"/outbox", s.child("link/new/deep")); err == nil || s.has(s.dir+"/parent/.ssh/id") == "-" {
		t.Errorf("%s was made", root.Name())
	}
	if _, err := os.Lstat(s.dir + "/parent/.ssh/new"); err == nil {
		t.Error("a directory was made through a link of the child's")
	}
	root, err := MakeDirectory(s.dir+"/outbox", s.dir+"/ours/new/deep")
	s.must(err)
	s.must(root.Close())
	to := s.open(t.TempDir())
	if _, err := s.store.Copy(t.Context(), s.child("link"), Destination{Subagent: "b", Path: to.Name(), Root: to}, How{Limits: DefaultLimits}); err == nil {
		t.Errorf("another child got %q", listing(t, to.Name()))
	}
}

// What was copied from one directory is not written to another one that has taken its place.
func TestAnOriginIsItself(t *testing.T) {
	s := newScene(t, map[string]string{"a": "a"})
	work := s.take(Selection{})
	root, err := work.Origin()
	s.must(err)
	s.must(root.Close())
	s.must(os.Rename(s.origin, s.origin+".was"))
	s.must(os.Mkdir(s.origin, 0o755))
	if root, err := work.Origin(); !errors.Is(err, ErrOtherOrigin) {
		t.Error(err)
		root.Close()
	}
}
