package patch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const appliesIn = "TORNO_TEST_APPLIES_IN"

// TestMain is an apply as well: a process of its own, which can be killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv(appliesIn); dir != "" {
		if err := applyIn(context.Background(), dir); err != nil && !errors.Is(err, ErrChanging) {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// applyIn applies the work of a scene. At each point it writes a byte and waits for one.
func applyIn(ctx context.Context, dir string) error {
	store, err := OpenStore(dir+"/state", dir+"/outbox")
	if err != nil {
		return err
	}
	workspace, err := os.OpenRoot(dir + "/outbox/workspaces/s1")
	if err != nil {
		return err
	}
	origin, err := os.OpenRoot(dir + "/origin")
	if err != nil {
		return err
	}
	work, err := store.Take(ctx, "s1", workspace, Selection{})
	if err != nil {
		return err
	}
	plan, err := work.Plan(ctx, dir+"/origin", origin)
	if err != nil {
		return err
	}
	plan.to.at = func() {
		one := []byte{'.'}
		_, err := os.Stdout.Write(one)
		if err == nil {
			_, err = os.Stdin.Read(one)
		}
		if err != nil {
			panic(err)
		}
	}
	_, err = plan.Apply(ctx)
	return err
}

// editor saves its files as editors do, but exchanges: so it knows what it has saved over.
type editor struct {
	*scene
	names []string
	saved int
	live  map[string]string // a name by the text that was saved there last
}

// saveAll saves each of its files once.
func (e *editor) saveAll() {
	for _, name := range e.names {
		e.saved++
		text, next := fmt.Sprintf("edit %d\n", e.saved), e.dir+"/next"
		_ = os.Remove(next) // what came out may be a link
		if err := os.WriteFile(next, []byte(text), 0o644); err != nil {
			panic(err)
		}
		for {
			err := unix.Renameat2(unix.AT_FDCWD, next, unix.AT_FDCWD, e.ours(name), unix.RENAME_EXCHANGE)
			if errors.Is(err, unix.ENOENT) {
				err = unix.Renameat2(unix.AT_FDCWD, next, unix.AT_FDCWD, e.ours(name), unix.RENAME_NOREPLACE)
			} else if err == nil {
				delete(e.live, e.has(next))
			}
			if err == nil {
				break
			}
			if !errors.Is(err, unix.EEXIST) { // there was nothing, and now there is something
				panic(err)
			}
		}
		e.live[text] = name
	}
}

// kill runs an apply up to a point, before which the editor saves, and kills it there or while the editor saves on.
// It returns false when the apply has fewer points. An apply may end by itself, for the editor has saved.
func (e *editor) kill(point int, there bool) bool {
	e.Helper()
	apply := exec.CommandContext(e.Context(), os.Args[0])
	apply.Env = append(os.Environ(), appliesIn+"="+e.dir)
	apply.Stderr = os.Stderr
	points, err := apply.StdoutPipe()
	e.must(err)
	acks, err := apply.StdinPipe()
	e.must(err)
	e.must(apply.Start())
	in := bufio.NewReader(points)
	for n := 1; ; n++ {
		if _, err := in.ReadByte(); err != nil {
			e.must(apply.Wait())
			return n >= point // else there is no such point
		}
		if n+1 == point {
			e.saveAll()
		}
		if n == point {
			break
		}
		_, err := acks.Write([]byte{'.'})
		e.must(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.saveAll()
	}()
	if !there { // it goes on until the editor has saved
		go func() {
			for err := error(nil); err == nil; _, err = in.ReadByte() {
				_, _ = acks.Write([]byte{'.'}) // it may be dead by then
			}
		}()
	}
	<-done
	e.must(apply.Process.Kill())
	_ = apply.Wait() // it says that it was killed, if it was
	return true
}

// TestAKilledProcessLosesNoEdit kills a process that applies, at its points and between them, while an editor saves.
// The edits are counted.
func TestAKilledProcessLosesNoEdit(t *testing.T) {
	edits, found := 0, 0
	for point, came := 1, true; came; point++ {
		s := newScene(t, map[string]string{"a": "1", "b": "2", "c": "3", "d/e": "4"})
		write(t, s.child("a"), "child's")
		s.must(os.Remove(s.child("b")))
		s.must(errors.Join(os.Remove(s.child("c")), os.Symlink("a", s.child("c"))))
		write(t, s.child("d/e"), "child's")
		e := &editor{scene: s, names: []string{"a", "b", "c", "d/e"}, live: map[string]string{}}
		came = e.kill(point, point%2 == 0)
		cut, err := s.take(Selection{}).Interrupted(t.Context(), s.origin, s.open(s.origin))
		s.must(err)
		if cut.found() {
			found++
		}
		edits += e.saved
		e.allAreThere(cut)
	}
	t.Logf("%d edits; %d times something was found", edits, found)
	if found == 0 {
		t.Error("nothing was at stake")
	}
}

// allAreThere looks for each edit that the editor has not saved over itself.
func (e *editor) allAreThere(cut *Marker) {
	e.Helper()
	all := listing(e, e.origin)
	for text, name := range e.live {
		found := e.has(e.ours(name)) == text
		for path, content := range all {
			kept := strings.HasSuffix(content, text) && strings.Contains(path, ".torno-kept-")
			found = found || kept && strings.Contains(fmt.Sprint(cut), filepath.Base(path))
		}
		if !found {
			e.Errorf("%q of %s is lost: there is %q, and it says %+v", text, name, all, cut)
		}
	}
}
