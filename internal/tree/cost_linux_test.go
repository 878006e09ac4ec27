package tree

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"torno/test/attack"
)

// deepest makes directories as deep as a walk goes, each with a name as long as names are, and opens the last one.
func (g *ground) deepest(levels int) *os.File {
	g.Helper()
	name := strings.Repeat("d", unix.NAME_MAX)
	at, err := os.Open(g.path)
	g.must(err)
	for range levels {
		g.must(unix.Mkdirat(int(at.Fd()), name, 0o755))
		fd, err := unix.Openat(int(at.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		g.must(err)
		at.Close()
		at = os.NewFile(uintptr(fd), name)
	}
	g.Cleanup(func() { at.Close() })
	return at
}

// longName is one of many names that are as long as names are.
func longName(n int) string {
	number := []byte{'a' + byte(n/26/26/26%26), 'a' + byte(n/26/26%26), 'a' + byte(n/26%26), 'a' + byte(n%26)}
	return string(number) + strings.Repeat("n", unix.NAME_MAX-len(number))
}

// setIDsWithNamesElsewhere fills a directory with set-id files, each with another name outside.
func (g *ground) setIDsWithNamesElsewhere(in *os.File, count int) {
	g.Helper()
	outside, err := os.Open(g.TempDir())
	g.must(err)
	defer outside.Close()
	for i := range count {
		name := longName(i)
		fd, err := unix.Openat(int(in.Fd()), name, unix.O_CREAT|unix.O_WRONLY|unix.O_EXCL, 0o755)
		g.must(err)
		g.must(unix.Fchmod(fd, 0o6755))
		g.must(unix.Close(fd))
		g.must(unix.Linkat(int(in.Fd()), name, int(outside.Fd()), name, 0))
	}
}

// linksOut fills a directory with links that lead out.
func (g *ground) linksOut(in *os.File, count int) {
	g.Helper()
	for i := range count {
		g.must(unix.Symlinkat("/etc/passwd", int(in.Fd()), longName(i)))
	}
}

// cost is what an Inspect has allocated altogether, and what it took of a processor.
func (g *ground) cost(bounds Bounds) (allocated uint64, f Findings) {
	g.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f, err := g.dir.Inspect(context.Background(), bounds)
	runtime.ReadMemStats(&after)
	g.must(err)
	return after.TotalAlloc - before.TotalAlloc, f
}

// keepingPaths is a walk that keeps the whole path of each finding, and is the oracle of what such trees can cost.
func (g *ground) keepingPaths() (allocated uint64) {
	g.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var kept []string
	w := walk{ctx: g.Context(), full: func() bool { return false }}
	w.visit = func(e entry) {
		if e.stat.Mode&unix.S_IFMT == unix.S_IFDIR {
			return
		}
		names := make([]string, 0, len(w.levels))
		for _, l := range w.levels[1:] {
			names = append(names, l.name)
		}
		kept = append(kept, strings.Join(append(names, e.name), "/"))
	}
	_, err := w.run(g.dir)
	g.must(err)
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(kept)
	return after.TotalAlloc - before.TotalAlloc
}

// TestDeepNamesCostLittleMemory: each set-id file with names elsewhere is remembered until the end, and its path can be half
// a megabyte long.
func TestDeepNamesCostLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT SHOWN HERE: -short leaves out what takes long")
	}
	const files, bound = maxSeveral, 8 << 20
	g := newGround(t)
	g.setIDsWithNamesElsewhere(g.deepest(MaxDepth-8), files)
	allocated, f := g.cost(Bounds{})
	held := 0
	if f.SetID.Count == files && allocated < bound {
		held = 1
	}
	for _, name := range f.SetID.Names {
		if len(name) > maxShown {
			t.Errorf("a name of %d bytes is shown", len(name))
		}
	}
	naive := g.keepingPaths()
	t.Logf("found %d, allocated %d KiB; whole paths take %d KiB", f.SetID.Count, allocated>>10, naive>>10)
	attack.Record(t, attack.Trial{Row: "L5", Where: "host", Tried: 1, Held: held, Oracle: naive > 10*bound})
}

