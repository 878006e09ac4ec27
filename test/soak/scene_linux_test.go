package soak

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"torno/test/house"
)

// scene is a round under way: a house with three parents, and what was seen of them.
type scene struct {
	*house.House
	second *house.House // of another installation, with the same outboxes, on gVisor; nil where there is none
	power  power
	common string                  // a root of all of them
	boxes  map[string]*house.House // each parent's view

	moving sync.Mutex              // held while an outbox is moved, and while a client does one thing: what it wrote is in one directory
	held   map[string]*house.House // where an outbox is that is not at its path; guarded by moving

	mu sync.Mutex // guards what follows
	history
	in    map[subject]*ask // the request that lies in the outbox
	count int
	odd   []string // findings that belong to no request
}

// noPool and pool are what the configuration says of sandboxes that are made ahead of runs.
const (
	noPool = "pool: {size: off}"
	pool   = "pool: {size: 2}"
)

func newScene(t *testing.T, power power) *scene {
	s := &scene{power: power, in: map[subject]*ask{}, boxes: map[string]*house.House{}, held: map[string]*house.House{}}
	common := filepath.Join(t.TempDir(), "common")
	plan := power.plan()
	plan.Top = noPool
	plan.Later, plan.Allow, plan.Dirs = true, []string{common}, []string{common}
	plan.Offers, plan.Extra = ", again, extra", "    queue: 100\n    busy: refuse"
	plan.Profiles = "  again:\n    attempts: 2\n    timeout: {default: 2m, min: 1s, max: 5m}\n  extra:\n    timeout: {default: 30s, min: 1s, max: 5m}\n"
	beside := t.TempDir()
	for _, name := range outboxes[1:] {
		dir := filepath.Join(beside, name)
		queue := 100
		if name == queueShort {
			queue = 2
		}
		plan.Extra += fmt.Sprintf("\n  %[1]s:\n    dir: %[2]s\n    allow: [%[2]s/workspaces, %[3]s]\n    profiles: [sh, again, extra]\n    queue: %[4]d\n    busy: queue",
			name, dir, common, queue)
		plan.Dirs = append(plan.Dirs, filepath.Join(dir, "workspaces"))
	}
	s.House = house.New(t, plan)
	s.boxes["main"] = s.House
	for _, name := range outboxes[1:] {
		s.boxes[name] = s.Beside(filepath.Join(beside, name))
	}
	s.common = common
	if house.HasGVisor() {
		plan.Sandbox, plan.Host, plan.Engine, plan.Outbox, plan.Enter = house.GVisor, "", nil, s.Outbox, house.OwnRuntime
		s.second = house.New(t, plan)
	}
	return s
}

// note changes what is known.
func (s *scene) note(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// lying is the request that lies in the outbox for a subagent, nil for none.
func (s *scene) lying(who subject) *ask {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.in[who]
}

func (s *scene) answered(a *ask) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(a.answers) > 0
}

func (s *scene) next() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	return s.count
}
