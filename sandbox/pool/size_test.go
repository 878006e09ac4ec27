package pool_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"torno/sandbox"
	"torno/sandbox/pool"
	"torno/sandbox/sandboxtest"
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

// TestAutoFollowsWhatIsAskedFor: none before a request, as many as there were requests in a minute, one after that, and none when nobody asks.
func TestAutoFollowsWhatIsAskedFor(t *testing.T) {
	pooled(t, pool.Options{Size: pool.Auto, Idle: 10 * time.Minute, Most: 8}, func(s *scene) {
		s.expect(s.spec(""))
		s.later(time.Minute)
		s.ready(0)
		s.Claim("o", s.spec(""))
		s.later(time.Second)
		s.ready(1)
		for range 3 {
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
			s.Claim("o", s.at(i))
		}
		s.later(time.Second)
		if n := len(s.Shelves()); n > 64 {
			t.Errorf("%d shelves", n)
		}
		s.ready(2)
	})
}

// at is a run whose workspace lies below another prefix.
func (s *scene) at(number int) sandbox.Spec {
	spec := s.spec("")
	spec.Mounts[0].Prefix = fmt.Sprint("/p", number)
	spec.Mounts[0].Target = spec.Mounts[0].Prefix + "/w"
	return spec
}

// TestOutboxesShareAPool: an outbox that has asked for everything gives way to another one, down to its share and no further.
func TestOutboxesShareAPool(t *testing.T) {
	pooled(t, pool.Options{Size: pool.Auto, Idle: time.Hour, Most: 4}, func(s *scene) {
		for i := range 12 { // of the first, under two names
			spec := s.spec("")
			spec.Profile = fmt.Sprint("p", i%2)
			s.must(s.Release(s.Context(), s.Claim("greedy", spec)))
		}
		s.later(10 * time.Second)
		s.ready(4)
		for range 3 {
			s.must(s.Release(s.Context(), s.Claim("modest", s.spec(""))))
		}
		s.later(10 * time.Second)
		of := map[string]int{}
		for _, shelf := range s.Shelves() {
			of[shelf.Outbox] += shelf.Ready
		}
		if of["greedy"] != 2 || of["modest"] != 2 {
			t.Errorf("they have %v", of)
		}
		removed := s.world.Calls(sandboxtest.OpRemove)
		s.later(10 * time.Second)
		if more := s.world.Calls(sandboxtest.OpRemove) - removed; more > 0 {
			t.Errorf("%d more were removed when each had its share", more)
		}
	})
}

// TestOutboxesShareTheShelves: a parent that names as many prefixes as are remembered keeps no other outbox from having a sandbox ready, and is left
// its share.
func TestOutboxesShareTheShelves(t *testing.T) {
	pooled(t, pool.Options{Size: pool.Auto, Idle: time.Hour, Most: 4}, func(s *scene) {
		greedy := func() {
			for i := range 100 {
				s.must(s.Release(s.Context(), s.Claim("greedy", s.at(i))))
			}
		}
		greedy()
		s.later(10 * time.Second)
		s.ready(4)
		for i := range 100 {
			s.must(s.Release(s.Context(), s.Claim("modest", s.at(i))))
			greedy()
		}
		s.later(10 * time.Second)
		shelves, ready := map[string]int{}, map[string]int{}
		for _, shelf := range s.Shelves() {
			shelves[shelf.Outbox]++
			ready[shelf.Outbox] += shelf.Ready
		}
		if shelves["modest"] < 31 || shelves["greedy"] < 31 || shelves["modest"]+shelves["greedy"] > 64 {
			t.Errorf("they have %v shelves", shelves)
		}
		if ready["greedy"] != 2 || ready["modest"] != 2 {
			t.Errorf("they have %v ready", ready)
		}
	})
}

// TestAShelfIsClosedWhileItIsFilled: the sandbox that was being made for it is removed, and does not stay without a shelf.
func TestAShelfIsClosedWhileItIsFilled(t *testing.T) {
	pooled(t, pool.Options{Size: pool.Auto, Idle: time.Hour, Most: 4}, func(s *scene) {
		made, goOn := make(chan struct{}), make(chan struct{})
		s.world.Before(sandboxtest.OpStart, func() { close(made); <-goOn })
		s.Claim("greedy", s.at(0))
		<-made
		s.world.Before(sandboxtest.OpStart, nil)
		s.later(time.Second)
		for i := range 63 {
			s.Claim("greedy", s.at(i+1))
		}
		s.Claim("modest", s.at(0)) // closes the shelf that was asked for first
		close(goOn)
		s.later(10 * time.Second)
		s.ready(4)
		if all, err := s.fake.List(s.Context()); err != nil || len(all) != 4 {
			t.Errorf("there are %d sandboxes, %v", len(all), err)
		}
	})
}
