package workspace

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"torno/delegation"
	"torno/internal/tree"
)

const gib = 1 << 30

// spacious is a workspace whose file system is written to at a rate, from a moment on.
type spacious struct {
	fakeDir
	free, rate int64
	from       time.Time
}

func (s *spacious) Space() (tree.Space, error) {
	return tree.Space{Dev: s.id.Dev, Bytes: s.free - int64(time.Since(s.from).Seconds()*float64(s.rate)), Files: -1}, nil
}

// worker is a run, as far as its workspace knows it.
type worker struct {
	held    *Held
	ended   context.Context
	end     context.CancelFunc
	why     *delegation.Refusal
	crowded atomic.Int32
}

func (w *worker) EndOver(why *delegation.Refusal) { w.why = why; w.end() }
func (w *worker) Crowded(error)                   { w.crowded.Add(1) }
func (w *worker) IsEnding() bool                  { return w.ended.Err() != nil }

func (w *worker) join(d *Disks) (leave func()) { return d.Join(w.held, w) }

// onDisk is a run whose workspace is held, and which wrote so much.
func onDisk(held Directory, written int64) *worker {
	w := &worker{held: Hold(held, nil)}
	w.held.written = written
	w.ended, w.end = context.WithCancel(context.Background())
	return w
}

// watched runs the loop on a floor of a gibibyte for as long as a test.
func watched(t *testing.T, floor Floor) *Disks {
	d := NewDisks(floor)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); d.Loop(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return d
}

// TestTheFloorIsNotMissedByMuch has a disk fill up as fast as can be, from several distances.
func TestTheFloorIsNotMissedByMuch(t *testing.T) {
	for _, free := range []int64{gib + 1, 2 * gib, 10 * gib, 1000 * gib} {
		synctest.Test(t, func(t *testing.T) {
			d := watched(t, Floor{Bytes: gib})
			ws := &spacious{free: free, rate: growthRate, from: time.Now()}
			r := onDisk(ws, 1)
			defer r.join(d)()
			<-r.ended.Done()
			space, _ := ws.Space()
			if over := gib - space.Bytes; over > growthRate/40 || over < 0 {
				t.Errorf("from %d it was missed by %d bytes", free, over)
			}
		})
	}
}

func TestAnIdleDiskIsLookedAtSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := NewDisks(Floor{Bytes: gib})
		r := onDisk(&spacious{free: 1000 * gib}, 1)
		leave := r.join(d)
		if pause, any := d.look(t.Context()); pause != wideLook || !any {
			t.Errorf("the next look is in %s, %t", pause, any)
		}
		leave()
		if _, any := d.look(t.Context()); any {
			t.Error("nobody runs, and it looks on")
		}
	})
}

func TestTheOneThatWroteMostIsEndedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := watched(t, Floor{Bytes: gib})
		ws := &fakeDir{space: tree.Space{Bytes: 2 * gib, Files: -1}}
		elsewhere := &fakeDir{id: tree.ID{Dev: 7}, space: tree.Space{Bytes: 2 * gib, Files: -1}}
		little, much, other := onDisk(ws, 5), onDisk(ws, 50), onDisk(elsewhere, 500)
		defer little.join(d)()
		defer other.join(d)()
		leave := much.join(d)
		fall := func(to int64) {
			ws.set(func(f *fakeDir) { f.space.Bytes = to })
			time.Sleep(wideLook)
		}
		fall(gib - 1)
		if !much.IsEnding() || little.IsEnding() || other.IsEnding() {
			t.Fatal("not the one that wrote most was ended")
		}
		if why := much.why; why.Code != delegation.CodeDiskFull || !strings.Contains(why.Text, "50 bytes") {
			t.Errorf("it is told %q", why.Text)
		}
		leave()
		fall(gib - gib/32)
		if little.IsEnding() {
			t.Error("the space has stopped falling, and another one was ended")
		}
		fall(gib / 2)
		if !little.IsEnding() {
			t.Error("the space fell on, and nobody was ended")
		}
		if other.IsEnding() {
			t.Error("one on another file system was ended")
		}
	})
}

