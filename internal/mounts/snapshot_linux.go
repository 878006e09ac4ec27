package mounts

import (
	"io/fs"
	"maps"
	"slices"
)

// snapshot holds the bases and the withheld places of one moment. With it a caller can ask the kernel about them
// without the lock of the Bases, so that a hanging file system blocks only this caller. No handle of the snapshot is
// closed before the caller gives the snapshot back with release.
type snapshot struct {
	held     map[string]*anchor
	withheld []*withheldPlace
}

// look takes a snapshot. It fails if the bases are closed, because then the withheld places are no longer known.
func (b *Bases) look() (*snapshot, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.closed {
		return nil, fs.ErrClosed
	}
	v := &snapshot{held: maps.Clone(b.held), withheld: slices.Clip(b.withheld)} // places are only added, never removed
	for _, a := range v.anchors() {
		a.users.Add(1)
	}
	return v, nil
}

func (v *snapshot) release() {
	releaseAll(v.anchors())
}

func (v *snapshot) anchors() []*anchor {
	all := slices.Collect(maps.Values(v.held))
	for _, k := range v.withheld {
		all = append(all, k.at)
	}
	return all
}

func (v *snapshot) paths() []string { return slices.Sorted(maps.Keys(v.held)) }

// release ends one use of an anchor. The last use closes the handle; an O_PATH handle has nothing to write out, so the
// error of Close does not matter.
func (a *anchor) release() {
	if a.users.Add(-1) == 0 {
		a.file.Close()
	}
}

// releaseAll ends one use of each anchor.
func releaseAll(all []*anchor) {
	for _, a := range all {
		a.release()
	}
}
