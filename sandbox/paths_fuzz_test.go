package sandbox

import (
	"path"
	"slices"
	"strings"
	"testing"
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
			tidy, err := TidyPath(*text)
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

// FuzzTidyPath: a path has one spelling, which has the same components as what was written, and none that climbs.
func FuzzTidyPath(f *testing.F) {
	for _, text := range []string{
		"", "/", "//", ".", "./", "..", "/..", "a/..", "/a/../b", "/...", "/a/./b//c/", "a b", "/é/~", `\..\`, "/a\x00", "/a\nb", "/\x7f", "/\u0085", "/\u2028", "/\u202e", "/\xff\xfe", "/\uff0e\uff0e/x",
		"/" + strings.Repeat("x", 255), "/" + strings.Repeat("x", 256), strings.Repeat("/x", 2047), strings.Repeat("/x", 2048), strings.Repeat("/", 4096),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tidy, err := TidyPath(text)
		if err != nil {
			if tidy != "" || len(err.Error()) > 200 {
				t.Errorf("%q: %q and %v", text, tidy, err)
			}
			return
		}
		keep := slices.DeleteFunc(components(text), func(part string) bool { return part == "." })
		if !slices.Equal(keep, slices.DeleteFunc(components(tidy), func(part string) bool { return part == "." })) {
			t.Errorf("%q is %q", text, tidy)
		}
		long := func(part string) bool {
			return len(part) > 255 || part == ".." || strings.ContainsAny(part, "\x00\n\x1b\x7f")
		}
		if path.Clean(tidy) != tidy || path.IsAbs(tidy) != path.IsAbs(text) || len(tidy) > 4095 || slices.ContainsFunc(components(tidy), long) {
			t.Errorf("%q is %q, which is not tidy", text, tidy)
		}
		if again, err := TidyPath(tidy); err != nil || again != tidy {
			t.Errorf("%q is %q, which is %q, %v", text, tidy, again, err)
		}
	})
}

// FuzzBelow: two tidy paths hold each other as their components say, and what is below leads back.
func FuzzBelow(f *testing.F) {
	for _, dir := range []string{"/", "/a", "/a/b", "/ab", "", "a", "."} {
		for _, p := range []string{"/", "/a", "/a/b", "/ab", "/a/b/c", "/a\u0301"} {
			f.Add(dir, p)
		}
	}
	f.Fuzz(func(t *testing.T, dir, p string) {
		for _, text := range []*string{&dir, &p} {
			tidy, err := TidyPath(*text)
			if err != nil || tidy[0] != '/' {
				return
			}
			*text = tidy
		}
		outer, inner := components(dir), components(p)
		want := len(outer) <= len(inner) && slices.Equal(outer, inner[:len(outer)])
		rel, ok := below(dir, p)
		if ok != want || Within(dir, p) != want || ok && path.Join(dir, rel) != p || ok && path.IsAbs(rel) {
			t.Errorf("%s below %s: %q, %t", p, dir, rel, ok)
		}
		back := len(inner) <= len(outer) && slices.Equal(inner, outer[:len(inner)])
		if Nested(dir, p) != (want || back) || Nested(p, dir) != (want || back) {
			t.Errorf("%s and %s are nested: %t", dir, p, Nested(dir, p))
		}
	})
}
