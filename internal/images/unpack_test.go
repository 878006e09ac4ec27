package images

import (
	"archive/tar"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLayers(t *testing.T) {
	base := []entry{folderEntry("a"), file("a/x", "1"), file("a/y", "2"), folderEntry("a/d"), file("a/d/z", "3"), file("b", "4")}
	cases := []struct {
		what  string
		upper []entry
		want  string
	}{
		{"nothing", nil, "a a/d a/d/z=3 a/x=1 a/y=2 b=4"},
		{"a file over a file", []entry{file("b", "5")}, "a a/d a/d/z=3 a/x=1 a/y=2 b=5"},
		{"whiteout", []entry{file("a/.wh.x", "")}, "a a/d a/d/z=3 a/y=2 b=4"},
		{"whiteout of a directory", []entry{file(".wh.a", "")}, "b=4"},
		{"whiteout of nothing", []entry{file("n/.wh.x", ""), file(".wh.n", "")}, "a a/d a/d/z=3 a/x=1 a/y=2 b=4"},
		{"whiteout after the layer's own", []entry{file("a/x", "9"), file("a/.wh.x", "")}, "a a/d a/d/z=3 a/x=9 a/y=2 b=4"},
		{"whiteout after a directory of the layer's own", []entry{folderEntry("a"), file("a/n", "9"), file(".wh.a", "")}, "a a/n=9 b=4"},
		{"opaque", []entry{folderEntry("a"), file("a/"+opaque, ""), file("a/n", "9")}, "a a/n=9 b=4"},
		{"opaque last", []entry{folderEntry("a"), file("a/n", "9"), file("a/d/m", "8"), file("a/"+opaque, "")}, "a a/d a/d/m=8 a/n=9 b=4"},
		{"opaque root", []entry{file("n", "9"), file(opaque, "")}, "n=9"},
		{"what aufs keeps", []entry{file(".wh..wh.plnk/1", ""), file(".wh..wh.aufs", "")}, "a a/d a/d/z=3 a/x=1 a/y=2 b=4"},
		{"a file over a directory", []entry{file("a", "9")}, "a=9 b=4"},
		{"a directory over a file", []entry{folderEntry("b"), file("b/n", "9")}, "a a/d a/d/z=3 a/x=1 a/y=2 b b/n=9"},
		{"a directory again", []entry{folderEntry("a/")}, "a a/d a/d/z=3 a/x=1 a/y=2 b=4"},
		{"a link over a directory", []entry{symlink("a", "b")}, "a->b b=4"},
		{"a directory over a link", []entry{symlink("b", "a"), folderEntry("b"), file("b/n", "9")}, "a a/d a/d/z=3 a/x=1 a/y=2 b b/n=9"},
		{"through a link within", []entry{symlink("l", "/a/d"), file("l/n", "9")}, "a a/d a/d/n=9 a/d/z=3 a/x=1 a/y=2 b=4 l->/a/d"},
		{"up beyond the root stays in it", []entry{symlink("l", "../../../a"), file("l/x", "9")}, "a a/d a/d/z=3 a/x=9 a/y=2 b=4 l->../../../a"},
		{"through a link to nothing yet", []entry{symlink("l", "new/dir"), file("l/n", "9")}, "a a/d a/d/z=3 a/x=1 a/y=2 b=4 l->new/dir new new/dir new/dir/n=9"},
		{"hard link", []entry{hardlink("h", "a/x")}, "a a/d a/d/z=3 a/x=1 a/y=2 b=4 h=1"},
		{"hard link to a link", []entry{symlink("l", "nowhere"), hardlink("h", "l")}, "a a/d a/d/z=3 a/x=1 a/y=2 b=4 h->nowhere l->nowhere"},
		{"twice", []entry{file("n", "8"), file("./n", "9"), file("/n", "7")}, "a a/d a/d/z=3 a/x=1 a/y=2 b=4 n=7"},
		{"the root itself", []entry{folderEntry("./"), folderEntry("/")}, "a a/d a/d/z=3 a/x=1 a/y=2 b=4"},
	}
	for _, c := range cases {
		t.Run(c.what, func(t *testing.T) {
			dir, err := unpackLayers(t, Limits{}, tarOf(t, base...), tarOf(t, c.upper...))
			if err != nil {
				t.Fatal(err)
			}
			if got := names(t, dir); got != c.want {
				t.Errorf("the tree is %s\n           not %s", got, c.want)
			}
		})
	}
}

func TestLayersThatNoBuilderMakes(t *testing.T) {
	long, deep := strings.Repeat("n", 256), strings.Repeat("d/", maxDepth+1)
	cases := map[string][]entry{
		"a name that leads upwards":           {file("a/../b", "x")},
		"a link to a name that leads upwards": {file("b", "x"), hardlink("a", "x/../b")},
		"a file that is the root":             {file(".", "x")},
		"a link that is the root":             {symlink("/", "x")},
		"a file where a directory should be":  {file("f", "x"), file("f/n", "x")},
		"a long name":                         {file(long, "x")},
		"a long directory":                    {file(long+"/x", "x")},
		"a long link":                         {symlink("l", strings.Repeat("n", 5000))},
		"a long path":                         {file(strings.Repeat("nnnnnnnnn/", 310)+"x", "x")},
		"a deep path":                         {file(deep+"x", "x")},
		"deep by links":                       {symlink("l", strings.Repeat("d/", 100)), symlink("l/m", strings.Repeat("d/", 100)), file("l/m/x", "x")},
		"a circle":                            {symlink("a", "b"), symlink("b", "a"), file("a/x", "x")},
		"a link to itself":                    {file("a", "x"), hardlink("a", "a")},
		"a hard link to nothing":              {hardlink("a", "b")},
		"a hard link to a directory":          {folderEntry("d"), hardlink("a", "d")},
		"a link to no name":                   {symlink("a", "")},
		"a whiteout of the directory":         {file("d/.wh..", "")},
		"a whiteout of the directory above":   {file("d/.wh...", "")},
		"a whiteout of nothing, in the names": {file("d/.wh.", "")},
	}
	for what, entries := range cases {
		t.Run(what, func(t *testing.T) {
			_, err := unpackLayers(t, Limits{}, tarOf(t, entries...))
			wants(t, err, Malformed)
		})
	}
	t.Run("no archive", func(t *testing.T) {
		_, err := unpackLayers(t, Limits{}, []byte(strings.Repeat("x", 1024)))
		wants(t, err, Malformed)
	})
	t.Run("cut", func(t *testing.T) {
		_, err := unpackLayers(t, Limits{}, tarOf(t, file("f", strings.Repeat("x", 2000)))[:1024])
		wants(t, err, Malformed)
	})
}

func TestLimits(t *testing.T) {
	big := file("big", strings.Repeat("x", 1<<20))
	many := []entry{file("1", ""), file("2", ""), file("3", "")}
	cases := []struct {
		what   string
		limits Limits
		layers [][]entry
	}{
		{"bytes", Limits{Bytes: 1<<20 - 1}, [][]entry{{big}}},
		{"bytes of two layers", Limits{Bytes: 1<<21 - 1}, [][]entry{{big}, {big}}},
		{"files", Limits{Files: 2}, [][]entry{many}},
		{"files of two layers", Limits{Files: 5}, [][]entry{many, many}},
		{"whiteouts", Limits{Files: 2}, [][]entry{{file(".wh.1", ""), file(".wh.2", ""), file(".wh.3", "")}}},
		{"directories that nobody lists", Limits{Files: 3}, [][]entry{{file("a/b/c/d", "")}}},
		{"what is left out", Limits{Files: 1}, [][]entry{{{name: "1", kind: tar.TypeFifo}, {name: "2", kind: tar.TypeFifo}}}},
	}
	for _, c := range cases {
		t.Run(c.what, func(t *testing.T) {
			var layers [][]byte
			for _, entries := range c.layers {
				layers = append(layers, tarOf(t, entries...))
			}
			_, err := unpackLayers(t, c.limits, layers...)
			wants(t, err, TooLarge)
			roomier := Limits{Bytes: c.limits.Bytes + 1, Files: c.limits.Files + 1}
			if c.limits.Files == 0 {
				roomier.Files = 0
			}
			if c.limits.Bytes == 0 {
				roomier.Bytes = 0
			}
			if _, err := unpackLayers(t, roomier, layers...); err != nil {
				t.Errorf("with room for one more: %v", err)
			}
		})
	}
}

func TestModesAndTimes(t *testing.T) {
	dir, err := unpackLayers(t, Limits{}, tarOf(t, entry{name: "closed", kind: tar.TypeDir, mode: 0o1}, file("closed/f", "x"),
		entry{name: "none", kind: tar.TypeReg, mode: 0o1000}, entry{name: "all", kind: tar.TypeReg, mode: 0o777}))
	if err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"closed": 0o701, "closed/f": 0o644, "none": 0o400, "all": 0o755} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != mode || !info.ModTime().Equal(then) {
			t.Errorf("%s has %v of %v", name, info.Mode(), info.ModTime())
		}
	}
}
