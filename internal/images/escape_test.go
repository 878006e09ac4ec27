package images

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// naive unpacks as a program does that trusts the archive. It shows that each attack works there.
func naive(dir string, layer []byte) error {
	reader := tar.NewReader(bytes.NewReader(layer))
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		at := header.Name
		if !filepath.IsAbs(at) {
			at = dir + "/" + at
		}
		if err := naiveEntry(dir, at, header, reader); err != nil {
			return err
		}
	}
}

func naiveEntry(dir, at string, header *tar.Header, content io.Reader) error {
	parent, base := filepath.Split(at)
	if base == opaque {
		found, err := os.ReadDir(parent)
		for _, e := range found {
			err = errors.Join(err, os.RemoveAll(filepath.Join(parent, e.Name())))
		}
		return err
	}
	if gone, ok := strings.CutPrefix(base, whiteout); ok {
		return os.RemoveAll(filepath.Join(parent, gone))
	}
	mode := header.FileInfo().Mode()
	switch header.Typeflag {
	case tar.TypeDir:
		return errors.Join(os.MkdirAll(at, 0o755), os.Chmod(at, mode))
	case tar.TypeSymlink:
		os.RemoveAll(at)
		return os.Symlink(header.Linkname, at)
	case tar.TypeLink:
		old := header.Linkname
		if !filepath.IsAbs(old) {
			old = filepath.Join(dir, old)
		}
		return os.Link(old, at)
	case tar.TypeFifo:
		return syscall.Mkfifo(at, 0o600)
	}
	raw, err := io.ReadAll(content)
	return errors.Join(err, os.WriteFile(at, raw, 0o644), os.Chmod(at, mode))
}

// The attacks lie in a directory "root"; beside it is "outside", with a file "secret".
const outside = "/OUTSIDE" // stands for its absolute path

var attacks = map[string][]entry{
	"dots":                      {file("../outside/planted", "x")},
	"dots in the middle":        {folderEntry("a"), file("a/../../outside/planted", "x")},
	"an absolute name":          {file(outside+"/planted", "x")},
	"through a link":            {symlink("l", outside), file("l/planted", "x")},
	"through a link upwards":    {symlink("l", "../outside"), file("l/planted", "x")},
	"through a chain":           {symlink("a", ".."), symlink("b", "a/outside"), file("b/planted", "x")},
	"onto a link":               {symlink("l", outside+"/secret"), file("l", "x")},
	"a link in the place":       {folderEntry("d"), file("d/f", "x"), symlink("d", outside), file("d/planted", "x")},
	"hard link":                 {hardlink("h", outside+"/secret")},
	"hard link with dots":       {hardlink("h", "../outside/secret")},
	"hard link through a link":  {symlink("l", outside), hardlink("h", "l/secret")},
	"hard link into a link":     {symlink("l", outside), file("f", "x"), hardlink("l/planted", "f")},
	"written by a hard link":    {hardlink("h", outside+"/secret"), file("h", "x")},
	"whiteout with dots":        {file("../outside/.wh.secret", "")},
	"whiteout through a link":   {symlink("l", outside), file("l/.wh.secret", "")},
	"whiteout of the upper one": {folderEntry("../outside/d"), file("../outside/d/.wh...", "")},
	"opaque through a link":     {symlink("l", outside), file("l/"+opaque, "")},
	"mode through a link":       {symlink("l", outside), {name: "l", kind: tar.TypeDir, mode: 0o700}},
	"directory through a link":  {symlink("l", outside), folderEntry("l/planted")},
	"a link through a link":     {symlink("l", outside), symlink("l/planted", "x")},
}

func TestNothingLeavesTheTree(t *testing.T) {
	for name, entries := range attacks {
		t.Run(name, func(t *testing.T) {
			_, before, after := attack(t, entries, func(dir string, layer []byte) { naive(dir, layer) })
			if before == after {
				t.Fatalf("this is no attack: whoever trusts it has no harm")
			}
			_, before, after = attack(t, entries, func(dir string, layer []byte) {
				if err := unpackInto(t, dir, Limits{}, layer); err != nil {
					wants(t, err, Malformed)
				}
			})
			if before != after {
				t.Errorf("the outside was changed:\n%s\nand is\n%s", before, after)
			}
		})
	}
}

// attack unpacks beside something that must not change, and says how that was and is.
func attack(t *testing.T, entries []entry, unpack func(dir string, layer []byte)) (dir, before, after string) {
	t.Helper()
	base := t.TempDir()
	dir, victim := filepath.Join(base, "root"), filepath.Join(base, "outside")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Mkdir(victim, 0o755),
		os.WriteFile(filepath.Join(victim, "secret"), []byte("s"), 0o600)); err != nil {
		t.Fatal(err)
	}
	real := make([]entry, len(entries))
	for i, e := range entries {
		e.name, e.link = strings.Replace(e.name, outside, victim, 1), strings.Replace(e.link, outside, victim, 1)
		real[i] = e
	}
	before = withLinks(t, victim)
	unpack(dir, tarOf(t, real...))
	return dir, before, withLinks(t, victim)
}

// withLinks is a listing that also tells how many names the secret has.
func withLinks(t *testing.T, dir string) string {
	t.Helper()
	info, err := os.Lstat(filepath.Join(dir, "secret"))
	if err != nil {
		return listing(t, dir)
	}
	return listing(t, dir) + strings.Repeat("+", int(info.Sys().(*syscall.Stat_t).Nlink))
}

func TestWhatIsLeftOut(t *testing.T) {
	layer := tarOf(t, folderEntry("dev"), entry{name: "dev/fifo", kind: tar.TypeFifo},
		entry{name: "su", content: "x", kind: tar.TypeReg, mode: 0o6777}, entry{name: "dir", kind: tar.TypeDir, mode: 0o7777})
	trusting := t.TempDir()
	if err := naive(trusting, layer); err != nil {
		t.Fatal(err)
	}
	if got := listing(t, trusting); !strings.Contains(got, "prw------- dev/fifo") || !strings.Contains(got, "ugrwxrwxrwx su") {
		t.Fatalf("whoever trusts it has\n%s", got)
	}
	dir, err := unpackLayers(t, Limits{}, layer)
	if err != nil {
		t.Fatal(err)
	}
	want := "drwxr-xr-x .\ndrwxr-xr-x dev\ndrwxr-xr-x dir\n-rwxr-xr-x su=x\n"
	if got := listing(t, dir); got != want {
		t.Errorf("we have\n%s", got)
	}
}

func TestDevicesReplaceWhatWasThere(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	u := newUnpacker(root, Limits{}.withDefaults())
	for _, kind := range []byte{tar.TypeChar, tar.TypeBlock, tar.TypeFifo, 's'} {
		layer := tarOf(t, file("x", "old"), entry{name: "x", kind: kind})
		if err := u.layer(t.Context(), bytes.NewReader(layer)); err != nil {
			t.Fatal(err)
		}
		if _, err := root.Lstat("x"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after %q there is something (%v)", kind, err)
		}
	}
	if u.facts.Skipped != 4 {
		t.Errorf("%d were counted", u.facts.Skipped)
	}
}
