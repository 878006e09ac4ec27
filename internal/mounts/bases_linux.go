package mounts

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"torno/sandbox"
)

// Bases are the operator's directories, each held from the start, so that replacing one of them by something else
// changes nothing. It is safe for concurrent use.
type Bases struct {
	held map[string]*os.File
}

// OpenBases opens each directory once. Symbolic links in these paths are followed now, and never again, and only those
// which are root's or our own: whoever else could exchange one would decide what is mounted. Close lets go of them.
func OpenBases(paths []string) (*Bases, error) {
	b := &Bases{held: make(map[string]*os.File, len(paths))}
	for _, path := range paths {
		if b.held[path] != nil {
			continue
		}
		if !filepath.IsAbs(path) || filepath.Clean(path) != path {
			b.Close()
			return nil, fmt.Errorf("root %q is not a clean absolute path", path)
		}
		root, err := holdRoot(path)
		if err != nil {
			b.Close()
			return nil, err
		}
		b.held[path] = root
	}
	return b, nil
}

// Paths are the directories, sorted.
func (b *Bases) Paths() []string { return slices.Sorted(maps.Keys(b.held)) }

// Close lets go of the directories. Pins taken earlier stay good.
func (b *Bases) Close() error {
	var errs []error
	for _, f := range b.held {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// Pin finds the source and holds it. Where the source is not to be had the error is a *PathError.
//
// A source in another mount than its base is refused. Clones do not carry what is mounted below them, so letting a
// name reach through a mount would make the same tree look different depending on where it is entered; and a
// mount below a root that the operator did not list is something the operator did not think of.
func (b *Bases) Pin(src sandbox.Source) (*Pin, error) {
	base := b.held[src.Base]
	if base == nil {
		return nil, &PathError{Source: src, Kind: KindEscapes}
	}
	if kind := checkRel(src.Rel); kind != "" {
		return nil, &PathError{Source: src, Kind: kind}
	}
	fd, err := lookup(int(base.Fd()), src.Rel, unix.O_PATH, beneath)
	if err != nil {
		return nil, lookupError(src, base, err)
	}
	return newPin(src, fd)
}

// lookupError says what the kernel's refusal means.
func lookupError(src sandbox.Source, base *os.File, err error) error {
	kind := kindOf(err)
	if kind == "" {
		return fmt.Errorf("open %q beneath %q: %w", src.Rel, src.Base, err)
	}
	var st unix.Stat_t
	if kind == KindMissing && unix.Fstat(int(base.Fd()), &st) == nil && st.Nlink == 0 {
		err = ErrRootGone
	}
	return &PathError{Source: src, Kind: kind, Err: err}
}
