package images

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Collect removes images until the cache has at most keep bytes, the longest unused first, and the remains of processes that
// died. An image in use stays, so the cache may stay larger. It returns how much was freed.
func (c *Cache) Collect(ctx context.Context, keep int64) (freed int64, err error) {
	err = c.store.locked(ctx, func() error {
		freed, err = c.store.evict(keep)
		return errors.Join(err, c.store.forget())
	})
	return freed, errors.Join(err, c.store.sweepLocked(ctx))
}

// resident is an image on the disk.
type resident struct {
	name string
	size int64
	used time.Time
}

func (s store) residents() ([]resident, int64, error) {
	entries, err := os.ReadDir(s.path("rootfs"))
	if err != nil {
		return nil, 0, err
	}
	var all []resident
	var total int64
	for _, entry := range entries {
		r := resident{name: entry.Name()}
		if info, err := os.Stat(s.path("rootfs", r.name, pinName)); err == nil {
			r.used = info.ModTime()
		}
		var have record
		if raw, err := os.ReadFile(s.path("rootfs", r.name, recordName)); err == nil && json.Unmarshal(raw, &have) == nil {
			r.size = have.Disk
		}
		total += r.size
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b resident) int { return a.used.Compare(b.used) })
	return all, total, nil
}

// evict takes the names from images that are not in use. The cache is locked, so no process begins to use one.
func (s store) evict(keep int64) (freed int64, err error) {
	all, total, err := s.residents()
	if err != nil {
		return 0, err
	}
	for _, r := range all {
		if total-freed <= keep {
			break
		}
		pin, err := lockFile(s.path("rootfs", r.name, pinName), true)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			continue
		}
		if err != nil {
			return freed, err
		}
		err = os.Rename(s.path("rootfs", r.name), s.path("tmp", r.name))
		pin.Close()
		if err != nil {
			return freed, err
		}
		freed += r.size
	}
	return freed, nil
}

// forget removes what leads to images that are gone.
func (s store) forget() error {
	entries, err := os.ReadDir(s.path("refs"))
	for _, entry := range entries {
		name := s.path("refs", entry.Name())
		digest, _ := os.Readlink(name)
		if _, missing := os.Lstat(s.path("rootfs", filepath.Base(digest))); digest == "" || missing != nil {
			err = errors.Join(err, os.Remove(name))
		}
	}
	return err
}

func (s store) sweepLocked(ctx context.Context) error {
	return s.locked(ctx, s.sweep)
}

// sweep removes the temporary directories that are not in use, which are those that it can lock exclusively. The cache is
// locked, so no process is just making one.
func (s store) sweep() error {
	entries, err := os.ReadDir(s.path("tmp"))
	for _, entry := range entries {
		err = errors.Join(err, s.sweepOne(entry))
	}
	return err
}

func (s store) sweepOne(entry fs.DirEntry) error {
	dir := s.path("tmp", entry.Name())
	if !entry.IsDir() {
		return os.Remove(dir) // images are made in directories only
	}
	pin, err := lockFile(filepath.Join(dir, pinName), true)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("lock what may be in use: %w", err)
	}
	defer pin.Close()
	return os.RemoveAll(dir)
}

// short is a digest without the name of its algorithm.
func short(digest string) string { return strings.TrimPrefix(digest, "sha256:") }
