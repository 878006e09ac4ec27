package images

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	threats "torno/test/attack"
)

// TestOnlyWhatIsLockedIsRemoved: what cannot be locked, for whatever reason, is not known to be free.
func TestOnlyWhatIsLockedIsRemoved(t *testing.T) {
	c := openCache(t, Options{})
	trial := threats.Trial{Row: "R9", Where: "sweeping", Tried: 1}
	tree := c.store.path("tmp", "tree")
	if err := errors.Join(os.Mkdir(tree, 0o755), os.Symlink("nowhere", filepath.Join(tree, pinName))); err != nil {
		t.Fatal(err)
	}
	_, err := c.Collect(t.Context(), 0)
	if _, there := os.Lstat(tree); there == nil && errors.Is(err, syscall.ELOOP) {
		trial.Held = 1
	}
	// The oracle: what can be locked goes.
	if err := os.Remove(filepath.Join(tree, pinName)); err != nil {
		t.Fatal(err)
	}
	_, err = c.Collect(t.Context(), 0)
	_, there := os.Lstat(tree)
	trial.Oracle = err == nil && errors.Is(there, os.ErrNotExist)
	threats.Record(t, trial)
}

// TestWithoutDescriptorsNothingIsPutAside: an image that cannot be opened is not therefore damaged, and others may use it.
func TestWithoutDescriptorsNothingIsPutAside(t *testing.T) {
	c := openCache(t, Options{})
	image := mustGet(t, c, mustParse(t, "oci:"+layoutDir(t, layoutFiles(t, map[string]made{"": testLayers(t)}))))
	trial := threats.Trial{Row: "R9", Where: "no descriptor left", Oracle: true}
	for spare := 1; spare <= 4; spare++ { // the lock, the record, the pin, the tree
		err := withDescriptors(t, spare, func() error {
			again, err := c.Use(t.Context(), image.Digest)
			if err == nil {
				again.Close()
			}
			return err
		})
		if err == nil {
			continue
		}
		trial.Tried++
		if _, there := os.Lstat(filepath.Join(image.Dir, "etc", "y")); errors.Is(err, syscall.EMFILE) && there == nil {
			trial.Held++
		} else {
			t.Errorf("with %d descriptors to spare: %v, and the image: %v", spare, err, there)
		}
	}
	threats.Record(t, trial)
}

// withDescriptors does something with so many descriptors and no more.
func withDescriptors(t *testing.T, spare int, do func() error) error {
	t.Helper()
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	few := before
	few.Cur = 128
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before)
	var all []*os.File
	for {
		file, err := os.Open(os.DevNull)
		if err != nil {
			break
		}
		all = append(all, file)
	}
	for i, file := range all {
		if i < spare {
			file.Close()
		} else {
			defer file.Close()
		}
	}
	return do()
}

// TestAnImageWithoutItsTreeIsNotHandedOut: it is unpacked again.
func TestAnImageWithoutItsTreeIsNotHandedOut(t *testing.T) {
	c := openCache(t, Options{})
	ref := mustParse(t, "oci:"+layoutDir(t, layoutFiles(t, map[string]made{"": testLayers(t)})))
	trial := threats.Trial{Row: "R9", Where: "no tree"}
	for what, spoil := range map[string]func(dir string) error{
		"nothing": os.RemoveAll,
		"a link":  func(dir string) error { return errors.Join(os.RemoveAll(dir), os.Symlink("/etc", dir)) },
		"a file":  func(dir string) error { return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o644)) },
	} {
		image, err := c.Get(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		image.Close()
		if err := spoil(image.Dir); err != nil {
			t.Fatal(err)
		}
		_, err = os.ReadFile(filepath.Join(image.Dir, "etc", "y"))
		trial.Oracle = err != nil // a look at the record alone would hand this out
		trial.Tried++
		if again, err := c.Get(t.Context(), ref); err == nil && names(t, again.Dir) == "etc etc/y=2" {
			trial.Held++
			again.Close()
		} else {
			t.Errorf("%s: %v", what, err)
		}
		if used, err := c.Use(t.Context(), image.Digest); err == nil {
			used.Close()
		} else {
			t.Errorf("%s: %v", what, err)
		}
		unharmed(t, c, 1)
	}
	threats.Record(t, trial)
}

// TestADamagedImageInUseStays: its user has the lock, and only an exclusive lock lets it be put aside.
func TestADamagedImageInUseStays(t *testing.T) {
	c := openCache(t, Options{})
	ref := mustParse(t, "oci:"+layoutDir(t, layoutFiles(t, map[string]made{"": testLayers(t)})))
	used := mustGet(t, c, ref)
	if err := os.Truncate(filepath.Join(filepath.Dir(used.Dir), recordName), 3); err != nil {
		t.Fatal(err)
	}
	trial := threats.Trial{Row: "R9", Where: "damaged, in use", Tried: 1}
	_, err := c.Get(t.Context(), ref)
	if _, there := os.Lstat(filepath.Join(used.Dir, "etc", "y")); err != nil && there == nil {
		trial.Held = 1
	} else {
		t.Errorf("it was put aside: %v, %v", err, there)
	}
	used.Close()
	again := mustGet(t, c, ref)
	trial.Oracle = names(t, again.Dir) == "etc etc/y=2"
	threats.Record(t, trial)
}
