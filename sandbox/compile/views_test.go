package compile

import (
	"slices"
	"testing"
)

func TestRootsAsTheParentSeesThem(t *testing.T) {
	p := Policy{
		Dir: "/srv/box", Allow: []Root{"/srv/box/workspaces", "/home/u/proj/a", "/data"}, Read: []Root{"/home/u/docs"},
		Paths: []PathMap{{Parent: "/outbox", Here: "/srv/box"}, {Parent: "/proj", Here: "/home/u/proj"}},
	}
	allow := []string{"workspaces", "/proj/a", "/data"}
	for strict, read := range map[bool][]string{false: append(slices.Clone(allow), "/home/u/docs"), true: {"/home/u/docs"}} {
		p.StrictRead = strict
		if workspaces, context := p.Views(); !slices.Equal(workspaces, allow) || !slices.Equal(context, read) {
			t.Errorf("strict %t: workspaces %v, context %v", strict, workspaces, context)
		}
	}
}

func TestViews(t *testing.T) {
	p := Policy{Paths: []PathMap{
		{Parent: "/p", Here: "/host/p"},
		{Parent: "/p/deep/er", Here: "/other", Engine: "/vm/other"},
		{Parent: "/p/deep", Here: "/host/p/deep", Engine: "/vm/deep"},
		{Parent: "/same", Engine: "/vm/same"},
	}}
	for _, test := range []struct{ parent, here, engine string }{
		{"/p", "/host/p", "/host/p"},
		{"/p/a", "/host/p/a", "/host/p/a"},
		{"/pa", "/pa", "/pa"},
		{"/p/deep/a", "/host/p/deep/a", "/vm/deep/a"},
		{"/p/deep/er/a", "/other/a", "/vm/other/a"},
		{"/p/deep/era", "/host/p/deep/era", "/vm/deep/era"},
		{"/same/a", "/same/a", "/vm/same/a"},
		{"/elsewhere", "/elsewhere", "/elsewhere"},
	} {
		here := p.here(test.parent)
		if engine := p.engine(here); here != test.here || engine != test.engine {
			t.Errorf("%s is %s here and %s for the engine, want %s and %s", test.parent, here, engine, test.here, test.engine)
		}
	}
}
