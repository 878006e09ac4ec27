package local

import (
	"slices"
	"testing"

	"torno/sandbox"
)

func TestViews(t *testing.T) {
	wanted := []sandbox.Mount{
		{Target: "/p", Prefix: "/p"},
		{Target: "/context/a", Prefix: "/context"},
		{Target: "/p/x/ws", Prefix: "/p"},
		{Target: "/context/b", Prefix: "/context"},
	}
	views := Views(wanted)
	if len(views) != 2 || views[0].OnTheWay() || !views[1].OnTheWay() || views[1].Number != 1 || views[0].root != onPrefix || views[1].root != "." ||
		!slices.Equal(views[0].Mounts, []int{0, 2}) || !slices.Equal(views[1].Mounts, []int{1, 3}) {
		t.Fatalf("%+v", views)
	}
	for target, want := range map[string]string{"/p": "self", "/p/x/ws": "self/x/ws"} {
		if rel, err := views[0].Rel(target); err != nil || rel != want {
			t.Errorf("%s lies at %q, %v", target, rel, err)
		}
	}
	if rel, err := views[1].Rel("/context/b"); err != nil || rel != "b" {
		t.Errorf("/context/b lies at %q, %v", rel, err)
	}
	if rel, err := views[0].Rel("/pp"); err == nil {
		t.Errorf("/pp lies at %q", rel)
	}
}
