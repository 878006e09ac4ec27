package images

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	threats "torno/test/attack"
)

// opaqueLayer brings n files into a directory, and n times says that nothing of a lower layer is to be seen there.
func opaqueLayer(t testing.TB, n int) []byte {
	var entries []entry
	for i := range n {
		entries = append(entries, file(fmt.Sprintf("d/f%d", i), ""))
	}
	for range n {
		entries = append(entries, file("d/"+opaque, ""))
	}
	return tarOf(t, entries...)
}

// chainLayer has n entries, each behind as many links as a path may lead through, to and fro between deep directories.
func chainLayer(t testing.TB, n int) []byte {
	a, b := strings.Repeat("a/", 120), strings.Repeat("b/", 120)
	entries := []entry{folderEntry(a), folderEntry(b)}
	for i := range maxLinks - 1 {
		here, there := a, b
		if i%2 == 1 {
			here, there = b, a
		}
		entries = append(entries, symlink(fmt.Sprintf("%sl%d", here, i), fmt.Sprintf("/%sl%d", there, i+1)))
	}
	last := b
	if maxLinks%2 == 1 {
		last = a
	}
	entries = append(entries, symlink(fmt.Sprintf("%sl%d", last, maxLinks-1), "/"))
	for i := range n {
		entries = append(entries, file(fmt.Sprintf("%sl0/f%d", a, i), ""))
	}
	return tarOf(t, entries...)
}

// holeLayer is a file of which only its size arrives.
func holeLayer(size int64) []byte {
	header := make([]byte, 512)
	copy(header, "hole")
	copy(header[100:], "0000644\x000000000\x000000000\x0000000000000\x0000000000000\x00")
	copy(header[148:], "        ")
	header[156] = tar.TypeGNUSparse
	copy(header[257:], "ustar  \x00")
	copy(header[483:], fmt.Sprintf("%011o\x00", size))
	var sum int
	for _, b := range header {
		sum += int(b)
	}
	copy(header[148:], fmt.Sprintf("%06o\x00 ", sum))
	return slices.Concat(header, make([]byte, 1024))
}

// diskOf is what a tree takes on the disk.
func diskOf(t testing.TB, dir string) (bytes int64) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		bytes += info.Sys().(*syscall.Stat_t).Blocks * 512
	}
	return bytes
}

// keepLayer brings n files into a directory, and takes the directory away n times: what the layer itself has brought stays,
// and is looked at each time.
func keepLayer(t testing.TB, n int) []byte {
	entries := []entry{folderEntry("d")}
	for i := range n {
		entries = append(entries, file(fmt.Sprintf("d/f%d", i), ""))
	}
	for range n {
		entries = append(entries, file(".wh.d", ""))
	}
	return tarOf(t, entries...)
}

// TestWorkIsWorthItsEntries: entries that cost more than their number pays for end the unpacking. The oracle takes the budget
// away, and sees the same layer cost many times as much.
func TestWorkIsWorthItsEntries(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT SHOWN HERE: -short leaves out what takes long")
	}
	for row, c := range map[string]struct {
		trial threats.Trial
		layer []byte
	}{
		"whiteouts": {threats.Trial{Row: "R3", Where: "unpacking"}, keepLayer(t, 600)},
		"links":     {threats.Trial{Row: "R4", Where: "unpacking"}, chainLayer(t, 60)},
	} {
		cost := func(left int64) (int64, error) {
			root, err := os.OpenRoot(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			u := newUnpacker(root, Limits{}.withDefaults())
			defer u.close()
			u.work.left = left
			err = u.layer(t.Context(), bytes.NewReader(c.layer))
			return u.work.spent, err
		}
		trial := c.trial
		trial.Tried = 1
		spent, err := cost(firstSteps)
		if e, ok := errors.AsType[*Error](err); ok && e.Code == TooLarge {
			trial.Held = 1
		} else {
			t.Errorf("%s: %v", row, err)
		}
		all, err := cost(math.MaxInt64 / 2)
		trial.Oracle = err == nil && all > spent*3/2
		trial.Note = fmt.Sprintf("%d steps, and without the budget %d", spent, all)
		threats.Record(t, trial)
	}
}

