package gvisor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"torno/internal/mounts"
	"torno/sandbox"
	"torno/sandbox/gvisor"
	"torno/sandbox/local"
	"torno/test/attack"
)

// TestNestedContextsAreExchanged: the parent names a directory and another one inside it, and exchanges what lies between
// them for a link while the sandbox starts. No child reads what the link leads to. The oracle gives runsc the path of the
// inner mount, which leads through the parent's directory.
func TestNestedContextsAreExchanged(t *testing.T) {
	n := newNested(t)
	trial := attack.Trial{Row: "M9", Where: where() + ", nested contexts"}
	for range attack.Times(25, 400) {
		fell := n.try(nil)
		trial.Tried++
		if !fell {
			trial.Held++
		}
	}
	starts := n.untilItFalls(&trial)
	trial.Note = fmt.Sprintf("the oracle fell at start %d; %d exchanges", starts, n.exchanges.Load())
	if n.exchanges.Load() < 1000 {
		t.Errorf("only %d exchanges were made: this was no race", n.exchanges.Load())
	}
	attack.Record(t, trial)
}

// TestNestedContextsAreExchangedAhead is the same attack on a sandbox that was there before its request: the mounts arrive while the parent exchanges
// what lies between them. The oracle is that of the other story.
func TestNestedContextsAreExchangedAhead(t *testing.T) {
	n := newNested(t)
	p := &place{T: t, Launcher: n.Launcher, house: n.house, base: n.base}
	if err := p.CanPrepare(); err != nil {
		t.Skip("NOT SHOWN HERE: ", err)
	}
	trial := attack.Trial{Row: "M9", Where: where() + ", nested contexts, ahead"}
	served := 0
	for range attack.Times(25, 400) {
		said := n.arrive(p)
		trial.Tried++
		if !strings.Contains(said, secretOfTheVictim) {
			trial.Held++
		}
		if strings.Contains(said, "mine\n") {
			served++
		}
	}
	n.untilItFalls(&trial)
	trial.Note = fmt.Sprintf("%d children read what was theirs; %d exchanges", served, n.exchanges.Load())
	if n.exchanges.Load() < 1000 || served == 0 {
		t.Errorf("%d exchanges were made, and %d children were served: this was no race", n.exchanges.Load(), served)
	}
	attack.Record(t, trial)
}

// arrive brings the run into a sandbox that holds while the attack goes on, and returns what its child said, "" where it was refused.
func (n *nested) arrive(p *place) string {
	n.t.Helper()
	h, a := p.ready(n.spec)
	defer n.remove(h)
	halt := n.exchange()
	defer halt()
	h, err := p.Furnish(n.t.Context(), h, n.spec)
	if err == nil {
		_, err = p.Attest(n.t.Context(), h)
	}
	if err != nil {
		n.t.Log("it was not released:", err)
		return ""
	}
	said, _ := p.says(a)
	return said
}

// enough are the starts after which an oracle that has not fallen is dead. It falls once in some ten. They are counted, since a clock
// would allow fewer of them the busier the machine is.
const enough = 1000

// untilItFalls starts sandboxes without the defence, until one of them has fallen, and returns how many it took.
func (n *nested) untilItFalls(trial *attack.Trial) (starts int) {
	n.t.Helper()
	for ; !trial.Oracle && starts < enough; starts++ {
		trial.Oracle = n.try(n.nameInnerMounts)
	}
	return starts
}

// nested is a parent with two contexts, one inside the other, and a victim outside of all roots.
type nested struct {
	*house
	*gvisor.Launcher
	t         *testing.T
	base      string
	state     string
	spec      sandbox.Spec
	between   string // the directory that is exchanged
	exchanges atomic.Int64
}

const secretOfTheVictim = "what no child may see"

func newNested(t *testing.T) *nested {
	t.Helper()
	h := newHouse(t)
	base, victim := workshop(t), openDir(t)
	mode := os.FileMode(0o644)
	if os.Geteuid() != 0 {
		mode = 0o600 // the operator's own
	}
	write := func(name, content string, mode os.FileMode) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(content), mode)); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(base, "parent/a/b/sub/canary"), "mine\n", 0o644)
	write(filepath.Join(victim, "sub/canary"), secretOfTheVictim, mode)
	n := &nested{house: h, t: t, base: base, between: filepath.Join(base, "parent/a/b")}
	if err := os.Symlink(victim, n.between+".link"); err != nil {
		t.Fatal(err)
	}
	n.state = h.options(base, "ours").StateDir
	n.Launcher = h.launch(base, "ours")
	n.spec = specOf(base, "", "/bin/cat", "/parent/a/b/sub/canary")
	n.spec.RootFS = sandbox.RootFS{Host: true}
	n.spec.Mounts = append([]sandbox.Mount{
		{Source: sandbox.Source{Base: base, Rel: "parent/a"}, Target: "/parent/a", Prefix: "/parent"},
		{Source: sandbox.Source{Base: base, Rel: "parent/a/b/sub"}, Target: "/parent/a/b/sub", Prefix: "/parent"},
	}, n.spec.Mounts...)
	return n
}

