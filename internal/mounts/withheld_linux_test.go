package mounts

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"torno/sandbox"
	"torno/test/attack"
)

// machine is a host with a state directory, two outboxes and an engine, on one file system, and with second names for
// them: alias shows all of it once more, and the others parts of it.
type machine struct {
	*testing.T
	dir string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	needRoot(t)
	m := &machine{T: t, dir: t.TempDir()}
	for _, dir := range []string{
		"srv/box/workspaces/s1", "srv/other/workspaces/s1", "srv/free/ws", "var/state/docker", "run/engine", "alias", "names",
	} {
		m.ok(os.MkdirAll(m.at(dir), 0o755))
	}
	for _, file := range []string{"srv/box/request_s1.json", "srv/box/workspaces/note"} {
		m.ok(os.WriteFile(m.at(file), nil, 0o644))
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: m.at("run/engine/s")})
	m.ok(err)
	t.Cleanup(func() { listener.Close() })
	return m
}

func (m *machine) ok(err error) {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
}

func (m *machine) at(rel string) string { return filepath.Join(m.dir, rel) }

// bind gives a place a second name until the test ends.
func (m *machine) bind(from, to string) {
	m.Helper()
	m.ok(os.MkdirAll(m.at(to), 0o755))
	m.ok(unix.Mount(m.at(from), m.at(to), "", unix.MS_BIND, ""))
	m.Cleanup(func() { unix.Unmount(m.at(to), unix.MNT_DETACH) })
}

// open holds bases and keeps what a watcher keeps.
func (m *machine) open(bases ...string) *Bases {
	m.Helper()
	for i := range bases {
		bases[i] = m.at(bases[i])
	}
	b, err := OpenBases(bases)
	m.ok(err)
	m.Cleanup(func() { m.ok(b.Close()) })
	for _, k := range []Withheld{
		{Path: m.at("var/state"), What: "the state", Apart: true},
		{Path: m.at("srv/box"), What: "the outbox", Inside: []string{m.at("srv/box")}},
		{Path: m.at("srv/other"), What: "the other outbox", Inside: []string{m.at("srv/other")}},
		{Path: m.at("run/engine/s"), What: "the engine", Socket: true},
	} {
		m.ok(b.Withhold(k))
	}
	return b
}

// how says how a source is refused; "" is that it is not.
func (m *machine) how(b *Bases, base, rel string) string {
	m.Helper()
	pin, err := b.Pin(sandbox.Source{Base: m.at(base), Rel: rel})
	if err == nil {
		m.ok(pin.Close())
		return ""
	}
	kept, ok := errors.AsType[*WithheldError](err)
	if !ok {
		m.Fatalf("%s in %s: %v", rel, base, err)
	}
	wantKind(m, err, KindWithheld)
	return kept.Error()
}

// secondNames are sources that reach a withheld place by a name that a mount has given it, and the row of each.
var secondNames = []struct{ row, from, base, rel, want string }{
	{"P6", "srv", "names/srv", "box", "it is or holds the outbox"},
	{"P6", "srv", "names/srv", ".", "it is or holds the outbox"},
	{"P6", "srv", "names/srv", "box/workspaces/s1", "it lies in the outbox"},
	{"P6", "srv", "names/srv", "box/request_s1.json", "it lies in the outbox"},
	{"P6", "srv/box", "names/box", ".", "it is or holds the outbox"},
	{"P6", "srv/box/workspaces", "names/ws", "s1", "it lies in the outbox"},
	{"P6", "srv/other/workspaces", "names/theirs", ".", "it lies in the other outbox"},
	{"P7", "var/state", "names/state", ".", "it is or holds the state"},
	{"P7", "var/state", "names/state", "docker", "it lies in the state"},
	{"P7", "var/state/docker", "names/docker", ".", "it lies in the state"},
	{"P7", "var", "names/var", ".", "it is or holds the state"},
	{"P8", "run", "names/run", ".", "it is or holds the engine"},
	{"P8", "run", "names/run", "engine", "it is or holds the engine"},
	{"P8", "run/engine", "names/engine", ".", "it is or holds the engine"},
	{"P16", ".", "alias", ".", "it is or holds the state"},
	{"P16", ".", "alias", "srv", "it is or holds the outbox"},
	{"P16", ".", "alias", "var/state/docker", "it lies in the state"},
}

