package tree

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func (g *ground) setID(path string) {
	g.Helper()
	g.must(os.Chmod(path, 0o755|os.ModeSetuid|os.ModeSetgid))
}

func (g *ground) hasSetID(path string) bool {
	g.Helper()
	info, err := os.Lstat(path)
	g.must(err)
	return info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0
}

func TestSetIDBitsAreCleared(t *testing.T) {
	g := newGround(t)
	file := g.write("a/b/c/tool", 1)
	g.setID(file)
	shared := g.at("shared")
	g.must(os.Mkdir(shared, 0o755))
	g.must(os.Chmod(shared, 0o775|os.ModeSetgid))
	f := g.inspect()
	if info, _ := os.Lstat(file); info.Mode() != 0o755 {
		t.Errorf("the file has the mode %s", info.Mode())
	}
	if !slices.Equal(f.Cleared.Names, []string{"a/b/c/tool"}) || f.SetID.Count != 0 {
		t.Errorf("found %+v, %+v", f.Cleared, f.SetID)
	}
	if !g.hasSetID(shared) {
		t.Error("a directory hands its group down by that bit, and it was taken away")
	}
	if f := g.inspect(); f.Cleared.Count != 0 {
		t.Errorf("it found again %+v", f.Cleared)
	}
}

// TestSetIDFilesWithSeveralNames clears a file when all its names are in the directory, and leaves it alone when it is
// another user's as well.
func TestSetIDFilesWithSeveralNames(t *testing.T) {
	g := newGround(t)
	mine, others := g.write("a/mine", 1), g.write("others", 1)
	g.must(os.Link(mine, g.at("mine too")))
	outside := filepath.Join(t.TempDir(), "outside")
	g.must(os.Link(others, outside))
	g.setID(mine)
	g.setID(others)
	f := g.inspect()
	if g.hasSetID(mine) || f.Cleared.Count != 1 {
		t.Errorf("cleared are %+v", f.Cleared)
	}
	if !g.hasSetID(outside) || !slices.Equal(f.SetID.Names, []string{"others"}) {
		t.Errorf("left are %+v", f.SetID)
	}
}

// TestSetIDBitsOfOthersStay: no child made the file, so somebody else needs it as it is.
func TestSetIDBitsOfOthersStay(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files to others: nothing was tried")
	}
	g := newGround(t)
	tool := g.write("tool", 1)
	g.must(os.Chown(tool, 4711, 0))
	g.setID(tool)
	if f := g.inspect(); !g.hasSetID(tool) || f.Cleared.Count != 0 || f.SetID.Count != 1 {
		t.Errorf("found %+v, %+v", f.Cleared, f.SetID)
	}
}
