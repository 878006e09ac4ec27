package patch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"
)

// begin says on the disk that the plan is being carried out.
func (p *Plan) begin(id string) error {
	m := Marker{ID: id, Dir: p.path, BeganAt: time.Now().UTC()}
	for i := range p.Steps {
		m.In = append(m.In, path.Dir(p.Steps[i].Change.Path))
	}
	slices.Sort(m.In)
	m.In = slices.Compact(m.In)
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return p.work.store.replace(p.work.Base.Subagent, markerName, data)
}

const markerName = "applying.json"

func (w *Work) markerPath() string { return filepath.Join(w.Base.Subagent, markerName) }

// Marker is left by an apply that did not end.
type Marker struct {
	ID      string    `json:"id"` // of its temporary files
	Dir     string    `json:"dir"`
	In      []string  `json:"in"` // where temporary files may be
	BeganAt time.Time `json:"began_at"`
}

// Interrupted says whether an apply of this child's work to a directory did not end, and removes the temporary file that it
// may have left there. A plan is to be made after that.
func (w *Work) Interrupted(dir string, root *os.Root) (m *Marker, err error) {
	lock, err := w.store.lock(w.Base.Subagent)
	if err != nil {
		return nil, err
	}
	m, err = w.clean(dir, target{root, w.store.own})
	return m, errors.Join(err, lock.Close())
}

// clean removes the temporary file that an apply to a directory has left. The lock must be held: one that is under way writes it.
func (w *Work) clean(dir string, to target) (*Marker, error) {
	m, err := w.marker()
	if err != nil || m == nil || m.Dir != dir {
		return m, err
	}
	for _, in := range m.In {
		if err := to.unlink(path.Join(in, tempName(m.ID))); err != nil && !isAbsent(err) {
			return m, err
		}
	}
	return m, nil
}

// marker reads the marker of the last apply, if that did not end.
func (w *Work) marker() (*Marker, error) {
	data, err := w.store.root.ReadFile(w.markerPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m := &Marker{}
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("read what an earlier apply has left: %w", err)
	}
	return m, nil
}