// TestSecondNames reaches for withheld places through bind mounts. By its path each source lies in a root and in nothing
// that is withheld, which is all that comparing paths can tell; that, and the pin of bases that keep nothing, is the oracle.
func TestSecondNames(t *testing.T) {
	trials := map[string]*attack.Trial{}
	for _, c := range secondNames {
		m := newMachine(t)
		m.bind(c.from, c.base)
		b := m.open(c.base)
		trial := trials[c.row]
		if trial == nil {
			trial = &attack.Trial{Row: c.row, Where: "pin, bind mounts", Oracle: true}
			trials[c.row] = trial
		}
		trial.Tried++
		if got := m.how(b, c.base, c.rel); got == c.want {
			trial.Held++
		} else {
			t.Errorf("%s in %s of %s: %q, want %q", c.rel, c.base, c.from, got, c.want)
		}
		trial.Oracle = trial.Oracle && m.reachable(c.base, c.rel, c.from)
	}
	for _, trial := range trials {
		attack.Record(t, *trial)
	}
}

// reachable says whether a base that keeps nothing gives the very directory or file away.
func (m *machine) reachable(base, rel, from string) bool {
	m.Helper()
	b, err := OpenBases([]string{m.at(base)})
	m.ok(err)
	defer b.Close()
	pin, err := b.Pin(sandbox.Source{Base: m.at(base), Rel: rel})
	m.ok(err)
	defer pin.Close()
	return pin.same(filepath.Join(m.at(from), rel))
}

// TestWhatIsNotWithheld may be used, also by a second name and also beside and inside of a withheld place.
func TestWhatIsNotWithheld(t *testing.T) {
	m := newMachine(t)
	m.bind("srv/free", "names/free")
	m.bind(".", "alias")
	m.ok(os.MkdirAll(m.at("srv/box2/ws"), 0o755)) // a name that begins like that of an outbox
	b := m.open("srv/box", "srv", "names/free", "alias", "run")
	for _, c := range []struct{ base, rel, want string }{
		{"srv/box", "workspaces", ""},
		{"srv/box", "workspaces/s1", ""},
		{"srv/box", "workspaces/note", ""},
		{"srv/box", ".", "it is or holds the outbox"},
		{"srv/box", "request_s1.json", "it is one of the files of the outbox"},
		{"srv", "free/ws", ""},
		{"srv", "box2/ws", ""},
		{"srv", "box/workspaces/s1", "it lies in the outbox"},
		{"names/free", ".", ""},
		{"alias", "srv/free/ws", ""},
		{"run", ".", "it is or holds the engine"},
	} {
		if got := m.how(b, c.base, c.rel); got != c.want {
			t.Errorf("%s in %s: %q, want %q", c.rel, c.base, got, c.want)
		}
	}
}

// TestWithheldPlacesMove: the directory is withheld, and not the place where it was.
func TestWithheldPlacesMove(t *testing.T) {
	m := newMachine(t)
	m.bind("srv", "alias")
	b := m.open("alias")
	m.ok(os.Rename(m.at("srv/other"), m.at("srv/free/ws/moved")))
	for rel, want := range map[string]string{
		"free/ws": "it is or holds the other outbox", "free/ws/moved/workspaces/s1": "it lies in the other outbox",
	} {
		if got := m.how(b, "alias", rel); got != want {
			t.Errorf("%s: %q, want %q", rel, got, want)
		}
	}
	m.ok(os.MkdirAll(m.at("srv/other"), 0o755))
	if got := m.how(b, "alias", "other"); got != "" {
		t.Errorf("the directory that took its place is withheld: %q", got)
	}
}