// openDir is a directory of the test's that every user may enter.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "torno-victim-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// try makes a sandbox, starts it while the attack goes on, and says whether the child has read the victim's secret. A sandbox
// that was changed is not attested: the oracle is a sandbox that is not attested.
func (n *nested) try(change func(sandbox.Handle)) (fell bool) {
	n.t.Helper()
	h := n.create()
	defer n.remove(h)
	if change != nil {
		change(h)
	}
	halt := n.exchange()
	defer halt()
	if n.Start(n.t.Context(), h) != nil {
		return false
	}
	a, err := n.Open(n.t.Context(), h, "")
	if err != nil {
		n.t.Fatal(err)
	}
	defer a.Close()
	if change == nil {
		_, err = local.Release(n.t.Context(), n, h, a)
	} else {
		err = errors.Join(a.Release(n.t.Context()), a.Input().Close())
	}
	if err != nil {
		n.t.Log("it was not released:", err)
		return false
	}
	var said strings.Builder
	for chunk := range a.Output() {
		said.Write(chunk.Bytes)
	}
	return strings.Contains(said.String(), secretOfTheVictim)
}

// pauses are calls of the system for which the directory stays in its place.
const pauses = 10

// create makes a sandbox, which is removed after the test, or before.
func (n *nested) create() sandbox.Handle {
	n.t.Helper()
	h, err := n.Create(n.t.Context(), sandbox.NewSandboxID(), n.spec)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { n.remove(h) })
	return h
}

func (n *nested) remove(h sandbox.Handle) {
	n.t.Helper()
	if err := n.Remove(context.WithoutCancel(n.t.Context()), h); err != nil {
		n.t.Error(err)
	}
}

// exchange exchanges the directory for the link and back, over and over, until it is halted.
func (n *nested) exchange() (halt func()) {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for times := 0; ; times++ {
			select {
			case <-stop:
				if times%2 == 0 { // the directory is in its place
					return
				}
			default:
			}
			if err := unix.Renameat2(unix.AT_FDCWD, n.between, unix.AT_FDCWD, n.between+".link", unix.RENAME_EXCHANGE); err != nil {
				n.t.Errorf("the attack stopped: %v", err)
				return
			}
			n.exchanges.Add(1)
			if times%2 == 1 { // the directory is in its place: runsc looks at it more often than the attack needs a link
				for range pauses {
					_, _ = os.Lstat(n.between)
				}
			}
		}
	}()
	return func() {
		close(stop)
		<-done
	}
}

// nameInnerMounts takes the defence away: each mount is named to runsc by itself.
func (n *nested) nameInnerMounts(h sandbox.Handle) {
	n.t.Helper()
	bundle := n.bundle(h)
	bundle.Mounts = slices.DeleteFunc(bundle.Mounts, func(m specs.Mount) bool { return strings.HasPrefix(m.Destination, "/parent") })
	view := filepath.Join(n.state, gvisor.Name, "slots", fmt.Sprint(h.Slot), "view0")
	bind := map[bool]string{true: "bind", false: "rbind"}[os.Geteuid() == 0]
	for _, inner := range []string{"a", "a/b/sub"} {
		bundle.Mounts = append(bundle.Mounts, specs.Mount{
			Destination: "/parent/" + inner, Type: "bind", Source: filepath.Join(view, inner), Options: []string{bind, "nosuid", "nodev", "ro"},
		})
	}
	text, err := json.Marshal(bundle)
	if err == nil {
		err = os.WriteFile(n.config(h), text, 0o600)
	}
	if err != nil {
		n.t.Fatal(err)
	}
}

func (n *nested) config(h sandbox.Handle) string {
	return filepath.Join(n.state, gvisor.Name, "boxes", h.ID, "config.json")
}

// bundle is what runsc is told.
func (n *nested) bundle(h sandbox.Handle) (bundle specs.Spec) {
	n.t.Helper()
	text, err := os.ReadFile(n.config(h))
	if err == nil {
		err = json.Unmarshal(text, &bundle)
	}
	if err != nil {
		n.t.Fatal(err)
	}
	return bundle
}

// TestRunscIsNamedOnlyThePathsOfTheHost: of what a request mounts, runsc is told the views, and no path inside one.
func TestRunscIsNamedOnlyThePathsOfTheHost(t *testing.T) {
	n := newNested(t)
	n.spec.Mounts = append(n.spec.Mounts, sandbox.Mount{
		Source: sandbox.Source{Base: n.base, Rel: "parent/a/canary"}, Target: "/a/file", Prefix: "/a/file",
	})
	if err := os.WriteFile(filepath.Join(n.base, "parent/a/canary"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	h := n.create()
	slot := filepath.Join(n.state, gvisor.Name, "slots", fmt.Sprint(h.Slot))
	want := map[string]string{"/parent": "view0", "/workspace": "view1/self", "/a/file": "view2/self"}
	for _, m := range n.bundle(h).Mounts {
		rel, ok := strings.CutPrefix(m.Source, slot+"/")
		if !ok {
			continue
		}
		if want[m.Destination] != rel {
			t.Errorf("runsc is to mount %s at %s", m.Source, m.Destination)
		}
		delete(want, m.Destination)
	}
	if len(want) > 0 {
		t.Errorf("runsc is not told to mount %v", want)
	}
}

// TestASlotIsLookedAtBeforeTheStart: a nested mount that its parent has moved away is not started.
func TestASlotIsLookedAtBeforeTheStart(t *testing.T) {
	n := newNested(t)
	h := n.create()
	if err := unix.Renameat2(unix.AT_FDCWD, n.between, unix.AT_FDCWD, n.between+".link", unix.RENAME_EXCHANGE); err != nil {
		t.Fatal(err)
	}
	err := n.Start(t.Context(), h)
	if err == nil || os.Geteuid() == 0 && !errors.Is(err, mounts.ErrNotPlaced) {
		t.Errorf("it was started: %v", err)
	}
}
