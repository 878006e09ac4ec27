package paths

import (
	"path"
	"slices"
	"strings"
	"testing"
)

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
		tidy, err := Tidy(text)
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
		if again, err := Tidy(tidy); err != nil || again != tidy {
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
			tidy, err := Tidy(*text)
			if err != nil || tidy[0] != '/' {
				return
			}
			*text = tidy
		}
		outer, inner := components(dir), components(p)
		want := len(outer) <= len(inner) && slices.Equal(outer, inner[:len(outer)])
		rel, ok := Below(dir, p)
		if ok != want || Within(dir, p) != want || ok && path.Join(dir, rel) != p || ok && path.IsAbs(rel) {
			t.Errorf("%s below %s: %q, %t", p, dir, rel, ok)
		}
		back := len(inner) <= len(outer) && slices.Equal(inner, outer[:len(inner)])
		if Nested(dir, p) != (want || back) || Nested(p, dir) != (want || back) {
			t.Errorf("%s and %s are nested: %t", dir, p, Nested(dir, p))
		}
	})
}
