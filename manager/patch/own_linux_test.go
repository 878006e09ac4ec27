package patch

import (
	"maps"
	"os"
	"testing"
)

// ownScene is a parent whose outbox and whose state directory lie in what it copies, as when a home is copied.
func ownScene(t *testing.T) *scene {
	s := &scene{T: t, dir: t.TempDir()}
	s.origin = s.dir + "/home"
	s.workspace = s.ours("outbox/workspaces/s1")
	s.must(os.MkdirAll(s.workspace, 0o755))
	s.must(os.MkdirAll(s.ours("outbox/workspaces/other"), 0o755))
	write(t, s.ours("a.txt"), "a")
	write(t, s.ours("state/subagents/another/s1/base.json"), "{}")
	store, err := OpenStore(s.ours("state"), s.ours("outbox"))
	s.must(err)
	t.Cleanup(func() { store.Close() })
	s.store = store
	s.copy()
	return s
}

// forgeries are what a child in such a copy would have its parent write.
var forgeries = []string{
	"outbox/request_evil.json", "outbox/cancel_other", "outbox/workspaces/other/x", "outbox/new/x",
	"state/subagents/another/s1/base.json", "state/subagents/new/s1/base.json",
}

// A child makes directories that look like the outbox and the state directory of its parent. Nothing of that is taken over
// or copied into the real ones.
func TestNoChildWritesToTheOutboxOrTheStore(t *testing.T) {
	for _, forgery := range forgeries {
		s := ownScene(t)
		before := listing(t, s.ours("outbox/workspaces/other"))
		write(t, s.child(forgery), "forged")
		if plan := s.plan(); plan.Fits() || !refuses(plan, trap{path: forgery}) {
			t.Errorf("%s: refused is %q", forgery, plan.Refused)
		} else if _, err := plan.Apply(t.Context()); err == nil {
			t.Errorf("%s was applied", forgery)
		}
		if left := s.get(s.origin); left[forgery] != errOwn.Error() {
			t.Errorf("%s: left out is %q", forgery, left)
		}
		if s.has(s.ours(forgery)) == "forged" || !maps.Equal(before, listing(t, s.ours("outbox/workspaces/other"))) {
			t.Errorf("%s was written", forgery)
		}
	}
}

// The real outbox may come to lie in the tree after the copy, so that nothing was left out of that.
func TestTheOutboxIsKnownByItself(t *testing.T) {
	s := newScene(t, map[string]string{"a": "a"})
	write(t, s.child("outbox/request_evil.json"), "forged")
	s.must(os.Rename(s.dir+"/outbox", s.ours("outbox")))
	s.workspace = s.ours("outbox/workspaces/s1")
	if plan := s.plan(); !refuses(plan, trap{path: "outbox/request_evil.json", why: "in the outbox"}) {
		t.Errorf("refused is %q", plan.Refused)
	}
}

// What was left out of the copy is not added by the child, also where it is not there any more.
func TestWhatWasLeftOutIsNotTaken(t *testing.T) {
	s := ownScene(t)
	write(t, s.child("outbox/request_evil.json"), "forged")
	s.must(os.RemoveAll(s.ours("outbox/workspaces/other")))
	s.must(os.Rename(s.ours("outbox"), s.dir+"/outbox"))
	s.workspace = s.dir + "/outbox/workspaces/s1"
	if plan := s.plan(); !refuses(plan, trap{path: "outbox/request_evil.json", why: leftOutFault}) {
		t.Errorf("refused is %q, steps %+v", plan.Refused, plan.Steps)
	}
}
