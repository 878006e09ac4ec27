package patch

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// scene is a parent's directory, its copy in an outbox, and what the parent keeps of it.
type scene struct {
	*testing.T
	dir       string // of all the others
	origin    string
	workspace string
	store     *Store
}

func newScene(t *testing.T, files map[string]string) *scene {
	t.Helper()
	s := &scene{T: t, dir: t.TempDir()}
	s.origin, s.workspace = s.dir+"/origin", s.dir+"/outbox/workspaces/s1"
	s.must(os.MkdirAll(s.origin, 0o755))
	s.must(os.MkdirAll(s.workspace, 0o755))
	for name, text := range files {
		write(t, filepath.Join(s.origin, name), text)
	}
	store, err := OpenStore(s.dir+"/state", s.dir+"/outbox")
	s.must(err)
	t.Cleanup(func() { store.Close() })
	s.store = store
	s.copy()
	return s
}

func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (s *scene) copy() Report {
	s.Helper()
	root := s.open(s.workspace)
	report, err := s.store.Copy(s.Context(), s.origin, Destination{
		Subagent: "s1", Path: s.workspace, Answer: "answer.txt", Root: root, UID: os.Getuid(), GID: os.Getgid(),
	}, How{Limits: DefaultLimits})
	s.must(err)
	return report
}

func (s *scene) open(path string) *os.Root {
	s.Helper()
	root, err := os.OpenRoot(path)
	s.must(err)
	s.Cleanup(func() { root.Close() })
	return root
}

// child is a path in the workspace.
func (s *scene) child(path string) string { return filepath.Join(s.workspace, path) }

// ours is a path in the parent's directory.
func (s *scene) ours(path string) string { return filepath.Join(s.origin, path) }

func (s *scene) take(pick Selection) *Work {
	s.Helper()
	work, err := s.store.Take(s.Context(), "s1", s.open(s.workspace), pick)
	s.must(err)
	s.Cleanup(func() { work.Close() })
	return work
}

func (s *scene) plan() *Plan {
	s.Helper()
	plan, err := s.take(Selection{}).Plan(s.Context(), s.origin, s.open(s.origin))
	s.must(err)
	return plan
}

func (s *scene) apply() {
	s.Helper()
	plan := s.plan()
	if !plan.Fits() {
		s.Fatalf("it does not fit: %+v %+v", plan.Refused, plan.Conflicts)
	}
	done, err := plan.Apply(s.Context())
	s.must(err)
	if done != len(plan.Steps) {
		s.Errorf("%d of %d steps", done, len(plan.Steps))
	}
}

func (s *scene) shown() string {
	s.Helper()
	var out bytes.Buffer
	_, err := s.take(Selection{}).Show(&out)
	s.must(err)
	return out.String()
}

// get copies everything out and returns why what was left out.
func (s *scene) get(to string) map[string]string {
	s.Helper()
	s.must(os.MkdirAll(to, 0o755))
	left := map[string]string{}
	_, err := Get(s.Context(), s.open(s.workspace), Selection{}, Place{Root: s.open(to), Own: s.store.own}, Getting{Replace: true}, func(g Got) error {
		if g.LeftOut != "" {
			left[g.Path] = g.LeftOut
		}
		return nil
	})
	s.must(err)
	return left
}

// listing is every path below a directory with its type, and the content of files.
func listing(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		all[path] = d.Type().String()
		if d.Type().IsRegular() {
			all[path] += read(t, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