// TestDeepFindingsAllocateLittle: a link at the bottom of a deep tree does not have its whole path built.
func TestDeepFindingsAllocateLittle(t *testing.T) {
	const links, each = 200, 2 << 10
	g := newGround(t)
	g.linksOut(g.deepest(MaxDepth-8), links)
	most := uint64(8<<20 + links*each)
	allocated, f := g.cost(Bounds{})
	if f.Links.Count != links || allocated > most {
		t.Errorf("found %d links, allocated %d KiB", f.Links.Count, allocated>>10)
	}
	if naive := g.keepingPaths(); naive < 2*most {
		t.Errorf("whole paths take %d KiB only: the oracle is dead", naive>>10)
	}
}

// TestDeepFindingsCostNoMoreThanOthers: a link at the bottom of a deep tree takes what one at its top takes.
func TestDeepFindingsCostNoMoreThanOthers(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT SHOWN HERE: -short leaves out what takes long")
	}
	const links, each = 2_000, 2 << 10
	shallow, deep := newGround(t), newGround(t)
	shallow.linksOut(shallow.deepest(1), links)
	deep.linksOut(deep.deepest(MaxDepth-8), links)
	_, top := shallow.cost(Bounds{})
	allocated, bottom := deep.cost(Bounds{})
	if top.Links.Count != links || bottom.Links.Count != links {
		t.Fatalf("found %d and %d links", top.Links.Count, bottom.Links.Count)
	}
	held := 0
	if bottom.Cost < 10*top.Cost+50*time.Millisecond && allocated < 8<<20+links*each {
		held = 1
	}
	naive := deep.keepingPathsCost()
	t.Logf("processor: %v at the top, %v at the bottom, %v with whole paths; allocated %d KiB", top.Cost, bottom.Cost, naive, allocated>>10)
	attack.Record(t, attack.Trial{Row: "L6", Where: "host", Tried: 1, Held: held, Oracle: naive > 10*top.Cost+50*time.Millisecond})
}

// keepingPathsCost is what building the path of each finding takes of a processor.
func (g *ground) keepingPathsCost() time.Duration {
	m := newMeter(Bounds{})
	g.must(m.time(func() error { g.keepingPaths(); return nil }))
	return m.Cost
}

// TestWhatIsRememberedIsBounded: files with several names, as many as there may be.
func TestWhatIsRememberedIsBounded(t *testing.T) {
	var before, after runtime.MemStats
	m := newMeter(Bounds{})
	runtime.ReadMemStats(&before)
	for i := range uint64(2 * maxLinked) {
		m.share(&unix.Statx_t{Ino: i, Nlink: 2}, 1)
	}
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; len(m.linked) != maxLinked || allocated > 8<<20 {
		t.Errorf("it remembers %d files, and has allocated %d KiB for them", len(m.linked), allocated>>10)
	}
}

// TestProcessorTimeEndsAWalk, and not the time that passes while others have the processor.
func TestProcessorTimeEndsAWalk(t *testing.T) {
	g := newGround(t)
	for i := range 5_000 {
		g.must(unix.Mknod(filepath.Join(g.path, longName(i)), unix.S_IFIFO|0o644, 0))
	}
	if u := g.measure(Bounds{Processor: 100 * time.Microsecond}); !u.Stopped || u.Entries == 5_000 {
		t.Errorf("it went on: %+v", u)
	}
	if u := g.measure(Bounds{Processor: time.Minute}); u.Stopped || u.Entries != 5_000 {
		t.Errorf("it ended: %+v", u)
	}
}

// TestAHumbleWalkLeavesNoTrace: its low priority goes with its thread.
func TestAHumbleWalkLeavesNoTrace(t *testing.T) {
	g := newGround(t)
	g.write("a/b", 1)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	g.must(err)
	during := 0
	m := newMeter(Bounds{Humble: true})
	g.must(m.time(func() error {
		during, err = unix.Getpriority(unix.PRIO_PROCESS, 0)
		return err
	}))
	after, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	g.must(err)
	if before != after || during >= before { // the system call says 20 minus it
		t.Errorf("20 minus the priority was %d before, %d during the walk and %d after it", before, during, after)
	}
	if u := g.measure(Bounds{Humble: true}); u.Entries != 2 || !u.Whole() {
		t.Errorf("it saw %+v", u)
	}
}
