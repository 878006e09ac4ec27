package cache

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func opened(t *testing.T, dir string, most int64) *Cache {
	t.Helper()
	c, err := Open(dir, most)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *Cache) put(t *testing.T, address string, size int) error {
	t.Helper()
	d, err := c.Begin(Key{Address: address}, "a/b")
	if err != nil {
		return err
	}
	for range size {
		fmt.Fprint(d, address[:1])
	}
	return d.Keep()
}

// found is the text of a file, "" for none.
func (c *Cache) found(t *testing.T, k Key) string {
	t.Helper()
	h := c.Find(t.Context(), t.Context(), k)
	if h == nil {
		return ""
	}
	defer h.Close()
	text, err := io.ReadAll(h)
	if err != nil || int64(len(text)) != h.Size || h.Type != "a/b" {
		t.Errorf("%d bytes of %d, %q, %v", len(text), h.Size, h.Type, err)
	}
	return string(text)
}

// TestWhatIsReadCounts: a child reads kept files slowly, so that each keeps its bytes on the disk although its name is gone.
func TestWhatIsReadCounts(t *testing.T) {
	c := opened(t, t.TempDir(), 5*maxHead)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(c.put(t, "a", 2*maxHead))
	slow := c.Find(t.Context(), t.Context(), Key{Address: "a"})
	if err := c.put(t, "b", 2*maxHead); !errors.Is(err, errFull) {
		t.Errorf("another file is kept beside one that is still read: %v", err)
	}
	if c.found(t, Key{Address: "a"}) == "" {
		t.Error("a file is removed that gives no room")
	}
	c.drop(Key{Address: "a"}.name())
	if err := c.put(t, "b", 2*maxHead); !errors.Is(err, errFull) {
		t.Errorf("another file is kept beside one that is still read, and has no name any more: %v", err)
	}
	must(slow.Close())
	must(c.put(t, "b", 2*maxHead))
	must(c.put(t, "c", 2*maxHead))
	if c.used != 3*maxHead || c.found(t, Key{Address: "c"}) == "" || c.found(t, Key{Address: "b"}) != "" {
		t.Errorf("%d bytes count for one file of %d", c.used, 3*maxHead)
	}
}

// TestAFileIsReadOnce as long as nothing writes to it: a child asks for a large file again and again, and gives up each time.
func TestAFileIsReadOnce(t *testing.T) {
	dir := t.TempDir()
	c, k := opened(t, dir, 1<<20), Key{Address: "a"}
	if err := c.put(t, "a", 100); err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	c.reading <- struct{}{} // another file is being read
	if c.Find(gone, t.Context(), k) != nil {
		t.Error("a child that gave up waits")
	}
	<-c.reading
	if c.Find(t.Context(), gone, k) != nil {
		t.Error("a file is read although the door is closed")
	}
	if len(c.found(t, k)) != 100 {
		t.Error("a child that gave up, or a door that was closed, removes the file")
	}
	c.reading <- struct{}{}
	if len(c.found(t, k)) != 100 {
		t.Error("a file that was read waits for another one")
	}
	<-c.reading
	path := filepath.Join(dir, k.name())
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)-1]++
	if err := errors.Join(os.WriteFile(path, text, 0o600), os.Chtimes(path, info.ModTime(), info.ModTime())); err != nil {
		t.Fatal(err)
	}
	if got := c.found(t, k); !strings.HasSuffix(got, "b") {
		t.Errorf("it was read again: %q", got)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := c.found(t, k); got != "" {
		t.Errorf("a file that has changed is returned: %q", got)
	}
}

// onDisk is what a directory takes.
func onDisk(t *testing.T, dir string) (size int64, names int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			size += info.Size()
			names++
		}
	}
	return size, names
}

// TestTheBoundHolds, drafts with it. What was used last stays, in the next process too.
func TestTheBoundHolds(t *testing.T) {
	const most, size = 50_000, 6_000 // each takes as much and a head
	dir := t.TempDir()
	c := opened(t, dir, most)
	for i := range 20 {
		if err := c.put(t, fmt.Sprint("f", i), size); err != nil {
			t.Fatal(i, err)
		}
		if c.found(t, Key{Address: "f0"}) == "" {
			t.Fatalf("the file that is used all the time is gone behind %d others", i)
		}
		if now, _ := onDisk(t, dir); now > most {
			t.Fatalf("%d bytes are on the disk", now)
		}
	}
	d, err := c.Begin(Key{Address: "large"}, "a/b")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 * most / 1000 {
		if n, err := d.Write(make([]byte, 1000)); n != 1000 || err != nil {
			t.Fatal("the child's own answer ends with the cache's place")
		}
		if now, _ := onDisk(t, dir); now > most {
			t.Fatalf("with a draft %d bytes are on the disk", now)
		}
	}
	if err := d.Keep(); err == nil {
		t.Error("it is larger than all, and was kept")
	}
	if c.used != 0 && c.order.Len() == 0 {
		t.Errorf("%d bytes count, and nothing is there", c.used)
	}
	for i := range 5 {
		if err := c.put(t, fmt.Sprint("g", i), size); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(dir, Key{Address: "g4"}.name()), old, old); err != nil {
		t.Fatal(err)
	}
	next := opened(t, dir, 40_000)
	if next.found(t, Key{Address: "g4"}) != "" || next.found(t, Key{Address: "g3"}) == "" {
		t.Error("another one than the oldest made room")
	}
}

