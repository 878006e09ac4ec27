package compile

import "testing"

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
