package images

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"torno/internal/retry"
)

// store is the directory of a cache:
//
//	lock                   held for moments, while names appear, vanish or are looked at
//	tmp/<random>/          what is being made or removed
//	rootfs/<digest>/       an image: root, image.json, and used, whose lock holds it and whose time is its last use
//	refs/<digest>-<arch>   a link that says which image a manifest of a registry is
//
// Whatever is made or used has its file "used" locked by a process, shared; an image whose lock can be taken exclusively is not in use.
type store struct{ dir string }

// openStore makes the directory. It refuses an existing directory that other users can enter.
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
		return store{}, fmt.Errorf("the image cache %s is not ours alone; give it to this user with mode 0700", dir)
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

// locked calls do with the cache locked, against this process's goroutines and other processes.
func (s store) locked(ctx context.Context, do func() error) error {
	for {
		file, err := lockFile(s.path("lock"), true)
		if err == nil {
			defer file.Close()
			return do()
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return fmt.Errorf("lock the image cache: %w", err)
		}
		if retry.Pause(ctx, retry.Soon) != nil {
			return context.Cause(ctx)
		}
	}
}

// lockFile opens a file and locks it, alone or shared, or fails at once with EWOULDBLOCK.
func lockFile(name string, alone bool) (*os.File, error) {
	how := syscall.LOCK_SH
	if alone {
		how = syscall.LOCK_EX
	}
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// use holds the image of a configuration, or returns nil. A damaged image is put aside, unless it is in use.
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

// putAside removes a damaged image. The cache is locked.
func (s store) putAside(digest string, damage error) error {
	pin, err := lockFile(s.path("rootfs", digest, pinName), true)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("%w, and in use: it can be made anew when the sandboxes that use it have ended", damage)
	}
	if err != nil {
		return err
	}
	err = os.Rename(s.path("rootfs", digest), s.path("tmp", digest))
	pin.Close()
	return errors.Join(err, s.sweep())
}

// temp is a directory that is being made. While it is locked, it is not swept away.
type temp struct {
	dir string
	pin *os.File
}

func (s store) temp(ctx context.Context) (t temp, err error) {
	err = s.locked(ctx, func() error {
		if t.dir, err = os.MkdirTemp(s.path("tmp"), ""); err != nil {
			return err
		}
		t.pin, err = lockFile(filepath.Join(t.dir, pinName), false)
		return errors.Join(err, os.Chmod(t.dir, 0o755))
	})
	return t, err
}

// discard is the end of what was not published.
func (t temp) discard() {
	os.RemoveAll(t.dir)
	t.pin.Close()
}

// publish gives an image its name, unless another was quicker.
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

// known says which image a manifest of a registry is.
func (s store) known(manifest v1.Hash, arch string) (digest string, ok bool) {
	digest, err := os.Readlink(s.path("refs", manifest.Hex+"-"+arch))
	return digest, err == nil && len(digest) == len(manifest.Hex)
}

// remember does so for known. A link is made whole or not at all.
func (s store) remember(manifest v1.Hash, arch, digest string) error {
	err := os.Symlink(digest, s.path("refs", manifest.Hex+"-"+arch))
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
