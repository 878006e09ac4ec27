package tree

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"torno/test/wait"
)

// ground is a directory that tests fill, and a handle on it.
type ground struct {
	*testing.T
	path string
	dir  *Dir
}

func newGround(t *testing.T) *ground {
	t.Helper()
	g := &ground{T: t, path: filepath.Join(t.TempDir(), "ground")}
	g.must(os.Mkdir(g.path, 0o755))
	g.dir = g.hold(g.path)
	return g
}

func (g *ground) hold(path string) *Dir {
	g.Helper()
	f, err := os.Open(path)
	g.must(err)
	defer f.Close()
	d, err := Reopen(f)
	g.must(err)
	g.Cleanup(func() { d.Close() })
	return d
}

func (g *ground) must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

func (g *ground) at(name string) string { return filepath.Join(g.path, name) }

// write makes a file of so many bytes, and the directories it lies in.
func (g *ground) write(name string, bytes int) string {
	g.Helper()
	g.must(os.MkdirAll(filepath.Dir(g.at(name)), 0o755))
	g.must(os.WriteFile(g.at(name), make([]byte, bytes), 0o644))
	return g.at(name)
}

func (g *ground) measure(b Bounds) Usage {
	g.Helper()
	u, err := g.dir.Measure(context.Background(), b)
	g.must(err)
	return u
}

func (g *ground) inspect(own ...string) Findings {
	g.Helper()
	f, err := g.dir.Inspect(context.Background(), Bounds{}, own...)
	g.must(err)
	return f
}

// allocated is what is there by the file system's own word, each file once.
func (g *ground) allocated() (bytes, entries int64) {
	g.Helper()
	seen := map[uint64]bool{}
	g.must(filepath.WalkDir(g.path, func(path string, _ os.DirEntry, err error) error {
		var st unix.Stat_t
		if err == nil {
			err = unix.Lstat(path, &st)
		}
		if path != g.path {
			entries++
		}
		if !seen[st.Ino] {
			seen[st.Ino], bytes = true, bytes+st.Blocks*blockSize
		}
		return err
	}))
	return bytes, entries
}

// isExact compares a measurement with what is there.
func (g *ground) isExact() {
	g.Helper()
	bytes, entries := g.allocated()
	if u := g.measure(Bounds{}); u.Bytes != bytes || u.Entries != entries || !u.Whole() {
		g.Errorf("measured %+v; there are %d bytes in %d entries", u, bytes, entries)
	}
}

func TestMeasureCountsWhatIsAllocatedOnce(t *testing.T) {
	g := newGround(t)
	g.write("a/one", 100_000)
	g.write("a/b/two", 1)
	g.write("empty", 0)
	g.must(os.Link(g.at("a/one"), g.at("again")))
	g.must(os.Link(g.at("a/one"), g.at("a/b/and again")))
	g.must(os.Truncate(g.write("sparse", 0), 1<<40))
	g.must(os.Symlink("/etc", g.at("link")))
	g.isExact()
	if u := g.measure(Bounds{}); u.Bytes > 1<<20 {
		t.Errorf("a hole was counted: %d", u.Bytes)
	}
}

func TestMeasureSharesWhatItCannotRemember(t *testing.T) {
	g := newGround(t)
	for i := range 8 {
		g.must(os.Link(g.write("first"+string(rune('a'+i)), 64<<10), g.at("second"+string(rune('a'+i)))))
	}
	m := newMeter(Bounds{})
	for i := range uint64(maxLinked) {
		m.linked[ID{0, i}] = true
	}
	w := walk{ctx: t.Context(), visit: func(e entry) { m.count(e.stat) }, full: m.full}
	m.root(g.dir)
	_, err := w.run(g.dir)
	g.must(err)
	if bytes, _ := g.allocated(); m.Bytes != bytes {
		t.Errorf("shares add up to %d of %d", m.Bytes, bytes)
	}
}

// TestMeasureOfADeepTree comes back up through directories that it had to put away.
func TestMeasureOfADeepTree(t *testing.T) {
	g := newGround(t)
	at := ""
	for range 3 * maxOpen {
		g.write(at+"before", 5000)
		g.write(at+"z/behind", 5000)
		at += "m/"
	}
	g.isExact()
}

func TestMeasureOfALongDirectory(t *testing.T) {
	g := newGround(t)
	for i := range 3000 {
		g.write(strings.Repeat("x", 40)+string(rune('a'+i%26))+strings.Repeat("y", i/26), 0)
	}
	g.isExact()
}

func TestDeeperThanAnyPath(t *testing.T) {
	g := newGround(t)
	at, err := os.Open(g.path)
	g.must(err)
	for range MaxDepth + 2 {
		g.must(unix.Mkdirat(int(at.Fd()), "d", 0o755))
		fd, err := unix.Openat(int(at.Fd()), "d", unix.O_RDONLY|unix.O_DIRECTORY, 0)
		g.must(err)
		at.Close()
		at = os.NewFile(uintptr(fd), "d")
	}
	at.Close()
	if u := g.measure(Bounds{}); !u.Deep || u.Entries != MaxDepth+1 {
		t.Errorf("it says %+v", u.Seen)
	}
}

