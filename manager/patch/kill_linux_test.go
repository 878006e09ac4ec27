package patch

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// atF is what a child does at the path "f".
var atF = map[string]func(s *scene){
	"changes":           func(s *scene) { write(s, s.child("f"), "child's\n") },
	"deletes":           func(s *scene) { s.must(os.Remove(s.child("f"))) },
	"makes a link":      func(s *scene) { s.must(errors.Join(os.Remove(s.child("f")), os.Symlink("g", s.child("f")))) },
	"makes a directory": func(s *scene) { s.must(os.Remove(s.child("f"))); write(s, s.child("f/x"), "child's\n") },
	"adds": func(s *scene) {
		s.must(os.Remove(s.ours("f")))
		s.must(os.RemoveAll(s.workspace))
		s.must(os.Mkdir(s.workspace, 0o755))
		s.copy()
		write(s, s.child("f"), "child's\n")
	},
}

// killing is when a parent saves its file, and when an apply is killed: so many points after its beginning, and on
// through the one that looks at what was left.
type killing struct {
	edits, kills []int
	inPlace      bool // the parent saves into the file that is there
	plain        bool // the file system has neither exchange nor no-replace
}

// parent saves texts in the place "f" and knows which of them it has saved over itself.
type parent struct {
	*scene
	killing
	point int
	live  map[string]bool
}

// killed is what an apply that is killed ends with here: of its own it does nothing more.
type killed struct{}

func (p *parent) at() {
	p.point++
	for _, n := range p.edits {
		if n == p.point {
			p.save(fmt.Sprintf("edit %d of the parent's at point %d\n", len(p.live), n))
		}
	}
	if slices.Contains(p.kills, p.point) {
		panic(killed{})
	}
}

func (p *parent) save(text string) {
	before := p.has(p.ours("f"))
	next := p.dir + "/next"
	write(p, next, text)
	var err error
	if p.inPlace {
		err = os.WriteFile(p.ours("f"), []byte(text), 0o644)
	} else {
		err = os.Rename(next, p.ours("f"))
	}
	if err != nil { // there is a directory
		return
	}
	delete(p.live, before)
	p.live[text] = true
}

func (p *parent) seams() seams {
	s := seams{at: p.at}
	if p.plain {
		s.rename = func(*os.Root, string, string, uint) error { return errNoExchange }
	}
	return s
}

// until runs something to its end or its death.
func (p *parent) until(run func() error) (err error, dead bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, dead = r.(killed); !dead {
				panic(r)
			}
		}
	}()
	return run(), false
}

// beside are the names below a directory that an apply has made beside those of its plan.
func (s *scene) beside(dir string) (names []string) {
	for path := range listing(s, dir) {
		if strings.Contains(filepath.Base(path), "torno-") {
			names = append(names, path[len(dir)+1:])
		}
	}
	return names
}

// nothingIsLost wants each text that the parent has not saved over to be there, and to be told of where it is not in
// its place.
func (p *parent) nothingIsLost(said string) {
	p.Helper()
	all := listing(p, p.origin)
	for text := range p.live {
		found := ""
		for path, content := range all {
			if strings.HasSuffix(content, text) && (found == "" || !strings.Contains(path, "torno-")) {
				found = path
			}
		}
		if found == "" {
			p.Errorf("%+v: %q is lost; there is %q", p.killing, text, all)
		} else if strings.Contains(found, "torno-") && !strings.Contains(said, filepath.Base(found)) {
			p.Errorf("%+v: %q is in %s, and that is not said: %q", p.killing, text, found, said)
		}
	}
}

// tell applies, with all that happens meanwhile, and then as often as a person would. It returns how many points
// there were.
func (k killing) tell(t *testing.T, child func(*scene)) int {
	s := newScene(t, map[string]string{"f": "1\n", "g": "g"})
	child(s)
	p := &parent{scene: s, killing: k, live: map[string]bool{}}
	plan := s.plan()
	plan.to.seams = p.seams()
	err, dead := p.until(func() error { _, err := plan.Apply(t.Context()); return err })
	if !dead {
		p.nothingIsLost(fmt.Sprint(err))
	}
	for err != nil || dead {
		work := s.take(Selection{})
		err, dead = p.until(func() error {
			_, err := work.tidy(t.Context(), s.origin, target{root: s.open(s.origin), own: s.store.own, seams: p.seams()})
			s.must(err)
			return nil
		})
	}
	for range 2 {
		work := s.take(Selection{})
		cut, err := work.Interrupted(t.Context(), s.origin, s.open(s.origin))
		s.must(err)
		p.nothingIsLost(fmt.Sprint(cut))
		if left := s.beside(s.origin); len(left) > 0 && (cut == nil || len(left) != len(cut.Kept)) {
			t.Errorf("%+v: left is %q, and it says %+v", k, left, cut)
		}
		plan, err := work.Plan(t.Context(), s.origin, s.open(s.origin))
		s.must(err)
		if !plan.Fits() && len(k.edits) == 0 {
			t.Errorf("%+v: it does not go on: %+v", k, plan.Conflicts)
		}
		if plan.Fits() {
			_, err := plan.Apply(t.Context())
			s.must(err)
		}
		p.nothingIsLost(fmt.Sprint(cut))
	}
	if left := s.beside(s.origin); len(k.edits) == 0 && len(left) > 0 {
		t.Errorf("%+v: left is %q", k, left)
	}
	return p.point
}

// TestAKillLosesNoEdit kills an apply between any two of its effects, and what looks at the remains too, while the
// parent saves its file in between. Whatever the parent saved is there afterwards, in its place or under a name that
// it is told.
func TestAKillLosesNoEdit(t *testing.T) {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		t.Setenv("TMPDIR", "/dev/shm") // a thousand applies wait long for a disk
	}
	for _, name := range slices.Sorted(maps.Keys(atF)) {
		for _, k := range []killing{{}, {inPlace: true}, {plain: true}, {plain: true, inPlace: true}} {
			if k.inPlace && name != "changes" {
				continue // that what is saved has another inode makes no difference there
			}
			t.Run(fmt.Sprintf("%s, in place %v, plain %v", name, k.inPlace, k.plain), func(t *testing.T) {
				points := k.tell(t, atF[name])
				if points < 2 {
					t.Fatalf("there are %d points", points)
				}
				tried := 0
				for kill := 1; kill <= points; kill++ {
					k.kills, k.edits = []int{kill}, nil
					after := k.tell(t, atF[name]) // points of what looks at it
					for edit := 1; edit <= after; edit++ {
						k.kills, k.edits = []int{kill}, []int{edit}
						last := k.tell(t, atF[name])
						tried++
						for more := max(edit, kill) + 1; more <= last; more++ {
							k.kills, k.edits = []int{kill, more}, []int{edit, more}
							k.tell(t, atF[name])
							tried++
						}
					}
				}
				for edit := 1; edit <= points; edit++ { // nobody is killed
					for second := edit; second <= points+4; second++ {
						k.kills, k.edits = nil, []int{edit, second}
						k.tell(t, atF[name])
						tried++
					}
				}
				t.Logf("%d points, %d ways", points, tried)
			})
		}
	}
}
