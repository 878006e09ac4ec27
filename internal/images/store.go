package images

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"torno/internal/flock"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// store is the directory of a cache:
//
//	lock                   locked for moments, while names appear, vanish or are looked at
//	tmp/<random>/          an image that is being made or removed
//	rootfs/<digest>/       an image: root, image.json, and used, whose lock holds it and whose time is its last use
//	refs/<digest>-<arch>   a link that tells which image a registry's manifest means
//
// A process that makes or uses an image holds a shared lock on its file "used". If the lock can be taken exclusively,
// the image is not in use.
type store struct{ dir string }

// openStore makes the directory, or takes an existing one. It refuses a directory of another user, and a directory that
// other users can enter.
func openStore(dir string) (store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return store{}, fmt.Errorf("make the image cache: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return store{}, fmt.Errorf("look at the image cache: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(stat.Uid) != os.Geteuid() || info.Mode().Perm()&0o077 != 0 {
		return store{}, fmt.Errorf("the image cache %s does not belong to this user alone; make this user its owner, with mode 0700", dir)
	}
	s := store{dir}
	for _, name := range []string{"tmp", "rootfs", "refs"} {
		if err := os.Mkdir(s.path(name), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return store{}, fmt.Errorf("make the image cache: %w", err)
		}
		if err := os.Chmod(s.path(name), 0o755); err != nil { // whatever the umask is
			return store{}, fmt.Errorf("make the image cache: %w", err)
		}
	}
	return s, nil
}

func (s store) path(names ...string) string {
	return filepath.Join(append([]string{s.dir}, names...)...)
}

// locked calls do while the cache is locked against the other goroutines of this process and against other processes.
func (s store) locked(ctx context.Context, do func() error) error {
	file, err := lockFile(s.path("lock"), func(f *os.File) error { return flock.Wait(ctx, f) })
	if err != nil {
		return fmt.Errorf("lock the image cache: %w", err)
	}
	defer file.Close()
	return do()
}

// lockFile opens a file and locks it by flock.Try, flock.TryShared or flock.Wait.
func lockFile(name string, lock func(*os.File) error) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// use holds the image whose configuration has this digest. It returns nil if there is none. It puts a damaged image
// aside, unless that image is in use.
func (s store) use(ctx context.Context, digest string) (image *Image, err error) {
	dir := s.path("rootfs", digest)
	err = s.locked(ctx, func() (err error) {
		if _, err = os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		image, err = load(dir)
		if errors.Is(err, errDamaged) {
			return s.putAside(digest, err)
		}
		return err
	})
	return image, err
}

// putAside removes a damaged image, unless it is in use. The caller has locked the cache.
func (s store) putAside(digest string, damage error) error {
	pin, err := lockFile(s.path("rootfs", digest, pinName), flock.Try)
	if errors.Is(err, flock.ErrHeld) {
		return fmt.Errorf("%w, and in use: it can be made again when the sandboxes that use it have ended", damage)
	}
	if err != nil {
		return err
	}
	err = os.Rename(s.path("rootfs", digest), s.path("tmp", digest))
	pin.Close()
	return errors.Join(err, s.sweep())
}

// temp is a directory in which an image is being made. While its pin is locked, sweep leaves it alone.
type temp struct {
	dir string
	pin *os.File
}

func (s store) temp(ctx context.Context) (t temp, err error) {
	err = s.locked(ctx, func() error {
		if t.dir, err = os.MkdirTemp(s.path("tmp"), ""); err != nil {
			return err
		}
		t.pin, err = lockFile(filepath.Join(t.dir, pinName), flock.TryShared)
		return errors.Join(err, os.Chmod(t.dir, 0o755))
	})
	return t, err
}

// discard removes a directory that was not published.
func (t temp) discard() {
	os.RemoveAll(t.dir)
	t.pin.Close()
}

// publish gives an image its name. If another maker of the same image was quicker, publish discards ours and returns
// theirs.
func (s store) publish(ctx context.Context, t temp, r record, digest string) (image *Image, err error) {
	dir := s.path("rootfs", digest)
	err = s.locked(ctx, func() error {
		if image, err = load(dir); err == nil {
			t.discard()
			return nil
		}
		root, err := openTree(t.dir)
		if err != nil {
			return err
		}
		if err := os.Rename(t.dir, dir); err != nil {
			root.Close()
			return err
		}
		image = r.image(dir, t.pin, root)
		return nil
	})
	return image, err
}

// known returns the digest of the image that a registry's manifest means, if the cache remembers it.
func (s store) known(manifest v1.Hash, arch string) (digest string, ok bool) {
	digest, err := os.Readlink(s.path("refs", manifest.Hex+"-"+arch))
	return digest, err == nil && len(digest) == len(manifest.Hex)
}

// remember notes for known which image a manifest means. A symbolic link is made whole or not at all.
func (s store) remember(manifest v1.Hash, arch, digest string) error {
	err := os.Symlink(digest, s.path("refs", manifest.Hex+"-"+arch))
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
