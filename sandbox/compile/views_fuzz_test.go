package compile

import (
	"path"
	"slices"
	"strings"
	"testing"

	"torno/internal/paths"
)

// FuzzPathMaps translates a path by two maps and compares with a second way to do it, component by component: the longest
// map that fits counts, whole components only, what lies below comes after, and what no map knows stays what it is.
func FuzzPathMaps(f *testing.F) {
	for _, p := range []string{"/", "/p", "/p/", "/p/x", "/px", "/p/x/y", "/p/xy", "/q/../p", "p", ".", "", "/p/\u0445", "//p", "/p/./x"} {
		f.Add(p, "/p", "/srv/a", "/p/x", "/srv/b")
		f.Add(p, "/", "/host", "/p", "/")
		f.Add(p, "/p/x", "/p", "/p", "/p/x")
		f.Add(p, "/p", "/srv/a", "/p", "/srv/b")
	}
	f.Fuzz(func(t *testing.T, p, parent1, here1, parent2, here2 string) {
		for _, text := range []*string{&p, &parent1, &here1, &parent2, &here2} {
			tidy, err := paths.Tidy(*text)
			if err != nil || tidy[0] != '/' {
				return // neither a request nor a configuration gets so far
			}
			*text = tidy
		}
		policy := Policy{Paths: []PathMap{{Parent: parent1, Here: here1}, {Parent: parent2, Here: here2}}}
		got := policy.here(p)
		want := translated(p, [][2]string{{parent1, here1}, {parent2, here2}})
		if got != want || !path.IsAbs(got) || path.Clean(got) != got {
			t.Errorf("%s by %v is %s, want %s", p, policy.Paths, got, want)
		}
		engine := Policy{Paths: []PathMap{{Parent: "/1", Here: parent1, Engine: here1}, {Parent: "/2", Here: parent2, Engine: here2}}}
		if got := engine.engine(p); got != want {
			t.Errorf("%s by %v is %s for the engine, want %s", p, engine.Paths, got, want)
		}
	})
}

// translated replaces the components of the longest side that a path begins with; the first one of equals.
func translated(p string, maps [][2]string) string {
	parts, best := components(p), -1
	for i, m := range maps {
		from := components(m[0])
		fits := len(from) <= len(parts) && slices.Equal(from, parts[:len(from)])
		if fits && (best < 0 || len(from) > len(components(maps[best][0]))) {
			best = i
		}
	}
	if best >= 0 {
		parts = append(components(maps[best][1]), parts[len(components(maps[best][0])):]...)
	}
	return "/" + strings.Join(parts, "/")
}

func components(p string) []string {
	return strings.FieldsFunc(p, func(r rune) bool { return r == '/' })
}
