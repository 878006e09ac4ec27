package watcher

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"torno/delegation"
	"torno/internal/tree"
	"torno/sandbox/sandboxtest"
)

const gib = 1 << 30

// spacious is a workspace whose file system is written to at a rate, from a moment on.
type spacious struct {
	fakeWorkspace
	free, rate int64
	from       time.Time
}

func (s *spacious) Space() (tree.Space, error) {
	return tree.Space{Dev: s.id.Dev, Bytes: s.free - int64(time.Since(s.from).Seconds()*float64(s.rate)), Files: -1}, nil
}

// onDisk is a run whose workspace is held, and which wrote so much.
func onDisk(held Workspace, written int64) *run {
	r := &run{box: &outbox{log: slog.New(slog.DiscardHandler)}, held: &workspace{Workspace: held, written: written, asked: make(chan chan<- growth)}}
	r.ending, r.stop = context.WithCancelCause(context.Background())
	return r
}

func ended(r *run) bool { return r.Cause() == delegation.ReasonWorkspaceLimit }

// watched runs the loop on a floor of a gibibyte for as long as a test.
func watched(t *testing.T, floor Disk) *disks {
	d := newDisks(floor)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); d.loop(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return d
}

// TestTheFloorIsNotMissedByMuch has a disk fill up as fast as can be, from several distances.
func TestTheFloorIsNotMissedByMuch(t *testing.T) {
	for _, free := range []int64{gib + 1, 2 * gib, 10 * gib, 1000 * gib} {
		synctest.Test(t, func(t *testing.T) {
			d := watched(t, Disk{Floor: gib})
			ws := &spacious{free: free, rate: growthRate, from: time.Now()}
			r := onDisk(ws, 1)
			defer d.join(r)()
			<-r.ending.Done()
			space, _ := ws.Space()
			if over := gib - space.Bytes; over > growthRate/40 || over < 0 {
				t.Errorf("from %d it was missed by %d bytes", free, over)
			}
		})
	}
}

func TestAnIdleDiskIsLookedAtSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisks(Disk{Floor: gib})
		r := onDisk(&spacious{free: 1000 * gib}, 1)
		leave := d.join(r)
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
		d := watched(t, Disk{Floor: gib})
		ws := &fakeWorkspace{space: tree.Space{Bytes: 2 * gib, Files: -1}}
		elsewhere := &fakeWorkspace{id: tree.ID{Dev: 7}, space: tree.Space{Bytes: 2 * gib, Files: -1}}
		little, much, other := onDisk(ws, 5), onDisk(ws, 50), onDisk(elsewhere, 500)
		defer d.join(little)()
		defer d.join(other)()
		leave := d.join(much)
		fall := func(to int64) {
			ws.set(func(f *fakeWorkspace) { f.space.Bytes = to })
			time.Sleep(wideLook)
		}
		fall(gib - 1)
		if !ended(much) || ended(little) || ended(other) {
			t.Fatal("not the one that wrote most was ended")
		}
		if why := much.tooMuch.Load(); why.Code != delegation.CodeDiskFull || !strings.Contains(why.Text, "50 bytes") {
			t.Errorf("it is told %q", why.Text)
		}
		leave()
		fall(gib - gib/32)
		if ended(little) {
			t.Error("the space has stopped falling, and another one was ended")
		}
		fall(gib / 2)
		if !ended(little) {
			t.Error("the space fell on, and nobody was ended")
		}
		if ended(other) {
			t.Error("one on another file system was ended")
		}
	})
}

// TestWhoIsAskedAnswersForItself: what the newest look has seen may be old.
func TestWhoIsAskedAnswersForItself(t *testing.T) {
	d := newDisks(Disk{Floor: gib})
	stale, quick := onDisk(&fakeWorkspace{}, 50), onDisk(&fakeWorkspace{}, 0)
	defer d.join(stale)()
	defer d.join(quick)()
	asked := make(chan struct{})
	go func() {
		close(asked)
		answer := <-quick.held.asked
		answer <- growth{quick, quick.held.note(tree.Usage{Fresh: 100, Seen: tree.Seen{Stopped: true}})}
	}()
	<-asked
	for deadline := time.Now().Add(patience); d.greediest(t.Context(), 0).run != quick; time.Sleep(3 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the answer does not count")
		}
	}
}

