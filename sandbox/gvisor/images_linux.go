package gvisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"torno/internal/images"
	"torno/internal/paths"
	"torno/sandbox"
	"torno/sandbox/local"
)

// openImages opens the image cache, which reports its progress on slow work.
func (l *Launcher) openImages(ctx context.Context) (err error) {
	l.images, err = images.Open(ctx, images.Options{
		Dir: filepath.Join(l.dir(), "images"), Progress: l.tellProgress, Apart: l.options.Bases.Apart,
		Floor: images.Floor{Bytes: l.options.Floor, Files: l.options.FloorFiles},
	})
	return err
}

// tellProgress logs every tenth of an image. It is called for every MiB, and at the end.
func (l *Launcher) tellProgress(image string, done, total int64) {
	const step = 1 << 20
	if total <= 0 || done < total && done*10/total == (done-step)*10/total {
		return
	}
	l.options.Log.Info("fetching an image", "image", image, "percent", done*100/total, "bytes", total)
}

// isNews reports whether an image is used for the first time, so that it may have been fetched just now.
func (l *Launcher) isNews(digest string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	news := digest != "" && !l.seen[digest]
	l.seen[digest] = true
	return news
}

// layRoot makes the sandbox's root in the slot.
func (m *making) layRoot(ctx context.Context) error {
	m.recipe.Root = m.Slot.RootDir()
	if m.Spec.RootFS.Host {
		return m.recipe.LayHost(m.tree, m.shared.system)
	}
	return m.layImage(ctx)
}

// layImage finds the root's image and lays it.
func (m *making) layImage(ctx context.Context) (err error) {
	if m.image, err = m.getImage(ctx); err != nil {
		return err
	}
	m.OnRollBack(m.image.Close)
	m.record.Image = m.image.Digest
	covers, err := local.Covers(m.image.Volumes, m.Spec)
	if err != nil {
		return fmt.Errorf("image %s: %w", m.Spec.RootFS.Image, err)
	}
	m.recipe.Covers = slices.DeleteFunc(covers, m.isHidden)
	return m.recipe.LayImage(m.tree, m.image.Root(), filepath.Join(m.Slot.Path(), "layer"), m.shared.system.Etc)
}

// isHidden reports whether a view lies over a VOLUME of the image. The files there belong to the parent, so there is no
// place for a cover.
func (m *making) isHidden(volume string) bool {
	return slices.ContainsFunc(m.Spec.Mounts, func(mount sandbox.Mount) bool { return paths.Within(mount.Prefix, volume) })
}

// getImage finds an image. It fetches the image if the profile allows it.
func (m *making) getImage(ctx context.Context) (*images.Image, error) {
	ref, err := images.Parse(m.Spec.RootFS.Image)
	if err != nil {
		return nil, err
	}
	if m.Spec.RootFS.Pull {
		ref = ref.Pulling()
	}
	image, err := m.images.Get(ctx, ref)
	if err != nil {
		return nil, err
	}
	if m.isNews(image.Digest) {
		if _, err := m.images.Collect(ctx, m.options.ImageCache); err != nil {
			m.options.Log.Warn("make room among the images", "error", err)
		}
	}
	return image, nil
}

// imageLock returns the lock that keeps a sandbox's image in the cache. The keeper holds it as long as the sandbox
// lives. imageLock returns nil for a sandbox without an image, and for an image that is a directory of the operator's.
func (l *Launcher) imageLock(id string) (*os.File, error) {
	r, err := l.boxes.Read(id)
	if err != nil || r.Image == "" {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	image := l.held[id].image
	if image == nil || image.Pin() == nil {
		return nil, fmt.Errorf("its image %s is not in the cache any more", r.Image)
	}
	fd, err := unix.FcntlInt(image.Pin().Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fd), "the image's lock"), nil
}

// dropImages releases all images.
func (l *Launcher) dropImages() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for _, held := range l.held {
		if held.image != nil {
			errs = append(errs, held.image.Close())
		}
	}
	return errors.Join(errs...)
}