// TestADigestIsHeldTo when a file is kept, and whenever it is found.
func TestADigestIsHeldTo(t *testing.T) {
	dir := t.TempDir()
	c := opened(t, dir, 1<<20)
	sum := sha256.Sum256([]byte("text"))
	key := Key{Address: "a", Digest: Digest{"sha256", string(sum[:])}}
	write := func(text string) error {
		d, err := c.Begin(key, "a/b")
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(d, text)
		return d.Keep()
	}
	if write("other") == nil || c.found(t, key) != "" {
		t.Error("it has another digest, and was kept")
	}
	if err := write("text"); err != nil || c.found(t, key) != "text" {
		t.Error(err)
	}
	if c.found(t, Key{Address: "a"}) != "text" || c.found(t, Key{Address: "b", Digest: key.Digest}) != "" {
		t.Error("a file is found by its address, whether a digest is known yet or not, and by no other")
	}
	other := sha256.Sum256([]byte("other"))
	if c.found(t, Key{Address: "a", Digest: Digest{"sha256", string(other[:])}}) != "" || c.found(t, Key{Address: "a"}) != "" {
		t.Error("the registry says another digest now, and what had the earlier one is still there")
	}
	if err := write("text"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, key.name())
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string][]byte{
		"longer": append(bytes.Clone(good), 'x'), "shorter": good[:len(good)-1], "empty": {}, "another text": append(bytes.Clone(good[:len(good)-1]), 'T'),
		"another digest": bytes.Replace(good, []byte(fmt.Sprintf("%x", sum)), []byte(strings.Repeat("0", 64)), 1), "no head": []byte("\n"),
	} {
		if err := write("text"); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := c.found(t, key); got != "" {
			t.Errorf("%s: %q is found", name, got)
		}
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s: it stays", name)
		}
	}
}

// TestAProcessThatDied leaves drafts, a link and a directory, and its whole files.
func TestAProcessThatDied(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("the host's"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := opened(t, dir, 1<<20)
	if err := c.put(t, "whole", 10); err != nil {
		t.Fatal(err)
	}
	if d, err := c.Begin(Key{Address: "draft"}, "a/b"); err != nil {
		t.Fatal(err)
	} else {
		d.Write([]byte("half"))
	}
	for name, err := range map[string]error{"link": os.Symlink(outside, filepath.Join(dir, "link")), "sub": os.Mkdir(filepath.Join(dir, "sub"), 0o700)} {
		if err != nil {
			t.Fatal(name, err)
		}
	}
	next := opened(t, dir, 1<<20)
	if next.found(t, Key{Address: "whole"}) == "" {
		t.Error("a whole file is gone")
	}
	if size, names := onDisk(t, dir); names != 1 || size != next.used {
		t.Errorf("%d files of %d bytes are there, and %d count", names, size, next.used)
	}
	if text, err := os.ReadFile(outside); err != nil || string(text) != "the host's" {
		t.Errorf("a file behind a link: %q, %v", text, err)
	}
}

// TestAFullDiskKeepsNothing, and no caller notices before Keep.
func TestAFullDiskKeepsNothing(t *testing.T) {
	c := opened(t, t.TempDir(), 1<<20)
	d, err := c.Begin(Key{Address: "a"}, "a/b")
	if err != nil {
		t.Fatal(err)
	}
	d.file.Close() // so that each write fails
	if n, err := d.Write([]byte("text")); n != 4 || err != nil {
		t.Error(n, err)
	}
	if err := d.Keep(); err == nil || c.used != 0 || c.found(t, Key{Address: "a"}) != "" {
		t.Errorf("%v, %d bytes count", err, c.used)
	}
}

// TestASlowFetchHoldsNoOtherUp for longer than it waits; a fetch that ends lets the next one begin at once.
func TestASlowFetchHoldsNoOtherUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, key := opened(t, t.TempDir(), 1<<20), Key{Address: "a"}
		over, mine := c.Turn(t.Context(), key)
		if !mine {
			t.Fatal("the other fetch has not got the turn")
		}
		began := time.Now()
		waiting, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if _, mine := c.Turn(waiting, key); mine || time.Since(began) != time.Minute {
			t.Errorf("mine: %v, after %s", mine, time.Since(began))
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, mine := c.Turn(gone, key); mine {
			t.Error("a caller that is gone has the turn")
		}
		if other, mine := c.Turn(t.Context(), Key{Address: "b"}); !mine {
			t.Error("another file waits")
		} else {
			other()
		}
		next := make(chan bool)
		go func() {
			_, mine := c.Turn(t.Context(), key)
			next <- mine
		}()
		synctest.Wait()
		over()
		if <-next {
			t.Error("it has not waited")
		}
		if again, mine := c.Turn(t.Context(), key); !mine {
			t.Error("the turn is not given back")
		} else {
			again()
		}
	})
}