func TestFewInodesAreAFloorToo(t *testing.T) {
	floor := Disk{Floor: gib, FloorFiles: 100}
	for files, crossed := range map[int64]bool{99: true, 100: false, -1: false} {
		if s := (tree.Space{Bytes: 2 * gib, Files: files}); floor.crossed(s) != crossed {
			t.Errorf("%d free inodes: crossed is %t", files, !crossed)
		}
	}
	if text := floor.short(tree.Space{Bytes: 2 * gib, Files: 99}); !strings.Contains(text, "99 inodes") {
		t.Error(text)
	}
}

// TestAFullDiskIsSaid to whoever has something running there, for as long as it is full.
func TestAFullDiskIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := waiting(t), watched(t, Disk{Floor: gib})
		disk := &fakeWorkspace{space: tree.Space{Bytes: 2 * gib, Files: -1}}
		r := onDisk(disk, 5)
		r.box.room.hold = w.notices.newHold("here")
		defer d.join(r)()
		for _, c := range []struct {
			free int64
			told bool
		}{{2 * gib, false}, {gib - 1, true}, {2 * gib, false}} {
			disk.set(func(f *fakeWorkspace) { f.space.Bytes = c.free })
			time.Sleep(wideLook + 2*lingers)
			if r.box.room.pass(); tellsOfDisk(w, "here") != c.told || tellsOfDisk(w, "elsewhere") {
				t.Errorf("with %d bytes left: %v", c.free, w.notices.of("here"))
			}
		}
	})
}

func tellsOfDisk(w *Watcher, outbox string) bool {
	return slices.ContainsFunc(w.notices.of(outbox), func(n delegation.Notice) bool { return n.Code == delegation.NoticeDisk })
}

// below gives a desk a disk that is full for the runs that begin while full is set.
func below(ws *fakeWorkspace) func(*Config) {
	return func(c *Config) {
		c.Disk = Disk{Floor: gib}
		c.Workspaces = heldOn(ws)
	}
}

func TestNothingStartsOnAFullDisk(t *testing.T) {
	full := &fakeWorkspace{space: tree.Space{Bytes: gib - 1, Files: -1}}
	d := newDesk(t, below(full))
	a := d.submit(ask{id: "s1", task: "echo"})
	resp := d.response(a)
	d.want(resp, delegation.StatusError, delegation.ReasonRefused, -1)
	if resp.Error == nil || resp.Error.Code != delegation.CodeDiskFull || !strings.Contains(resp.StderrTail, "1 GiB must stay free") {
		t.Errorf("it says %q, %+v", resp.StderrTail, resp.Error)
	}
	if d.world.Calls(sandboxtest.OpCreate) != 0 {
		t.Error("a sandbox was made")
	}
	if !tellsOfDisk(d.watcher, "main") {
		t.Error("nobody is told why")
	}
	full.set(func(f *fakeWorkspace) { f.space.Bytes = gib })
	d.remove("request_s1.json")
	d.eventually("the response is gone", func() bool { return !d.exists("response_s1.json") })
	d.want(d.response(d.submit(ask{id: "s1", request: "again", task: "echo"})), delegation.StatusCompleted, delegation.ReasonExited, 0)
}

func TestARunningRunIsEndedByTheFloor(t *testing.T) {
	disk := &fakeWorkspace{space: tree.Space{Bytes: 2 * gib, Files: -1}}
	d := newDesk(t, below(disk))
	a := d.submit(ask{id: "s1", task: "ignore-term"})
	d.started(a)
	disk.set(func(f *fakeWorkspace) { f.space.Bytes = gib / 2 })
	resp := d.response(a)
	d.want(resp, delegation.StatusError, delegation.ReasonWorkspaceLimit, -1)
	if resp.Error == nil || resp.Error.Code != delegation.CodeDiskFull || !strings.Contains(resp.StderrTail, "512 MiB left") {
		t.Errorf("it says %q, %+v", resp.StderrTail, resp.Error)
	}
}
