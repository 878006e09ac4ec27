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
	"time"
)

// Key says which file is meant.
type Key struct {
	Address string // where the registry has it
	Digest  Digest // that the registry says now; none where it has not said one, or never does
}

// name is the file's name on the disk. It goes by the address alone: a process that has not heard the registry's digest yet finds the file,
// which was kept under the digest that the registry said then.
func (k Key) name() string {
	sum := sha256.Sum256([]byte(k.Address + "\x00"))
	return hex.EncodeToString(sum[:])
}

// draftPrefix begins the names of files that are not whole yet.
const draftPrefix = ".new-"

// Cache is a directory of files. All its methods may be called at once.
type Cache struct {
	dir  string
	most int64

	mu    sync.Mutex
	used  int64
	kept  map[string]*list.Element // by name
	order *list.List               // of *entry; the most recently used file is in front
	turns map[string]chan struct{} // by name; closed when the fetch that has the turn is over
}

type entry struct {
	name string
	size int64
}

// Open opens a directory, which it makes, for at most so many bytes. It removes drafts that an earlier process left, and the
// least recently used files above the bound.
func Open(dir string, most int64) (*Cache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of a cache: %w", err)
	}
	c := &Cache{dir: dir, most: most, kept: map[string]*list.Element{}, order: list.New(), turns: map[string]chan struct{}{}}
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
		c.kept[info.Name()] = c.order.PushFront(&entry{info.Name(), info.Size()})
		c.used += info.Size()
	}
	if !c.makeRoom(0) {
		return nil, errors.New("a cache cannot be emptied")
	}
	return c, nil
}

// makeRoom removes the least recently used files until n more bytes fit. The caller has locked the cache, or has not shared it yet.
func (c *Cache) makeRoom(n int64) bool {
	for c.used+n > c.most {
		oldest := c.order.Back()
		if oldest == nil || !c.remove(oldest) {
			return false
		}
	}
	return true
}

// remove removes a kept file. The cache is locked.
func (c *Cache) remove(at *list.Element) bool {
	e := at.Value.(*entry)
	if err := os.Remove(filepath.Join(c.dir, e.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	c.order.Remove(at)
	delete(c.kept, e.name)
	c.used -= e.size
	return true
}

// take is for n bytes of a draft. It is false where they do not fit.
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

// keep puts a whole draft into its place.
func (c *Cache) keep(draft, name string, size int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.kept[name]; old != nil && !c.remove(old) {
		return errors.New("an older file cannot be removed")
	}
	if err := os.Rename(draft, filepath.Join(c.dir, name)); err != nil {
		return err
	}
	c.kept[name] = c.order.PushFront(&entry{name, size})
	return nil
}

// touch notes that a file was used, on the disk too: the next process knows the order by its time.
func (c *Cache) touch(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.kept[name]
	if at == nil {
		return
	}
	c.order.MoveToFront(at)
	now := time.Now()
	_ = os.Chtimes(filepath.Join(c.dir, name), now, now) // it only orders
}

// drop removes a file that is damaged.
func (c *Cache) drop(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.kept[name]; at != nil {
		c.remove(at)
	}
}

func (c *Cache) has(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept[name] != nil
}