// TestAQuotaIsItsParentsOwn: a parent fills its own quota again and again, and has written nothing in a run. Another parent's run on the same
// file system has written much, and has room.
func TestAQuotaIsItsParentsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := watched(t, Floor{Bytes: gib})
		full := &fakeDir{space: tree.Space{Bytes: 2 * gib, Files: -1}}
		wide := &fakeDir{space: tree.Space{Bytes: 9 * gib, Files: -1}}
		theirs, others := onDisk(full, 0), []*worker{onDisk(wide, 50), onDisk(wide, 60)}
		defer theirs.join(d)()
		for _, other := range others {
			defer other.join(d)()
		}
		for i := range int64(12) {
			full.set(func(f *fakeDir) { f.space.Bytes = gib/2 - i*gib/32 })
			time.Sleep(wideLook)
		}
		for _, other := range others {
			if other.IsEnding() || other.crowded.Load() > 0 {
				t.Errorf("a run with room is ended: %t, and told %d times that it has none", other.IsEnding(), other.crowded.Load())
			}
		}
		if !theirs.IsEnding() {
			t.Error("nobody was ended, and the space fell")
		}
	})
}

// TestWhoIsAskedAnswersForItself: what the newest look has seen may be old.
func TestWhoIsAskedAnswersForItself(t *testing.T) {
	d := NewDisks(Floor{Bytes: gib})
	stale, quick := onDisk(&fakeDir{}, 50), onDisk(&fakeDir{}, 0)
	defer stale.join(d)()
	defer quick.join(d)()
	asked := make(chan struct{})
	go func() {
		close(asked)
		answer := <-quick.held.asked
		answer <- growth{quick.held, quick.held.note(tree.Usage{Fresh: 100, Seen: tree.Seen{Stopped: true}})}
	}()
	<-asked
	for {
		if most, _ := greediest(t.Context(), d.ownersOf([]*Held{stale.held, quick.held})); most.held == quick.held {
			break // else it was not there to be asked
		}
		runtime.Gosched()
	}
}

func TestFewInodesAreAFloorToo(t *testing.T) {
	floor := Floor{Bytes: gib, Files: 100}
	for files, crossed := range map[int64]bool{99: true, 100: false, -1: false} {
		if s := (tree.Space{Bytes: 2 * gib, Files: files}); floor.crossed(s) != crossed {
			t.Errorf("%d free inodes: crossed is %t", files, !crossed)
		}
	}
	if text := floor.short(tree.Space{Bytes: 2 * gib, Files: 99}); !strings.Contains(text, "99 inodes") {
		t.Error(text)
	}
}

// TestAFullDiskIsSaid to each client that has something running there, again and again for as long as it is full.
func TestAFullDiskIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := watched(t, Floor{Bytes: gib})
		disk := &fakeDir{space: tree.Space{Bytes: 2 * gib, Files: -1}}
		elsewhere := onDisk(&fakeDir{id: tree.ID{Dev: 7}, space: tree.Space{Bytes: 2 * gib, Files: -1}}, 5)
		r := onDisk(disk, 5)
		defer r.join(d)()
		defer elsewhere.join(d)()
		for _, c := range []struct {
			free int64
			told bool
		}{{2 * gib, false}, {gib - 1, true}, {2 * gib, false}} {
			disk.set(func(f *fakeDir) { f.space.Bytes = c.free })
			time.Sleep(2 * wideLook)
			r.crowded.Store(0)
			time.Sleep(time.Second)
			if told := r.crowded.Load() > 10; told != c.told || elsewhere.crowded.Load() > 0 {
				t.Errorf("with %d bytes left it is told %d times, and the other one %d times", c.free, r.crowded.Load(), elsewhere.crowded.Load())
			}
		}
	})
}
