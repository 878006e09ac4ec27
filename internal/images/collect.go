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
	"time"

	"torno/internal/flock"
)

// Collect removes the longest unused images until the cache has at most keep bytes. It also removes the remains of
// processes that died. Images in use stay, so the cache may stay larger. Collect returns how many bytes it freed.
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

// evict moves images that are not in use to tmp, the longest unused first, until at most keep bytes are left. The
// caller has locked the cache, so no process can begin to use an image meanwhile.
func (s store) evict(keep int64) (freed int64, err error) {
	all, total, err := s.residents()
	if err != nil {
		return 0, err
	}
	for _, r := range all {
		if total-freed <= keep {
			break
		}
		pin, err := lockFile(s.path("rootfs", r.name, pinName), flock.Try)
		if errors.Is(err, flock.ErrHeld) {
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

// forget removes the links in refs that lead to removed images.
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

// sweep removes each temporary directory that it can lock exclusively, because no process uses such a directory. The
// caller has locked the cache, so no process is making a new one at this moment.
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
		return os.Remove(dir) // a plain file is never in use: images are made in directories only
	}
	pin, err := lockFile(filepath.Join(dir, pinName), flock.Try)
	if errors.Is(err, flock.ErrHeld) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("lock an image that is to be removed: %w", err)
	}
	defer pin.Close()
	return os.RemoveAll(dir)
}

// short returns a digest without the name of its algorithm.
func short(digest string) string { return strings.TrimPrefix(digest, "sha256:") }
