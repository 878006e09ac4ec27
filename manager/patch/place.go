package patch

import (
	"os"
	"path"
	"strings"
)

// place is a name in an open directory of the parent's, with the two names beside it that an apply works with. Each of
// these serves only its own purpose, so after a kill a name tells whether the parent's file may lie under it.
type place struct {
	*os.Root
	name   string
	staged string // the apply's own file, and never the parent's
	out    string // a file that was taken out of its place, or is about to be: it may be the parent's
	seams
}

// seams are the points where a test steps in. They are nil except in tests.
type seams struct {
	at     func()                                              // between two effects
	rename func(dir *os.Root, from, to string, how uint) error // for renameWith
}

// place opens the directory of a path. The id keeps the names beside the path apart from the names of other applies.
func (t target) place(p, id string) (*place, error) {
	dir, err := t.dir(path.Dir(p))
	if err != nil {
		return nil, err
	}
	return &place{dir, path.Base(p), tempName(id), outName(p, id), t.seams}, nil
}

// tempName returns the name of a file while an apply or a get writes it.
func tempName(id string) string { return ".torno-" + id }

// outName returns the name for a file that was taken out of its place. A file that cannot go back keeps this name, so
// the name shows which file it is. A long name is cut; the digest still tells it from others.
func outName(p, id string) string {
	name := path.Base(p)
	return strings.ToValidUTF8(name[:min(len(name), 100)], "") + ".torno-kept-" + digestOf([]byte(id + "/" + p))[:16]
}

// step lets a test edit files, or kill the apply, between two effects.
func (pl *place) step() {
	if pl.at != nil {
		pl.at()
	}
}

// exchange swaps the file under the name out with the file in the place.
func (pl *place) exchange() error { return pl.renameWith(pl.out, exchanging) }

func (pl *place) renameWith(from string, how uint) error {
	if pl.rename != nil {
		return pl.rename(pl.Root, from, pl.name, how)
	}
	return renameWith(pl.Root, from, pl.name, how)
}
