package images

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	threats "torno/test/attack"
)

// TestPlacesThatOthersCouldExchange: a parent puts a link to the host's root directory into the place of a root file system.
// The oracle follows the path as the system does, and is there.
func TestPlacesThatOthersCouldExchange(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT SHOWN HERE: files can be given away by root alone")
	}
	const stranger = 4711
	trial := threats.Trial{Row: "R1", Where: "local places", Oracle: true}
	for what, lay := range map[string]func(base string) (path string){
		"a link that the operator has made": func(base string) string {
			at := filepath.Join(base, "x")
			must(t, os.Mkdir(at, 0o755), os.Symlink("../allowed", filepath.Join(at, "lnk")))
			return filepath.Join(at, "lnk", "root")
		},
		"a directory of a user's": func(base string) string {
			must(t, os.Chown(filepath.Join(base, "allowed"), stranger, stranger))
			return filepath.Join(base, "allowed", "root")
		},
		"a directory that everybody writes": func(base string) string {
			must(t, os.Chmod(filepath.Join(base, "allowed"), 0o777))
			return filepath.Join(base, "allowed", "root")
		},
	} {
		for _, exchanged := range []bool{false, true} {
			base := t.TempDir()
			must(t, os.MkdirAll(filepath.Join(base, "allowed", "root"), 0o755))
			path := lay(base)
			if exchanged {
				real := filepath.Join(base, "allowed", "root")
				must(t, os.Remove(real), os.Symlink("/", real))
				trial.Oracle = trial.Oracle && sameFile(t, path, "/")
			}
			trial.Tried++
			image, err := openCache(t, Options{}).Get(t.Context(), mustParse(t, "dir:"+path))
			if e, ok := errors.AsType[*Error](err); ok && e.Code == Unsafe {
				trial.Held++
				continue
			}
			t.Errorf("%s, exchanged %t: %v", what, exchanged, err)
			if err == nil {
				image.Close()
			}
		}
	}
	threats.Record(t, trial)
}

// TestLayoutsAndArchivesOfOthers: what is in them is the operator's word.
func TestLayoutsAndArchivesOfOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT SHOWN HERE: files can be given away by root alone")
	}
	found := layoutFiles(t, map[string]made{"": testLayers(t)})
	layout, archive := layoutDir(t, found), archiveOf(t, found)
	trial := threats.Trial{Row: "R1", Where: "layouts and archives", Oracle: true}
	for _, c := range []struct{ ref, loose string }{
		{"oci:" + layout, layout},
		{"oci:" + layout, filepath.Join(layout, "index.json")},
		{"archive:" + archive, archive},
		{"archive:" + archive, filepath.Dir(archive)},
	} {
		must(t, os.Chown(c.loose, 4711, -1))
		trial.Tried++
		_, err := openCache(t, Options{}).Get(t.Context(), mustParse(t, c.ref))
		if e, ok := errors.AsType[*Error](err); ok && e.Code == Unsafe {
			trial.Held++
		} else {
			t.Errorf("%s belongs to another user: %v", c.loose, err)
		}
		must(t, os.Chown(c.loose, 0, -1))
		image, err := openCache(t, Options{}).Get(t.Context(), mustParse(t, c.ref))
		trial.Oracle = trial.Oracle && err == nil
		if err == nil {
			image.Close()
		}
	}
	threats.Record(t, trial)
}

// TestADirectoryIsHeld: it stays the one that was found, whatever comes to lie at its path.
func TestADirectoryIsHeld(t *testing.T) {
	base := t.TempDir()
	path := filepath.Join(base, "root")
	must(t, os.Mkdir(path, 0o755))
	image := mustGet(t, openCache(t, Options{}), mustParse(t, "dir:"+path))
	must(t, os.Rename(path, path+".old"), os.Symlink("/", path))
	trial := threats.Trial{Row: "R1", Where: "exchanged later", Tried: 1, Oracle: sameFile(t, image.Dir, "/")}
	held, err := image.Root().Stat()
	must(t, err)
	if old, err := os.Stat(path + ".old"); err == nil && os.SameFile(held, old) {
		trial.Held = 1
	}
	threats.Record(t, trial)
}

func sameFile(t *testing.T, a, b string) bool {
	t.Helper()
	one, err := os.Stat(a)
	two, err2 := os.Stat(b)
	must(t, err, err2)
	return os.SameFile(one, two)
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