// TestAnEnginesSocketIsMadeAnew, as by every start of an engine, and may come from another file system.
func TestAnEnginesSocketIsMadeAnew(t *testing.T) {
	m := newMachine(t)
	m.bind("run", "alias")
	b := m.open("alias")
	m.ok(os.Remove(m.at("run/engine/s")))
	if got := m.how(b, "alias", "engine"); got != "it is or holds the engine" {
		t.Errorf("without the socket: %q", got)
	}

	inContainer := m.at("names/docker.sock")
	m.ok(os.WriteFile(inContainer, nil, 0o600))
	tmpfs(t, m.at("srv/free"))
	listener, err := net.Listen("unix", m.at("srv/free/s"))
	m.ok(err)
	defer listener.Close()
	m.ok(unix.Mount(m.at("srv/free/s"), inContainer, "", unix.MS_BIND, ""))
	defer unix.Unmount(inContainer, unix.MNT_DETACH)
	hostRun, err := OpenBases([]string{m.at("srv/free"), m.at("names")})
	m.ok(err)
	defer hostRun.Close()
	m.ok(hostRun.Withhold(Withheld{Path: inContainer, What: "the engine", Socket: true}))
	for _, base := range []string{"srv/free", "names"} {
		if got := m.how(hostRun, base, "."); got != "it is or holds the engine" {
			t.Errorf("%s, which holds the socket that is bound into a container: %q", base, got)
		}
	}
}

// TestWhatIsUnmountedIsWithheld: by another name a source could still reach it.
func TestWhatIsUnmountedIsWithheld(t *testing.T) {
	m := newMachine(t)
	tmpfs(t, m.at("srv/other"))
	m.ok(os.MkdirAll(m.at("srv/other/workspaces"), 0o755))
	m.bind("srv/other", "alias")
	b := m.open("alias")
	m.ok(unix.Unmount(m.at("srv/other"), unix.MNT_DETACH))
	if got := m.how(b, "alias", "workspaces"); got != "it lies in the other outbox" {
		t.Errorf("got %q", got)
	}
}

// TestABaseThatIsMountedAgain is held again if it is the same, and only then.
func TestABaseThatIsMountedAgain(t *testing.T) {
	m := newMachine(t)
	m.bind("srv/free", "names/base")
	b := m.open("names/base")
	source := sandbox.Source{Base: m.at("names/base"), Rel: "ws"}
	m.ok(unix.Unmount(m.at("names/base"), unix.MNT_DETACH))
	_, err := b.Pin(source)
	wantKind(t, err, KindMissing)
	m.bind("srv/box", "names/base")
	m.ok(os.Mkdir(m.at("srv/box/ws"), 0o755))
	_, err = b.Pin(source)
	wantKind(t, err, KindMissing)
	m.bind("srv/free", "names/base")
	pin, err := b.Pin(source)
	m.ok(err)
	defer pin.Close()
	tree, err := pin.Clone(CloneOptions{})
	m.ok(err)
	m.ok(tree.Close())
}

// TestCheckFindsWhatNoTextShows is for the operator's own mistakes.
func TestCheckFindsWhatNoTextShows(t *testing.T) {
	for _, c := range []struct {
		from, base string
		fine       bool
	}{
		{"srv/free", "names/x", true},
		{"srv", "names/x", true}, // each source is looked at
		{"srv/box", "srv/box", true},
		{"var/state", "names/x", false},
		{"var/state/docker", "names/x", false},
		{"var", "names/x", false},
		{"srv/other", "names/x", false},
		{"srv/other/workspaces", "names/x", false},
	} {
		m := newMachine(t)
		if c.from != c.base {
			m.bind(c.from, c.base)
		}
		if err := m.open(c.base).Check(); (err == nil) != c.fine {
			t.Errorf("%s as %s: %v", c.from, c.base, err)
		}
	}
}

// TestABaseMayHoldWhatIsKept and is still asked what its file system can do.
func TestABaseMayHoldWhatIsKept(t *testing.T) {
	m := newMachine(t)
	maps := NewIDMaps()
	defer maps.Close()
	if err := m.open("srv").TryIDMap(m.at("srv"), maps); err != nil {
		t.Error(err)
	}
}

// BenchmarkPinWithheld is what ten withheld places add to a pin.
func BenchmarkPinWithheld(b *testing.B) {
	root := b.TempDir()
	if err := os.Mkdir(filepath.Join(root, "ws"), 0o755); err != nil {
		b.Fatal(err)
	}
	for name, n := range map[string]int{"none": 0, "ten": 10} {
		b.Run(name, func(b *testing.B) {
			bases, err := OpenBases([]string{root})
			if err != nil {
				b.Fatal(err)
			}
			defer bases.Close()
			for range n {
				if err := bases.Withhold(Withheld{Path: b.TempDir(), What: "a place"}); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				pin, err := bases.Pin(sandbox.Source{Base: root, Rel: "ws"})
				if err != nil {
					b.Fatal(err)
				}
				pin.Close()
			}
		})
	}
}
