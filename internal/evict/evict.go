// Package evict chooses which files a bounded store removes. Each owner pushes out its own files before those of
// others:
//
//	gone := evict.Over(files, evict.Bounds{Number: 1000, Bytes: 1 << 30})
package evict

import (
	"maps"
	"slices"
	"time"
)

// File is a file that a store keeps.
type File struct {
	Name  string
	Owner string
	Size  int64
	At    time.Time // when it was last written
}

// Bounds limit how much a store keeps.
type Bounds struct {
	Number int
	Bytes  int64
}

// Over returns the files for which there is no room. It always removes the oldest file of the owner that has the most.
func Over(files []File, room Bounds) (gone []File) {
	left := slices.SortedStableFunc(slices.Values(files), func(a, b File) int { return b.At.Compare(a.At) })
	number, bytes := len(left), int64(0)
	numberOf, bytesOf := map[string]int64{}, map[string]int64{}
	for _, f := range left {
		bytes += f.Size
		numberOf[f.Owner]++
		bytesOf[f.Owner] += f.Size
	}
	for len(left) > 0 && (number > room.Number || bytes > room.Bytes) {
		share := numberOf
		if number <= room.Number {
			share = bytesOf
		}
		most := slices.Max(slices.Collect(maps.Values(share)))
		last := len(left) - 1
		for share[left[last].Owner] < most {
			last--
		}
		f := left[last]
		left, gone = slices.Delete(left, last, last+1), append(gone, f)
		number--
		bytes -= f.Size
		numberOf[f.Owner]--
		bytesOf[f.Owner] -= f.Size
	}
	return gone
}
