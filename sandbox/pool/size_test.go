package pool_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"torno/sandbox/pool"
)

// TestBounds: a pool that is larger than the memory, or than it may be, has what there is room for, and says so.
func TestBounds(t *testing.T) {
	const gib = 1 << 30
	var free atomic.Int64
	free.Store(8 * gib)
	o := pool.Options{Size: 1000, Idle: time.Hour, Most: 3, Memory: func() (total, now int64) { return 8 * gib, free.Load() }}
	pooled(t, o, func(s *scene) {
		s.expect(s.spec(""))
		s.ready(3)
		s.trouble("all shelves together have 3")
		free.Store(8*gib/4 - 1)
		s.later(2 * time.Second)
		s.ready(3)
		free.Store(8*gib/8 - 1)
		s.later(2 * time.Second)
		s.ready(0)
		s.trouble("memory")
		free.Store(8 * gib)
		s.later(2 * time.Second)
		s.ready(3)
	})
}

// TestAutoFollowsWhatIsAskedFor: one at first, as many as there were requests in a minute, and none when nobody asks.
func TestAutoFollowsWhatIsAskedFor(t *testing.T) {
	pooled(t, pool.Options{Size: pool.Auto, Idle: 10 * time.Minute, Most: 8}, func(s *scene) {
		s.expect(s.spec(""))
		s.ready(1)
		for range 4 {
			s.must(s.Release(s.Context(), s.Claim("o", s.spec(""))))
		}
		s.later(10 * time.Second)
		s.ready(4)
		s.later(2 * time.Minute)
		s.ready(1)
		s.later(10 * time.Minute)
		s.ready(0)
	})
}

// TestANumberStaysOnExpectedShelves, and a shelf that a request has opened is emptied and closed.
func TestANumberStaysOnExpectedShelves(t *testing.T) {
	pooled(t, pool.Options{Size: 1, Idle: time.Minute, Most: 8}, func(s *scene) {
		s.expect(s.spec(""))
		other := s.spec("")
		other.Mounts[0].Prefix, other.Mounts[0].Target = "/srv", "/srv/w"
		s.Claim("o", other)
		s.later(time.Second)
		s.ready(2)
		s.later(time.Hour)
		s.ready(1)
		if shelves := s.Shelves(); len(shelves) != 1 || shelves[0].Prefixes[0] != "/workspace" {
			t.Errorf("the shelves %+v", shelves)
		}
	})
}

// TestAParentThatNamesManyPrefixes opens no more shelves than there may be.
func TestAParentThatNamesManyPrefixes(t *testing.T) {
	pooled(t, pool.Options{Size: pool.Auto, Idle: time.Hour, Most: 2}, func(s *scene) {
		for i := range 1000 {
			spec := s.spec("")
			spec.Mounts[0].Prefix = fmt.Sprint("/p", i)
			spec.Mounts[0].Target = spec.Mounts[0].Prefix + "/w"
			s.Claim("o", spec)
		}
		s.later(time.Second)
		if n := len(s.Shelves()); n > 64 {
			t.Errorf("%d shelves", n)
		}
		s.ready(2)
	})
}