// TestAnOpaqueDirectoryIsEmptiedOnce: saying it again costs nothing, and takes away nothing.
func TestAnOpaqueDirectoryIsEmptiedOnce(t *testing.T) {
	trial := threats.Trial{Row: "R3", Where: "opaque directories", Tried: 1}
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	u := newUnpacker(root, Limits{}.withDefaults())
	defer u.close()
	const n = 2000
	if err := u.layer(t.Context(), bytes.NewReader(opaqueLayer(t, n))); err != nil {
		t.Fatal(err)
	}
	if u.work.spent < 10*n {
		trial.Held = 1
	}
	// The oracle forgets that it was said.
	_, before := u.at.enter("d", false), u.work.spent
	u.work.left = math.MaxInt64 / 2
	for range 10 {
		clear(u.opaque)
		if err := u.hide("d"); err != nil {
			t.Fatal(err)
		}
	}
	trial.Oracle = u.work.spent-before >= 10*n
	threats.Record(t, trial)
}

// TestHonestLayersAreCheap: an image as builders make them is far from its budget.
func TestHonestLayersAreCheap(t *testing.T) {
	var entries []entry
	for i := range 50 {
		dir := fmt.Sprintf("usr/lib/python3/dist-packages/package%d/part/of/it", i)
		entries = append(entries, folderEntry(dir))
		for j := range 20 {
			entries = append(entries, file(fmt.Sprintf("%s/f%d", dir, j), "x"), file(fmt.Sprintf("var/lib/info/f%d-%d", i, j), "x"))
		}
	}
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	u := newUnpacker(root, Limits{}.withDefaults())
	defer u.close()
	for _, layer := range [][]byte{tarOf(t, entries...), tarOf(t, file(".wh.usr", ""), file("var/"+opaque, ""))} {
		if err := u.layer(t.Context(), bytes.NewReader(layer)); err != nil {
			t.Fatal(err)
		}
	}
	if most := int64(len(entries)) * stepsForEntry / 2; u.work.spent > most {
		t.Errorf("it took %d steps, more than %d", u.work.spent, most)
	}
}

// TestHolesStayHoles: neither a hole nor zeros that arrive take place on the disk, and both are read as they are.
func TestHolesStayHoles(t *testing.T) {
	const size = 64 << 20
	zero := strings.Repeat("\x00", size)
	trial := threats.Trial{Row: "R5", Where: "unpacking", Tried: 2}
	for what, layer := range map[string][]byte{"hole": holeLayer(size), "zeros": tarOf(t, file("hole", zero))} {
		dir, err := unpackLayers(t, Limits{}, layer)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		raw, err := os.ReadFile(filepath.Join(dir, "hole"))
		if err != nil || string(raw) != zero {
			t.Errorf("%s: %d bytes are read (%v)", what, len(raw), err)
		}
		if disk := diskOf(t, dir); disk < 1<<20 {
			trial.Held++
		} else {
			t.Errorf("%s: it takes %d bytes", what, disk)
		}
	}
	naively := t.TempDir()
	if err := naive(naively, holeLayer(size)); err != nil {
		t.Fatal(err)
	}
	trial.Oracle = diskOf(t, naively) >= size
	threats.Record(t, trial)
	content := noise(3*blockSize) + strings.Repeat("\x00", 5*blockSize) + "x" + strings.Repeat("\x00", bufferSize) + noise(bufferSize+1)
	dir, err := unpackLayers(t, Limits{}, tarOf(t, file("mixed", content)))
	if err != nil {
		t.Fatal(err)
	}
	if raw, err := os.ReadFile(filepath.Join(dir, "mixed")); err != nil || string(raw) != content {
		t.Errorf("what is between holes is lost: %d bytes of %d (%v)", len(raw), len(content), err)
	}
}

// TestARegistryThatTakesForEver brings just enough for our patience, without an end.
func TestARegistryThatTakesForEver(t *testing.T) {
	image := makeImage(t, tarOf(t, file("x", "1")))
	slow := func(r *http.Request) (*http.Response, error) {
		at := path.Base(r.URL.Path)
		raw, ok := image.blobs[v1.Hash{Algorithm: "sha256", Hex: strings.TrimPrefix(at, "sha256:")}]
		if ok && digestOf(raw) == image.layers[0] {
			return slowBody(1, 10*time.Second)(r)
		}
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(raw)), Request: r, Header: http.Header{}}, nil
	}
	trial := threats.Trial{Row: "R6", Where: "a registry", Tried: 1}
	for _, deadline := range []time.Duration{time.Minute, 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			c := openCache(t, Options{Transport: roundTrip(slow), Deadline: deadline, Patience: 365 * 24 * time.Hour})
			began := time.Now()
			_, err := c.Get(t.Context(), mustParse(t, "r.example/x@"+image.manifest.String()))
			took := time.Since(began)
			if deadline == time.Minute {
				wants(t, err, Slow)
				trial.Held = int(took / deadline)
			} else {
				trial.Oracle = took > time.Minute
			}
			unharmed(t, c, 0)
		})
	}
	threats.Record(t, trial)
}
