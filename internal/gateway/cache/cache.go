package cache

import (
	"container/list"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Key names a file.
type Key struct {
	Address string // where the registry serves it
	Digest  Digest // the registry's current digest; none if the registry has not told it yet, or never tells one
}

// name returns the file's name on the disk. It depends on the address alone. So a process that does not know the
// registry's digest yet still finds the file, which an earlier process checked against the registry's digest.
func (k Key) name() string {
	sum := sha256.Sum256([]byte(k.Address + "\x00"))
	return hex.EncodeToString(sum[:])
}

// draftPrefix begins the names of files that are not complete yet.
const draftPrefix = ".new-"

// Cache is a directory of files. All its methods may be called concurrently.
type Cache struct {
	dir  string
	most int64

	mu    sync.Mutex
	used  int64
	kept  map[string]*list.Element // by name
	order *list.List               // of *entry; the most recently used file is in front
	turns map[string]chan struct{} // by name; closed when the fetch that has the turn is over

	reading chan struct{} // held while the content of a file is verified
}

type entry struct {
	name     string
	size     int64
	verified fs.FileInfo // of the file when its content was last known to be right; nil if it was not read yet
	readers  int         // how many have the file open
	removed  bool        // the name is gone; the bytes stay on the disk until the last reader closes the file
}

// Open opens a directory that may hold most bytes, and creates it if necessary. It removes drafts that an earlier
// process left, and the least recently used files above the bound.
func Open(dir string, most int64) (*Cache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of a cache: %w", err)
	}
	c := &Cache{dir: dir, most: most, kept: map[string]*list.Element{}, order: list.New(), turns: map[string]chan struct{}{}, reading: make(chan struct{}, 1)}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("look at a cache: %w", err)
	}
	var files []fs.FileInfo
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && (strings.HasPrefix(e.Name(), draftPrefix) || !info.Mode().IsRegular()) {
			err = os.RemoveAll(filepath.Join(dir, e.Name()))
			info = nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("look at a cache: %w", err)
		}
		if info != nil {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range files {
		c.kept[info.Name()] = c.order.PushFront(&entry{name: info.Name(), size: info.Size()})
		c.used += info.Size()
	}
	if !c.makeRoom(0) {
		return nil, errors.New("a cache cannot be emptied")
	}
	return c, nil
}

// makeRoom removes the least recently used files until n more bytes fit. It keeps files that somebody reads, because
// their bytes stay on the disk. The caller has locked the cache, or has not shared it yet.
func (c *Cache) makeRoom(n int64) bool {
	for at := c.order.Back(); c.used+n > c.most; {
		if at == nil {
			return false
		}
		oldest := at
		at = at.Prev()
		if oldest.Value.(*entry).readers == 0 && !c.remove(oldest) {
			return false
		}
	}
	return true
}

// remove removes a kept file. If somebody still reads the file, its bytes count until the last reader closes it. The
// caller has locked the cache.
func (c *Cache) remove(at *list.Element) bool {
	e := at.Value.(*entry)
	if err := os.Remove(filepath.Join(c.dir, e.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	c.order.Remove(at)
	delete(c.kept, e.name)
	if e.removed = true; e.readers == 0 {
		c.used -= e.size
	}
	return true
}

// open opens a kept file, and counts its reader until closed is called. It returns nil if there is no such file.
func (c *Cache) open(name string) (file *os.File, closed func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.kept[name]
	if at == nil {
		return nil, nil
	}
	file, err := os.OpenFile(filepath.Join(c.dir, name), os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		c.remove(at)
		return nil, nil
	}
	e := at.Value.(*entry)
	e.readers++
	return file, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if e.readers--; e.readers == 0 && e.removed {
			c.used -= e.size
		}
	}
}

// take reserves room for n bytes of a draft. It returns false if they do not fit.
func (c *Cache) take(n int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.makeRoom(n) {
		return false
	}
	c.used += n
	return true
}

func (c *Cache) giveBack(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used -= n
}

// keep renames a complete draft to its final name.
func (c *Cache) keep(draft, name string, size int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.kept[name]; old != nil && !c.remove(old) {
		return errors.New("an older file cannot be removed")
	}
	if err := os.Rename(draft, filepath.Join(c.dir, name)); err != nil {
		return err
	}
	c.kept[name] = c.order.PushFront(&entry{name: name, size: size})
	return nil
}

// touch notes that a verified file is used. It sets the file's time too, because the next process learns the order from
// that.
func (c *Cache) touch(name string, file *os.File) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.kept[name]
	if at == nil {
		return
	}
	c.order.MoveToFront(at)
	now := time.Now()
	_ = os.Chtimes(filepath.Join(c.dir, name), now, now) // only the order depends on it
	at.Value.(*entry).verified, _ = file.Stat()
}

// isVerified reports whether a file's content was read before, and nothing wrote to the file since.
func (c *Cache) isVerified(name string, file *os.File) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.kept[name]
	if at == nil || at.Value.(*entry).verified == nil {
		return false
	}
	was := at.Value.(*entry).verified
	is, err := file.Stat()
	return err == nil && os.SameFile(is, was) && is.Size() == was.Size() && is.ModTime().Equal(was.ModTime())
}

// drop removes a damaged file.
func (c *Cache) drop(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.kept[name]; at != nil {
		c.remove(at)
	}
}
