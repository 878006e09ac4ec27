package sandbox

import (
	"strings"
	"testing"
)

func TestTidyPath(t *testing.T) {
	for text, want := range map[string]string{
		"/":                            "/",
		"//":                           "/",
		"/a":                           "/a",
		"/a/":                          "/a",
		"//a///b//":                    "/a/b",
		"/a/./b/.":                     "/a/b",
		"a/b":                          "a/b",
		"./a":                          "a",
		".":                            ".",
		"./":                           ".",
		"/...":                         "/...",
		"/..a/b..":                     "/..a/b..",
		"/with space/é/~":              "/with space/é/~",
		`/back\slash:1`:                `/back\slash:1`,
		"/" + strings.Repeat("x", 255): "/" + strings.Repeat("x", 255),
	} {
		if got, err := TidyPath(text); err != nil || got != want {
			t.Errorf("TidyPath(%q) = %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "..", "/..", "a/../b", "/a/..", "../a", "/a\x00b", "/a\nb", "/\x7f", "/" + strings.Repeat("x", 256),
		strings.Repeat("/x", 2048),
	} {
		if got, err := TidyPath(text); err == nil {
			t.Errorf("TidyPath(%q) = %q, want an error", text, got)
		}
	}
}

func TestBelow(t *testing.T) {
	for _, test := range []struct {
		dir, path, rel string
		ok             bool
	}{
		{"/a", "/a", ".", true},
		{"/a", "/a/b/c", "b/c", true},
		{"/a", "/ab", "", false},
		{"/a/b", "/a", "", false},
		{"/", "/a", "a", true},
		{"/", "/", ".", true},
		{"", "/a", "", false},
		{"", "", "", false},
		{"/a/", "/a/b", "", false},
	} {
		if rel, ok := below(test.dir, test.path); ok != test.ok || ok && rel != test.rel {
			t.Errorf("below(%q, %q) = %q, %v", test.dir, test.path, rel, ok)
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
