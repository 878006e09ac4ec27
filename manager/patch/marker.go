package patch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Marker is the record of an apply to a directory. It is still there if the apply did not end.
type Marker struct {
	ID      string     `json:"id"` // keeps the names beside its places apart from others
	Dir     string     `json:"dir"`
	In      []string   `json:"in"`        // directories that may hold its staged files
	Steps   []takenOut `json:"taken_out"` // files that it may have taken out
	BeganAt time.Time  `json:"began_at"`
	// Paths are the changes that the apply takes over. They count even if git ignores them when the apply continues,
	// because the apply itself may write such rules.
	Paths []string `json:"paths"`

	// PutBack are the paths where Interrupted put back a file that the parent had saved during the apply.
	PutBack []Trouble `json:"-"`
	// Kept are files that may be the parent's and cannot go back to their place. They stay.
	Kept []Trouble `json:"-"`
}

// takenOut is a step that takes a file or a link out of its place. Was is the entry that the plan knows there; After is
// the file or the link that replaces it.
type takenOut struct {
	Path  string `json:"path"`
	Was   *Entry `json:"was"`
	After *Entry `json:"after,omitempty"`
}

// begin writes the marker to the disk: from now on the plan is being carried out.
func (p *Plan) begin(id string) error {
	m := Marker{ID: id, Dir: p.path, Steps: []takenOut{}, BeganAt: time.Now().UTC()}
	for _, c := range p.agreed {
		m.Paths = append(m.Paths, c.Path)
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		m.Paths = append(m.Paths, s.Change.Path)
		m.In = append(m.In, path.Dir(s.Change.Path))
		if s.Today == nil || s.Today.Kind == Directory {
			continue
		}
		t := takenOut{Path: s.Change.Path, Was: s.Today, After: s.After}
		if s.After != nil && s.After.Kind == Directory {
			t.After = nil // the directory is made only after the old file is gone
		}
		m.Steps = append(m.Steps, t)
	}
	slices.Sort(m.In)
	m.In = slices.Compact(m.In)
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return p.work.store.replace(p.work.Base.Subagent, markerName(p.path), data)
}

// markerName returns a different name for each directory, so that an apply to one does not overwrite the marker of
// another.
func markerName(dir string) string { return markerPrefix + digestOf([]byte(dir)) + ".json" }

const markerPrefix = "applying-"

func (w *Work) markerPath(dir string) string {
	return filepath.Join(w.Base.Subagent, markerName(dir))
}

// Interrupted reports whether an apply of this child's work to a directory did not end, and cleans up behind it. It
// removes the apply's own files. A file that the parent saved meanwhile goes back, or stays beside its place. Make a
// plan after that.
func (w *Work) Interrupted(ctx context.Context, dir string, root *os.Root) (m *Marker, err error) {
	lock, err := w.store.lock(w.Base.Subagent)
	if err != nil {
		return nil, err
	}
	m, err = w.tidy(ctx, dir, target{root: root, own: w.store.own})
	if m != nil {
		w.told = m.ID
	}
	return m, errors.Join(err, lock.Close())
}

// found reports whether there is something to tell the parent.
func (m *Marker) found() bool { return m != nil && len(m.PutBack)+len(m.Kept) > 0 }

// tidy cleans up behind an apply to a directory. All of its effects are on the disk before another marker takes the
// place of this one. The caller must hold the lock, because a running apply works with these files.
func (w *Work) tidy(ctx context.Context, dir string, to target) (*Marker, error) {
	m, err := w.marker(dir)
	if err != nil || m == nil {
		return m, err
	}
	for _, s := range m.Steps {
		if err := m.tidyStep(ctx, s, to); err != nil && !isAbsent(err) {
			return m, fmt.Errorf("clean up %q after an interrupted apply: %w", s.Path, err)
		}
	}
	for _, in := range m.In {
		if err := to.unlink(path.Join(in, tempName(m.ID))); err != nil && !isAbsent(err) {
			return m, fmt.Errorf("clean up in %q after an interrupted apply: %w", in, err)
		}
		if err := to.flush(in); err != nil {
			return m, err
		}
	}
	return m, nil
}

// tidyStep cleans up behind one step. It removes a file that is known: the apply's own file, or the file that the apply
// has already replaced. Any other file goes back or stays.
func (m *Marker) tidyStep(ctx context.Context, s takenOut, to target) error {
	pl, err := to.place(s.Path, m.ID)
	if err != nil {
		return err
	}
	defer pl.Close()
	out, err := pl.Lstat(pl.out)
	if err != nil {
		return err
	}
	is := func(name string, e *Entry) bool { return stillIs(ctx, pl.Root, name, e) == nil }
	there, err := pl.Lstat(pl.name)
	if err == nil && os.SameFile(out, there) || is(pl.out, s.After) || is(pl.out, s.Was) && is(pl.name, s.After) {
		return pl.Remove(pl.out)
	}
	known := is(pl.out, s.Was)
	err = pl.giveBack(ctx, s.After)
	kept, isKept := errors.AsType[*keptError](err)
	switch {
	case isKept:
		why := fmt.Sprintf("the interrupted apply moved it away from %q, and another file is there now; compare both, then remove one of them", s.Path)
		m.Kept = append(m.Kept, Trouble{path.Join(path.Dir(s.Path), kept.as), why})
		return nil
	case err == nil && !known:
		m.PutBack = append(m.PutBack, Trouble{s.Path, "it was saved while that apply was running"})
	}
	return err
}

// marker reads the marker of the last apply to a directory, if that apply did not end.
func (w *Work) marker(dir string) (*Marker, error) {
	return w.readMarker(w.markerPath(dir))
}

// begunIn returns the paths that unfinished applies take over to a directory, by whatever name they know the directory.
func (w *Work) begunIn(origin *os.Root) (paths []string, err error) {
	place, err := origin.Stat(".")
	if err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(w.store.root.FS(), w.Base.Subagent)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), markerPrefix) {
			continue
		}
		m, err := w.readMarker(filepath.Join(w.Base.Subagent, e.Name()))
		if err != nil {
			return nil, err
		}
		if m == nil {
			continue
		}
		if to, err := os.Stat(m.Dir); err == nil && os.SameFile(to, place) {
			paths = append(paths, m.Paths...)
		}
	}
	return paths, nil
}

func (w *Work) readMarker(path string) (*Marker, error) {
	data, err := w.store.root.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m := &Marker{}
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("read the record of an earlier apply: %w", err)
	}
	return m, nil
}