func TestBoundsEndAWalk(t *testing.T) {
	g := newGround(t)
	for _, name := range []string{"a", "b", "c", "d"} {
		g.write(name, 100_000)
	}
	done, cancel := context.WithCancel(context.Background())
	cancel()
	byContext, err := g.dir.Measure(done, Bounds{})
	g.must(err)
	for what, u := range map[string]Usage{
		"entries": g.measure(Bounds{Entries: 2}), "bytes": g.measure(Bounds{Bytes: 150_000}),
		"time": g.measure(Bounds{Time: 1}), "context": byContext,
	} {
		if !u.Stopped || u.Whole() || u.Entries == 4 {
			t.Errorf("%s: %+v", what, u)
		}
	}
	if u := g.measure(Bounds{Entries: 4, Bytes: 1 << 20, Time: time.Minute}); u.Stopped {
		t.Errorf("nothing is exceeded: %+v", u)
	}
}

func TestFreshIsWhatChangedSince(t *testing.T) {
	g := newGround(t)
	g.write("old", 200_000)
	var st unix.Stat_t
	g.must(unix.Lstat(g.at("old"), &st))
	since := time.Unix(st.Ctim.Unix()).Add(1)
	wait.Until(t, "the kernel's clock, which is a coarse one, has moved", func() bool {
		g.write("new", 50_000)
		g.must(unix.Lstat(g.at("new"), &st))
		return !time.Unix(st.Ctim.Unix()).Before(since)
	})
	g.must(os.Chtimes(g.at("new"), time.Unix(0, 0), time.Unix(0, 0))) // as a child may say
	u := g.measure(Bounds{Since: since})
	if u.Fresh < 50_000 || u.Fresh > 150_000 || u.Bytes < 250_000 {
		t.Errorf("measured %+v", u)
	}
}

func TestNothingButDirectoriesIsOpened(t *testing.T) {
	g := newGround(t)
	g.must(unix.Mkfifo(g.at("fifo"), 0o644)) // opened, it would keep us for ever
	g.must(os.Chmod(g.write("secret", 10), 0))
	g.isExact()
}

func TestInspectFindsWhatIsLeft(t *testing.T) {
	g := newGround(t)
	for _, name := range []string{"sub/f1", "f2", "f3", "f4", "f5", "f6", "f7"} {
		g.must(os.MkdirAll(filepath.Dir(g.at(name)), 0o755))
		g.must(unix.Mkfifo(g.at(name), 0o644))
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	g.must(err)
	defer unix.Close(fd)
	g.must(unix.Bind(fd, &unix.SockaddrUnix{Name: g.at("socket")}))
	f := g.inspect()
	if f.FIFOs.Count != 7 || len(f.FIFOs.Names) != maxNames {
		t.Errorf("FIFOs: %+v", f.FIFOs)
	}
	if !slices.Equal(f.Sockets.Names, []string{"socket"}) || f.Devices.Count != 0 || f.Links.Count != 0 {
		t.Errorf("found %+v", f)
	}
	if bytes, entries := g.allocated(); f.Bytes != bytes || f.Entries != entries {
		t.Errorf("it measured %+v", f.Usage)
	}
}

func TestInspectFindsDevices(t *testing.T) {
	g := newGround(t)
	if err := unix.Mknod(g.at("null"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))); err != nil {
		t.Skip("devices cannot be made here:", err)
	}
	if f := g.inspect(); !slices.Equal(f.Devices.Names, []string{"null"}) {
		t.Errorf("found %+v", f.Devices)
	}
}

// TestLinksThatLeadOut has the kernel say what is outside: a link that stays must not be told of, one that leads out must.
func TestLinksThatLeadOut(t *testing.T) {
	g := newGround(t)
	g.write("a/b/file", 1)
	inside := map[string]string{
		"in": "a/b/file", "a/up": "../a/b", "a/b/top": "../..", "dot": ".", "a/b/abs": g.at("a/b/file"), "gone": "a/nothing",
		"viewed": "/workspace/a", "all": "/workspace", "slashes": "a//b/./file",
	}
	outside := map[string]string{
		"etc": "/etc/passwd", "root": "/", "up": "..", "a/over": "../../x", "sibling": g.path + "-other", "back": "a/b/top/../..",
		"viewed-sibling": "/workspaces/x", "a/b/dots": "/workspace/../etc",
	}
	for name, target := range inside {
		g.must(os.Symlink(target, g.at(name)))
	}
	for name, target := range outside {
		g.must(os.Symlink(target, g.at(name)))
	}
	if f := g.inspect("/workspace", g.path); f.Links.Count != int64(len(outside)) {
		t.Errorf("%d links lead out, found %+v", len(outside), f.Links)
	}
	for name, target := range inside {
		g.must(os.Remove(g.at(name)))
		if f := g.inspect("/workspace", g.path); f.Links.Count != int64(len(outside)) {
			t.Errorf("%s -> %s was taken for one that leads out", name, target)
		}
	}
}
