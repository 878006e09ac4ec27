package soak

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"torno/internal/runfile"
	"torno/test/house"
)

// keepers are all that gVisor's sandboxes have: one process beside each.
type keepers struct{}

func newKeepers(testing.TB) power { return keepers{} }

func (keepers) plan() house.Plan { return house.Plan{Sandbox: house.GVisor} }

func (keepers) dirs(s *scene) []string { return []string{s.State} }

func (keepers) putBack(*fate) {}

func (keepers) left(s *scene) (left []string) {
	for _, box := range s.Sandboxes() {
		left = append(left, "the box "+box.ID)
	}
	return append(left, s.Remains()...)
}

// victims are the processes that a deed kills.
var victims = map[deed][]string{
	deedKeeper: {house.Keeper},
	deedSentry: {house.Sentry},
	deedPair:   {house.Keeper, house.Sentry},
	deedOrphan: {house.Keeper},
	deedAll:    {house.Keeper, house.Sentry},
}

// strike kills processes of one sandbox, or of all of them, and perhaps the watcher.
func (k keepers) strike(f *fate, n stroke) {
	struck := k.choose(f, n)
	s := span{deed: n.deed, begin: time.Now()}
	with := n.deed == deedOrphan || n.deed == deedAll
	if with && n.live {
		f.stop(syscall.SIGKILL)
	}
	for _, box := range struck {
		hit := 0
		for _, name := range victims[n.deed] {
			hit += f.Strike(box.ID, name, syscall.SIGKILL)
		}
		if hit > 0 {
			s.sandboxes = append(s.sandboxes, box.Sandbox)
		}
	}
	if len(s.sandboxes) == 0 {
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

// choose picks the sandboxes for a stroke: a sandbox in any state, or every second time a running one, if there soon is one.
func (keepers) choose(f *fate, n stroke) []house.Sandbox {
	all := f.Sandboxes()
	if n.deed == deedAll {
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

// listen reads what the counting keepers have noted. It holds the place that each keeper has reserved for the end, so that no
// end is missed, however soon its box is removed.
func (k keepers) listen(ctx context.Context, s *scene) {
	starts, held := map[string]int{}, map[string]*os.File{}
	next := time.NewTicker(3 * time.Millisecond)
	defer next.Stop()
	for over := false; !over; <-next.C {
		over = ctx.Err() != nil // what has happened by then is seen
		for id, now := range s.Starts() {
			for ; starts[id] < now; starts[id]++ {
				k.saw(s, id, "start", "")
			}
		}
		for id, endFile := range held {
			if k.sawEnd(s, id, endFile) {
				endFile.Close()
				delete(held, id)
			}
		}
		k.hold(s, held)
	}
}

// hold opens the ends that are reserved and not held yet.
func (keepers) hold(s *scene, held map[string]*os.File) {
	ends, err := filepath.Glob(filepath.Join(s.State, house.GVisor, "boxes", "[0-9a-f]*", ".end.json"))
	s.Must(err)
	for _, path := range ends {
		id := filepath.Base(filepath.Dir(path))
		if held[id] != nil {
			continue
		}
		if endFile, err := os.Open(path); err == nil { // else its box was removed, or it has ended
			held[id] = endFile
		}
	}
}

// sawEnd says whether a place has come to what it was for, which its name tells, or was removed.
func (k keepers) sawEnd(s *scene, id string, endFile *os.File) bool {
	name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", endFile.Fd()))
	s.Must(err)
	name, removed := strings.CutSuffix(name, " (deleted)")
	if filepath.Base(name) != "end.json" {
		return removed
	}
	data, err := io.ReadAll(endFile)
	s.Must(err)
	var end struct {
		Started, Asked bool
		Code, Signal   int
		Trouble        string
	}
	s.Must(json.Unmarshal(data, &end))
	_, known := runfile.AgentExit(end.Code)
	if end.Started && end.Trouble == "" && (end.Signal == 0 && known || end.Asked) {
		k.saw(s, id, actionEnded, fmt.Sprint(end.Code))
	} else {
		k.saw(s, id, "broke", fmt.Sprintf("%+v", end))
	}
	return true
}

func (keepers) saw(s *scene, id, action, code string) {
	s.note(func() { s.engine[id] = append(s.engine[id], deedOfEngine{"", action, id, code, time.Now()}) })
}
