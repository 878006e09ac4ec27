package tree

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"torno/test/swap"

	"golang.org/x/sys/unix"

	"torno/test/attack"
	"torno/test/wait"
)

// swap exchanges two names until stop is called, as fast as it goes.
func (g *ground) swap(a, b string) (stop func()) {
	return swap.Names(g, [2]string{g.at(a), g.at(b)})
}

// byName clears set-id bits as a careless program does: it looks first and then trusts the name.
func byName(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := os.Lstat(path)
		switch {
		case err != nil:
		case info.IsDir():
			byName(path)
		case info.Mode().IsRegular() && info.Mode()&os.ModeSetuid != 0:
			_ = os.Chmod(path, 0o755)
		}
	}
}

// TestNothingOutsideIsTouched swaps a directory and a set-id file for links that lead out while the bits are cleared. The
// oracle is a walker that goes by names: it reaches outside.
func TestNothingOutsideIsTouched(t *testing.T) {
	g := newGround(t)
	outside := filepath.Join(t.TempDir(), "outside")
	g.must(os.Mkdir(outside, 0o755))
	prize := filepath.Join(outside, "tool")
	g.must(os.WriteFile(prize, nil, 0o755))
	g.write("dir/inner", 1)
	g.write("tool", 1)
	g.must(os.Symlink(outside, g.at("dirlink")))
	g.must(os.Symlink(prize, g.at("toollink")))
	g.swap("dir", "dirlink")
	g.swap("tool", "toollink")

	tries, fell := attack.Times(2000, 50_000), 0
	for range tries {
		g.arm(prize, "dir/tool", "dirlink/tool", "tool", "toollink")
		_, err := g.dir.Inspect(context.Background(), Bounds{Entries: 1000})
		g.must(err)
		if !g.hasSetID(prize) {
			fell++
		}
	}
	oracle := false
	for deadline := time.Now().Add(wait.Patience); !oracle && time.Now().Before(deadline); {
		g.arm(prize, "tool", "toollink")
		byName(g.path)
		oracle = !g.hasSetID(prize)
	}
	attack.Record(t, attack.Trial{Row: "L1", Where: "host", Tried: tries, Held: tries - fell, Oracle: oracle})
}

// arm gives the prize its set-id bits, and the files inside, under whichever name they have now. It must not follow a link.
func (g *ground) arm(prize string, names ...string) {
	g.setID(prize)
	for _, name := range names {
		fd, err := open(unix.AT_FDCWD, g.at(name), unix.O_WRONLY|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, unix.RESOLVE_NO_SYMLINKS)
		if err == nil {
			_ = unix.Fchmod(fd, 0o6755)
			unix.Close(fd)
		}
	}
}

// TestARenameStormEnds: a directory that is always somewhere else can be seen again and again, but not for ever.
func TestARenameStormEnds(t *testing.T) {
	g := newGround(t)
	for _, name := range []string{"a/1", "a/2", "a/3", "b/1"} {
		g.write(name+"/deep/file", 1)
	}
	g.swap("a/1", "b/1")
	g.swap("a/2/deep", "a/3")
	for range attack.Times(500, 20_000) {
		if u := g.measure(Bounds{Entries: 50}); u.Entries > 51 {
			t.Fatalf("it looked at %d entries", u.Entries)
		}
	}
}

// TestADirectoryThatIsMovedUnderTheWalk takes a directory away, with the walk deep below it. What is above is not found
// again from there, and nothing of where it went is looked at.
func TestADirectoryThatIsMovedUnderTheWalk(t *testing.T) {
	g := newGround(t)
	at := "m/"
	for range 2 * maxOpen {
		at += "m/"
	}
	g.write(at+"bottom", 1)
	away := filepath.Join(t.TempDir(), "away")
	g.must(os.MkdirAll(filepath.Join(away, "not ours"), 0o755))
	moved, foreign := false, false
	w := walk{ctx: t.Context(), full: func() bool { return false }, visit: func(e entry) {
		foreign = foreign || e.name == "not ours"
		if e.name == "bottom" {
			g.must(os.Rename(g.at("m/m"), filepath.Join(away, "m")))
			moved = true
		}
	}}
	seen, err := w.run(g.dir)
	g.must(err)
	if !moved || foreign || seen.Missed == 0 || seen.Whole() {
		t.Errorf("moved %t, foreign %t, seen %+v", moved, foreign, seen)
	}
}

// TestAMountIsNotEntered needs the right to mount.
func TestAMountIsNotEntered(t *testing.T) {
	g := newGround(t)
	g.must(os.Mkdir(g.at("mnt"), 0o755))
	if err := unix.Mount("tmpfs", g.at("mnt"), "tmpfs", 0, "size=1m"); err != nil {
		t.Skip("nothing can be mounted here:", err)
	}
	t.Cleanup(func() { g.must(unix.Unmount(g.at("mnt"), 0)) })
	tool := g.write("mnt/tool", 100_000)
	g.setID(tool)
	if f := g.inspect(); f.Entries != 1 || f.Bytes > 50_000 || !g.hasSetID(tool) || !f.Whole() {
		t.Errorf("it went in: %+v", f)
	}
}

func BenchmarkMeasure(b *testing.B) {
	dir := b.TempDir()
	const files = 10_000
	for i := range files {
		name := filepath.Join(dir, string(rune('a'+i%100)), string(rune('a'+i/100)))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("x"), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	f, err := os.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	d, err := Reopen(f)
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	for b.Loop() {
		u, err := d.Measure(context.Background(), Bounds{})
		if err != nil || u.Entries < files {
			b.Fatal(u, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(files+100), "ns/entry")
}
