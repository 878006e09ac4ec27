package delegation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestPublishThenRead(t *testing.T) {
	outbox := newOutbox(t)
	for _, data := range []string{"first", "second, longer", "", "3"} {
		if err := outbox.Publish("response_s1.json", []byte(data)); err != nil {
			t.Fatal(err)
		}
		got, stamp, err := outbox.Read("response_s1.json", 100)
		if err != nil || string(got) != data {
			t.Fatalf("%q, %v", got, err)
		}
		if stamp.Size != int64(len(data)) || !stamp.Mode.IsRegular() || stamp.Links != 1 || stamp.ModTime.IsZero() {
			t.Errorf("%+v", stamp)
		}
		if again, err := outbox.Stat("response_s1.json"); err != nil || again != stamp {
			t.Errorf("Stat says %+v, %v; Read said %+v", again, err, stamp)
		}
	}
	if left := entries(t, outbox); !slices.Equal(left, []string{"response_s1.json"}) {
		t.Errorf("left behind: %q", left)
	}
}

func TestReadLimit(t *testing.T) {
	outbox := newOutbox(t)
	write(t, outbox, "request_s1.json", "12345")
	if got, _, err := outbox.Read("request_s1.json", 5); err != nil || string(got) != "12345" {
		t.Errorf("%q, %v", got, err)
	}
	if got, _, err := outbox.Read("request_s1.json", 4); !errors.Is(err, ErrTooBig) || got != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestMissing(t *testing.T) {
	outbox := newOutbox(t)
	if _, _, err := outbox.Read("request_s1.json", 5); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := outbox.Stat("request_s1.json"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := outbox.Remove("request_s1.json"); err != nil {
		t.Error(err)
	}
}

func TestBadNames(t *testing.T) {
	outbox := newOutbox(t)
	outside := filepath.Join(outbox.Path(), "..", "outside")
	if err := os.WriteFile(outside, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", ".", "..", "/etc/passwd", "../outside", "a/b", "a/", "a\x00b", strings.Repeat("x", 256)} {
		_, _, readErr := outbox.Read(name, 10)
		_, statErr := outbox.Stat(name)
		for _, err := range []error{readErr, statErr, outbox.Publish(name, nil), outbox.Remove(name)} {
			if !errors.Is(err, ErrBadName) {
				t.Errorf("%q: %v", name, err)
			}
		}
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
}

// TestLongestName publishes under the longest name that there is: the temporary name must not be longer still.
func TestLongestName(t *testing.T) {
	outbox := newOutbox(t)
	name, ok := ResponseNameFor(strings.Repeat("x", 255-len("response_.json")))
	if !ok || len(name) != 255 {
		t.Fatal(len(name))
	}
	if err := outbox.Publish(name, []byte("x")); err != nil {
		t.Error(err)
	}
}

func TestOpenDirRefuses(t *testing.T) {
	base := t.TempDir()
	file, link := filepath.Join(base, "file"), filepath.Join(base, "link")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Symlink(t.TempDir(), link)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, link, link + "/"} {
		if outbox, err := OpenDir(path); err == nil {
			outbox.Close()
			t.Errorf("%s is opened", path)
		}
	}
	if _, err := OpenDir(filepath.Join(base, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestAlive(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"removed":  os.Remove,
		"moved":    func(path string) error { return os.Rename(path, path+".old") },
		"replaced": func(path string) error { return errors.Join(os.Rename(path, path+".old"), os.Mkdir(path, 0o700)) },
		"replaced by a link": func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.Symlink(path+".old", path))
		},
		"parent is a file": func(path string) error {
			parent := filepath.Dir(path)
			return errors.Join(os.Rename(parent, parent+".old"), os.WriteFile(parent, nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			outbox := newOutbox(t)
			if err := outbox.Alive(); err != nil {
				t.Fatal(err)
			}
			if err := spoil(outbox.Path()); err != nil {
				t.Fatal(err)
			}
			if err := outbox.Alive(); !errors.Is(err, ErrMoved) {
				t.Error(err)
			}
		})
	}
}

func TestRemove(t *testing.T) {
	outbox := newOutbox(t)
	target := filepath.Join(t.TempDir(), "target")
	if err := os.WriteFile(target, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, outbox, "cancel_a", "")
	if err := os.Symlink(target, filepath.Join(outbox.Path(), "cancel_b")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(outbox.Path(), "cancel_c"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{"cancel_a": nil, "cancel_b": nil, "cancel_c": ErrDirectory} {
		if err := outbox.Remove(name); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left := entries(t, outbox); !slices.Equal(left, []string{"cancel_c"}) {
		t.Errorf("left: %q", left)
	}
	if data, err := os.ReadFile(target); err != nil || string(data) != "precious" {
		t.Errorf("%q, %v", data, err)
	}
}

func TestNamesInChunks(t *testing.T) {
	outbox := newOutbox(t)
	var want []string
	for i := range 250 {
		name := fmt.Sprintf("request_%03d.json", i)
		write(t, outbox, name, "")
		want = append(want, name)
	}
	for range 2 { // the held handle has no position that a listing could move
		var got []string
		err := outbox.Names(t.Context(), 100, func(names []string) error {
			if len(names) > 100 {
				t.Errorf("a piece of %d names", len(names))
			}
			got = append(got, names...)
			return nil
		})
		slices.Sort(got)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%d names, %v", len(got), err)
		}
	}
}

func TestNamesStops(t *testing.T) {
	outbox := newOutbox(t)
	for i := range 50 {
		write(t, outbox, fmt.Sprint(i), "")
	}
	enough := errors.New("enough")
	calls := 0
	if err := outbox.Names(t.Context(), 10, func([]string) error { calls++; return enough }); !errors.Is(err, enough) || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	calls = 0
	if err := outbox.Names(ctx, 10, func([]string) error { calls++; cancel(); return nil }); !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

// TestReaderSeesWholeFiles replaces a file all the time while another goroutine reads it.
func TestReaderSeesWholeFiles(t *testing.T) {
	outbox := newOutbox(t)
	versions := [][]byte{bytes.Repeat([]byte("a"), 10_000), bytes.Repeat([]byte("b"), 20_000)}
	if err := outbox.Publish("status_s1.json", versions[0]); err != nil {
		t.Fatal(err)
	}
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := range 300 {
			if err := outbox.Publish("status_s1.json", versions[i%2]); err != nil {
				t.Error(err)
			}
		}
	})
	for range 300 {
		data, _, err := outbox.Read("status_s1.json", 1<<20)
		if errors.Is(err, ErrChanged) {
			continue // it was replaced between a look and the next
		}
		if err != nil || !bytes.Equal(data, versions[0]) && !bytes.Equal(data, versions[1]) {
			t.Fatalf("%d bytes, %v", len(data), err)
		}
	}
	writer.Wait()
}

func TestSentinelCounts(t *testing.T) {
	at := func(sec, nsec int64) Stamp {
		return Stamp{ChangeTime: time.Unix(sec, nsec), ModTime: time.Unix(sec, nsec)}
	}
	of := func(s Stamp, mode fs.FileMode) Stamp { s.Mode = mode; return s }
	claims := func(s Stamp, mod int64) Stamp { s.ModTime = time.Unix(mod, 0); return s }
	request, now := at(100, 5), time.Unix(200, 0)
	for name, c := range map[string]struct {
		request, sentinel Stamp
		want              bool
	}{
		"newer":                          {request, at(100, 6), true},
		"the same instant":               {request, at(100, 5), true},
		"older":                          {request, at(100, 4), false},
		"newer, and its writer says old": {request, claims(at(101, 0), 1), true},
		"older, and its writer says new": {request, claims(at(99, 0), 150), false},
		"the request's writer says new":  {claims(request, 900), at(101, 0), true},
		"the clock was put back":         {at(300, 0), at(101, 0), true},
		"a newer directory":              {request, of(at(101, 0), fs.ModeDir), false},
		"a newer link":                   {request, of(at(101, 0), fs.ModeSymlink), false},
		"a newer FIFO":                   {request, of(at(101, 0), fs.ModeNamedPipe), false},
	} {
		if got := SentinelCounts(c.request, c.sentinel, now); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// newOutbox is a directory in a directory of its own, held open.
func newOutbox(t testing.TB) *Dir {
	t.Helper()
	path := filepath.Join(t.TempDir(), "outbox")
	if err := os.Mkdir(path, 0o777); err != nil {
		t.Fatal(err)
	}
	return openOutbox(t, path)
}

func openOutbox(t testing.TB, path string) *Dir {
	t.Helper()
	outbox, err := OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { outbox.Close() })
	return outbox
}

func write(t testing.TB, outbox *Dir, name, data string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(outbox.Path(), name), []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

func entries(t testing.TB, outbox *Dir) []string {
	t.Helper()
	found, err := os.ReadDir(outbox.Path())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range found {
		names = append(names, entry.Name())
	}
	return names
}
