package paths

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
		if got, err := Tidy(text); err != nil || got != want {
			t.Errorf("Tidy(%q) = %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "..", "/..", "a/../b", "/a/..", "../a", "/a\x00b", "/a\nb", "/\x7f", "/" + strings.Repeat("x", 256),
		strings.Repeat("/x", 2048),
	} {
		if got, err := Tidy(text); err == nil {
			t.Errorf("Tidy(%q) = %q, want an error", text, got)
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
		if rel, ok := Below(test.dir, test.path); ok != test.ok || ok && rel != test.rel {
			t.Errorf("Below(%q, %q) = %q, %v", test.dir, test.path, rel, ok)
		}
	}
}
