package boxes

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"torno/sandbox"
)

// TestAnotherDirectoryIsAnotherSite: what is missing there is not gone.
func TestAnotherDirectoryIsAnotherSite(t *testing.T) {
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	mine, aside := filepath.Join(dir, "gvisor"), filepath.Join(dir, "aside")
	must(os.MkdirAll(filepath.Join(mine, "boxes"), 0o700))
	site, err := keepSite(mine)
	must(err)
	if again, err := keepSite(mine); err != nil || again != site {
		t.Errorf("the id was %q and is %q, %v", site, again, err)
	}
	b, id := In(mine, "gvisor"), string(sandbox.NewSandboxID())
	must(b.Make())
	if b.Site() != site {
		t.Errorf("the site is %q, want %q", b.Site(), site)
	}
	if _, err := b.Read(id); !errors.Is(err, sandbox.ErrNotFound) {
		t.Errorf("a box that is not there: %v", err)
	}
	must(os.Rename(mine, aside))
	elsewhere := func(when string) {
		t.Helper()
		if _, err := b.Read(id); !errors.Is(err, sandbox.ErrOtherSite) || errors.Is(err, sandbox.ErrNotFound) {
			t.Errorf("%s: %v", when, err)
		}
	}
	elsewhere("without a directory")
	must(os.MkdirAll(filepath.Join(mine, "boxes"), 0o700))
	elsewhere("with an empty directory")
	other, err := keepSite(mine)
	must(err)
	if other == site {
		t.Error("two directories have one id")
	}
	elsewhere("with another directory")
	must(os.RemoveAll(mine))
	must(os.Rename(aside, mine))
	if _, err := b.Read(id); !errors.Is(err, sandbox.ErrNotFound) {
		t.Errorf("back in its place: %v", err)
	}
}

// TestAnIDThatIsNotWhole is never taken, and a start that was killed over it leaves nothing that counts.
func TestAnIDThatIsNotWhole(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, siteName+".new"), []byte("ab"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := keepSite(dir); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("there are %v, %v", left, err)
	}
	if err := os.WriteFile(filepath.Join(dir, siteName), []byte("ab"), 0o600); err != nil {
		t.Fatal(err)
	}
	if id, err := keepSite(dir); err == nil {
		t.Errorf("a damaged id is %q", id)
	}
}
