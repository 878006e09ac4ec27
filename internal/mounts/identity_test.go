package mounts

import (
	"math/rand/v2"
	"testing"
)

// lookUp is what the kernel does with a map.
func lookUp(extents []extent, id uint32) (uint32, int) {
	var found uint32
	hits := 0
	for _, e := range extents {
		if id >= e.inside && id-e.inside < e.size {
			found, hits = e.outside+(id-e.inside), hits+1
		}
	}
	return found, hits
}

func TestSwappedExchangesTwoIDsAndNothingElse(t *testing.T) {
	const last = noID - 1
	edges := []uint32{0, 1, 2, 999, 1000, 1001, 65534, 1<<31 - 1, 1 << 31, 2000000001, last - 2, last - 1, last}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same numbers each time
	for range 50 {
		edges = append(edges, random.Uint32N(noID))
	}
	for _, a := range edges {
		for _, b := range edges {
			extents, err := swapped(a, b)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range edges {
				want := map[uint32]uint32{a: b, b: a}
				to, ok := want[id]
				if !ok {
					to = id
				}
				if got, hits := lookUp(extents, id); got != to || hits != 1 {
					t.Fatalf("exchanging %d and %d: %d becomes %d in %d extents of %v", a, b, id, got, hits, extents)
				}
			}
		}
	}
}

func TestSwappedRefusesWhatIsNoID(t *testing.T) {
	for _, pair := range [][2]uint32{{noID, 0}, {0, noID}, {noID, noID}} {
		if extents, err := swapped(pair[0], pair[1]); err == nil {
			t.Errorf("%v gave %v", pair, extents)
		}
	}
}
