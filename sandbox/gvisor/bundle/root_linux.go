package bundle

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"torno/internal/runfile"
	"torno/sandbox/local/hostroot"
)

// Tree shows places of the host to a sandbox, beneath its root.
type Tree interface {
	Show(source, rel string) error
	Stack(upper string, lower *os.File) error
}

// The root is made in the sandbox's slot. The host's places lie in it as mounts of the host, not as mounts of the
// sandbox's kernel. With its own mounts this kernel asks the host again each time a file is opened; with the root it
// does not.

// LayHost shows the host's programs on an empty root.
func (r Recipe) LayHost(tree Tree, system hostroot.System) error {
	if err := system.Layout.Lay(r.Root); err != nil {
		return err
	}
	binds, err := hostroot.Around(system.Binds(), r.targets())
	if err != nil {
		return err
	}
	for _, b := range binds {
		if err := tree.Show(b.Source, InRoot(b.Target)); err != nil {
			return err
		}
	}
	return r.makePlaces(r.Root)
}

// targets returns the paths where the host's mounts are shown.
func (r Recipe) targets() (all []string) {
	for _, b := range r.Mounts {
		all = append(all, b.Target)
	}
	for _, place := range r.Places {
		all = append(all, place.Target)
	}
	return all
}

// LayImage shows an image with a layer over it. The layer has places for mounts, and our own files of /etc, taken from
// the directory etc. Neither the image nor the layer is ever written to.
func (r Recipe) LayImage(tree Tree, image *os.File, layer, etc string) error {
	if err := (hostroot.Layout{}).Lay(layer); err != nil {
		return err
	}
	if err := errors.Join(r.makePlaces(layer), putEtc(filepath.Join(layer, "etc"), etc)); err != nil {
		return err
	}
	return tree.Stack(layer, image)
}

// makePlaces makes the places of mounts, so that the runtime need not make them: other users cannot always enter
// directories that the runtime makes.
func (r Recipe) makePlaces(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, target := range r.Covers {
		if err := makePlace(root, InRoot(target), true); err != nil {
			return err
		}
	}
	if err := r.makeDoors(root); err != nil {
		return fmt.Errorf("make a place for a socket: %w", err)
	}
	if len(r.Places) > 0 {
		if err := makeClosed(root, InRoot(LateDir)); err != nil {
			return err
		}
	}
	for _, b := range r.Mounts {
		if err := makePlace(root, InRoot(b.Target), b.Dir); err != nil {
			return err
		}
	}
	for _, place := range r.Places {
		if err := makePlace(root, InRoot(place.Target), place.Dir); err != nil {
			return err
		}
	}
	return nil
}

// makeClosed makes a directory that no user of the sandbox may enter, because no user there is root.
func makeClosed(root *os.Root, rel string) error {
	if err := root.MkdirAll(filepath.Dir(rel), 0o755); err != nil {
		return fmt.Errorf("make a place for mounts: %w", err)
	}
	if err := root.Mkdir(rel, 0o700); err != nil {
		return fmt.Errorf("make a place for mounts: %w", err)
	}
	return nil
}

// makeDoors makes the links that lead to init's sockets. If a target lies in a private file system, init makes the
// link.
func (r Recipe) makeDoors(root *os.Root) error {
	if len(r.Doors) == 0 {
		return nil
	}
	if err := root.MkdirAll(InRoot(runfile.DoorsDir), 0o755); err != nil {
		return err
	}
	for i, target := range r.Doors {
		if err := root.MkdirAll(filepath.Dir(InRoot(target)), 0o755); err != nil {
			return err
		}
		if err := root.Symlink(runfile.DoorName(i), InRoot(target)); err != nil {
			return err
		}
	}
	return nil
}

// makePlace makes a directory or an empty file, with the directories above it. An existing place may stay. A place
// inside an earlier mount exists already, because otherwise the mount could not have been placed.
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

// putEtc puts our own files of /etc over the image's. They come from the directory ours.
func putEtc(etc, ours string) error {
	for name := range hostroot.UserEtc(0, 0) {
		if err := os.Symlink(filepath.Join(runfile.Dir, hostroot.UserDir, name), filepath.Join(etc, name)); err != nil {
			return err
		}
	}
	for _, name := range hostroot.ImageEtc() {
		content, err := os.ReadFile(filepath.Join(ours, name))
		if err != nil {
			return err
		}
		if err := hostroot.WriteFile(filepath.Join(etc, name), content); err != nil {
			return err
		}
	}
	return nil
}

// InRoot turns a path of the sandbox into a path relative to its root.
func InRoot(target string) string { return strings.TrimPrefix(target, "/") }
