package soak

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"torno/test/house"
)

// keepers are all that gVisor's sandboxes have: one process beside each.
type keepers struct{}

func newKeepers(testing.TB) power { return keepers{} }

func (keepers) plan() house.Plan { return house.Plan{Sandbox: house.GVisor} }

func (keepers) dir(s *scene) string { return s.State }

func (keepers) left(s *scene) (left []string) {
	for _, box := range s.Sandboxes() {
		left = append(left, "the box "+box.ID)
	}
	return append(left, s.Remains()...)
}

// victims are whom a deed kills.
var victims = map[deed][]string{
	deedKeeper: {house.Keeper},
	deedSentry: {house.Sentry},
	deedPair:   {house.Keeper, house.Sentry},
	deedOrphan: {house.Keeper},
	deedPower:  {house.Keeper, house.Sentry},
}

// strike kills processes of one sandbox, or of all of them, and perhaps the watcher.
func (k keepers) strike(f *fate, n stroke) {
	struck := k.choose(f, n)
	s := span{deed: n.deed, begin: time.Now()}
	with := n.deed == deedOrphan || n.deed == deedPower
	if with && n.live {
		f.stop(syscall.SIGKILL)
	}
	hit := 0
	for _, box := range struck {
		for _, name := range victims[n.deed] {
			hit += f.Strike(box.ID, name, syscall.SIGKILL)
		}
		if n.deed != deedPower {
			s.token = f.tokenOf(box.Run)
		}
	}
	if hit == 0 {
		f.done[n.deed+", and there was none"]++
	}
	if with {
		if !n.live {
			f.stop(syscall.SIGKILL)
		}
		<-time.After(n.down)
		f.rise(n)
	}
	f.felt(s)
}

// choose is whom a stroke is for: a sandbox in whatever state, or every second time one that runs, if there soon is one.
func (keepers) choose(f *fate, n stroke) []house.Sandbox {
	all := f.Sandboxes()
	if n.deed == deedPower {
		return all
	}
	idle := func(s house.Sandbox) bool { return n.pass%2 == 0 && !s.Running }
	all = slices.DeleteFunc(all, idle)
	for deadline := time.Now().Add(2 * time.Second); len(all) == 0 && time.Now().Before(deadline); time.Sleep(3 * time.Millisecond) {
		all = slices.DeleteFunc(f.Sandboxes(), idle)
	}
	if len(all) == 0 {
		return nil
	}
	which := n.which % len(all)
	return all[which : which+1]
}

// listen reads what the counting keepers have noted, and the ends in boxes as long as those are there.
func (k keepers) listen(ctx context.Context, s *scene) {
	known, starts := map[string]bool{}, map[string]int{}
	next := time.NewTicker(3 * time.Millisecond)
	defer next.Stop()
	for ; ctx.Err() == nil; <-next.C {
		for key, now := range s.Starts() {
			for ; starts[key] < now; starts[key]++ {
				k.saw(s, key, "start", "")
			}
		}
		ends, err := filepath.Glob(filepath.Join(s.State, house.GVisor, "boxes", "*", "end.json"))
		s.Must(err)
		for _, path := range ends {
			if key := filepath.Base(filepath.Dir(path)); !known[key] {
				known[key] = k.sawEnd(s, key, path)
			}
		}
	}
}

// sawEnd says whether it has read how a sandbox ended. One that was never started has not.
func (k keepers) sawEnd(s *scene, key, path string) bool {
	data, err := os.ReadFile(path)
	if err != nil {
		return false // its box was removed
	}
	var end struct {
		Started      bool
		Code, Signal int
		Trouble      string
	}
	s.Must(json.Unmarshal(data, &end))
	switch {
	case !end.Started || end.Signal != 0 || end.Trouble != "":
		k.saw(s, key, "broke", fmt.Sprintf("%+v", end))
	default:
		k.saw(s, key, actionEnded, fmt.Sprint(end.Code))
	}
	return true
}

func (keepers) saw(s *scene, key, action, code string) {
	s.note(func() { s.engine[key] = append(s.engine[key], deedOfEngine{action, key, code, time.Now()}) })
}
