package gvisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"torno/internal/images"
	"torno/internal/paths"
	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/local"
	"torno/sandbox/local/hostroot"
)

// layRoot makes the sandbox's root in the slot. What the host gives lies in it as mounts of the host's, and not as mounts
// of the sandbox's kernel: those are asked anew whenever a file is opened, and a root is not.
func (m *making) layRoot(ctx context.Context) error {
	m.recipe.root = m.Slot.RootDir()
	if m.Spec.RootFS.Host {
		return m.layHost()
	}
	return m.layImage(ctx)
}

// layHost shows the host's programs on an empty root.
func (m *making) layHost() error {
	if err := m.shared.system.Layout.Lay(m.recipe.root); err != nil {
		return err
	}
	for _, b := range m.shared.system.Binds() {
		if err := m.tree.Show(b.Source, inRoot(b.Target)); err != nil {
			return err
		}
	}
	return m.makePlaces(m.recipe.root)
}

// layImage shows an image, with places for mounts and our own files of /etc in a layer over it. Nobody writes to either.
func (m *making) layImage(ctx context.Context) (err error) {
	if m.image, err = m.getImage(ctx); err != nil {
		return err
	}
	m.Undo(m.image.Release)
	m.record.Image = m.image.Digest
	covers, err := local.Covers(m.image.Volumes, m.Spec)
	if err != nil {
		return fmt.Errorf("image %s: %w", m.Spec.RootFS.Image, err)
	}
	m.recipe.covers = slices.DeleteFunc(covers, m.isHidden)
	layer := filepath.Join(m.Slot.Path(), "layer")
	if err := (hostroot.Layout{}).Lay(layer); err != nil {
		return err
	}
	if err := errors.Join(m.makePlaces(layer), m.putEtc(filepath.Join(layer, "etc"))); err != nil {
		return err
	}
	return m.tree.Stack(layer, m.image.Root())
}

// isHidden says that a view lies over a VOLUME of an image. What is there is the parent's, and no place for a mount.
func (m *making) isHidden(volume string) bool {
	return slices.ContainsFunc(m.Spec.Mounts, func(mount sandbox.Mount) bool { return paths.Within(mount.Prefix, volume) })
}

// getImage finds an image, or brings it where it may.
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

// imageLock is what keeps the image of a sandbox in the cache, for its keeper, which lives as long as the sandbox. It is nil
// for a sandbox without an image, and for one on a directory of the operator's.
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

// dropImages lets go of all images.
func (l *Launcher) dropImages() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for _, held := range l.held {
		if held.image != nil {
			errs = append(errs, held.image.Release())
		}
	}
	return errors.Join(errs...)
}

// makePlaces makes the places of mounts, so that the runtime need not: what it makes others cannot always enter.
func (m *making) makePlaces(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, target := range m.recipe.covers {
		if err := makePlace(root, inRoot(target), true); err != nil {
			return err
		}
	}
	if err := m.makeDoors(root); err != nil {
		return fmt.Errorf("make a place for a socket: %w", err)
	}
	for _, b := range m.recipe.mounts {
		if err := makePlace(root, inRoot(b.target), b.dir); err != nil {
			return err
		}
	}
	return nil
}

// makeDoors makes the links that lead to init's sockets. What lies in a private file system init makes.
func (m *making) makeDoors(root *os.Root) error {
	if len(m.recipe.doors) == 0 {
		return nil
	}
	if err := root.MkdirAll(inRoot(runfile.DoorsDir), 0o755); err != nil {
		return err
	}
	for i, target := range m.recipe.doors {
		if err := root.MkdirAll(filepath.Dir(inRoot(target)), 0o755); err != nil {
			return err
		}
		if err := root.Symlink(runfile.DoorName(i), inRoot(target)); err != nil {
			return err
		}
	}
	return nil
}

// makePlace makes a directory, or an empty file, with the directories above it. One that is there may stay; one that lies
// in an earlier mount is there already, or the mount would not have been placed.
func makePlace(root *os.Root, rel string, dir bool) error {
	if !dir {
		if err := root.MkdirAll(filepath.Dir(rel), 0o755); err != nil {
			return fmt.Errorf("make a place for a mount: %w", err)
		}
		file, err := root.OpenFile(rel, os.O_WRONLY|os.O_CREATE, 0o444)
		if err != nil {
			return fmt.Errorf("make a place for a mount: %w", err)
		}
		return file.Close()
	}
	if err := root.MkdirAll(rel, 0o755); err != nil {
		return fmt.Errorf("make a place for a mount: %w", err)
	}
	return nil
}

// putEtc puts our own files of /etc over those of an image.
func (m *making) putEtc(etc string) error {
	for name := range hostroot.UserEtc(0, 0) {
		if err := os.Symlink(filepath.Join(runfile.Dir, hostroot.UserDir, name), filepath.Join(etc, name)); err != nil {
			return err
		}
	}
	for _, name := range hostroot.ImageEtc() {
		content, err := os.ReadFile(filepath.Join(m.shared.system.Etc, name))
		if err != nil {
			return err
		}
		if err := hostroot.WriteFile(filepath.Join(etc, name), content); err != nil {
			return err
		}
	}
	return nil
}

// inRoot is a path of the sandbox beneath its root.
func inRoot(target string) string { return strings.TrimPrefix(target, "/") }
