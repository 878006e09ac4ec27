package mounts

import (
	"math"
	"testing"
)

// FuzzSwapped: the extents exchange two ids and leave every other one alone, for all ids that there are.
func FuzzSwapped(f *testing.F) {
	for _, id := range []uint32{0, 1, 2, 1000, 65534, 2000000001, math.MaxUint32 - 1, math.MaxUint32} {
		f.Add(id, uint32(1000), id)
		f.Add(uint32(2000000001), id, uint32(7))
	}
	f.Fuzz(func(t *testing.T, a, b, other uint32) {
		extents, err := swapped(a, b)
		if (err != nil) != (a == math.MaxUint32 || b == math.MaxUint32) {
			t.Fatalf("%d and %d: %v", a, b, err)
		}
		if err != nil {
			return
		}
		for from, to := range map[uint32]uint32{a: b, b: a} {
			if got, ok := mapped(extents, from); !ok || got != to {
				t.Errorf("%d and %d: %d becomes %d (%t)", a, b, from, got, ok)
			}
		}
		if got, ok := mapped(extents, other); other != a && other != b && (got != other || ok != (other != math.MaxUint32)) {
			t.Errorf("%d and %d: %d becomes %d (%t)", a, b, other, got, ok)
		}
		var inside, outside, size uint64
		for _, e := range extents {
			inside, outside, size = inside+sum(e.inside, e.size), outside+sum(e.outside, e.size), size+uint64(e.size)
		}
		if all := sum(0, math.MaxUint32); inside != all || outside != all || size != math.MaxUint32 {
			t.Errorf("%d and %d: %v do not hold every id once", a, b, extents)
		}
	})
}

// mapped is what the kernel makes of an id.
func mapped(extents []extent, id uint32) (uint32, bool) {
	for _, e := range extents {
		if id >= e.inside && id-e.inside < e.size {
			return e.outside + (id - e.inside), true
		}
	}
	return id, false
}

// sum adds up size numbers from first on. It wraps around, and is still another one when one number is.
func sum(first, size uint32) uint64 {
	n := uint64(size)
	return n*uint64(first) + n*(n-1)/2
}
