package mounts

import (
	"fmt"
	"math"
	"os"
)

// Identity is a user and a group, as the kernel numbers them.
type Identity struct{ UID, GID uint32 }

// CloneOptions say how a clone differs from its source. NOSUID and NODEV are always set.
type CloneOptions struct {
	ReadOnly bool
	// IDMap is a user namespace from IDMaps, or nil. It is only borrowed.
	IDMap *os.File
}

// Covers are an empty directory and an empty file of the host's own.
type Covers struct {
	Dir  string `json:"dir"`
	File string `json:"file"`
}

// noID is the only number that can be neither a user nor a group.
const noID = math.MaxUint32

// extent maps size consecutive ids, like a line of /proc/<pid>/uid_map.
type extent struct{ inside, outside, size uint32 }

// swapped maps every id to itself, except that a and b change places.
func swapped(a, b uint32) ([]extent, error) {
	if a == noID || b == noID {
		return nil, fmt.Errorf("%d is not an id", uint32(noID))
	}
	if a > b {
		a, b = b, a
	}
	if a == b {
		return []extent{{0, 0, noID}}, nil
	}
	var extents []extent
	for _, e := range []extent{
		{0, 0, a}, {a, b, 1}, {a + 1, a + 1, b - a - 1}, {b, a, 1}, {b + 1, b + 1, noID - b - 1},
	} {
		if e.size > 0 {
			extents = append(extents, e)
		}
	}
	return extents, nil
}
