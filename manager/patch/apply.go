package patch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"syscall"
)

// Fits reports whether the whole plan can be carried out.
func (p *Plan) Fits() bool { return len(p.Conflicts) == 0 && len(p.Refused) == 0 }

// The order of the steps. Steps that make room come first and mere deletions come last, so that a crash leaves too much
// rather than too little.
const (
	makesRoom = iota
	makesDirectory
	writes
	deletes
)

func (s *Step) phase() int {
	switch {
	case s.After == nil && s.early:
		return makesRoom
	case s.After == nil:
		return deletes
	case s.After.Kind == Directory:
		return makesDirectory
	}
	return writes
}

// sort orders the steps: a directory comes before its content, but in deletions after it.
func (p *Plan) sort() {
	slices.SortStableFunc(p.Steps, func(a, b Step) int {
		order := cmp.Compare(a.Change.Path, b.Change.Path)
		if a.After == nil {
			order = -order
		}
		return cmp.Or(cmp.Compare(a.phase(), b.phase()), order)
	})
}

// Apply carries out a plan that fits, and returns how many of its steps were done. It looks at each path once more
// before it writes there. If Apply ends early, a plan made anew in the same way continues where it ended. If the target
// is the directory that was copied, the changes that it took become part of the base, so that later changes of the
// child are compared with them. Any other target leaves the base unchanged, because the copied directory can still take
// these changes.
func (p *Plan) Apply(ctx context.Context) (done int, err error) {
	if !p.Fits() {
		return 0, errors.New("the plan has conflicts or refused changes, so it is not carried out")
	}
	lock, err := p.work.store.lock(p.work.Base.Subagent)
	if err != nil {
		return 0, err
	}
	defer unlock(lock)
	if err := p.work.unchanged(); err != nil {
		return 0, err
	}
	if cut, err := p.work.tidy(ctx, p.path, p.to); err != nil {
		return 0, err
	} else if cut.found() && cut.ID != p.work.told {
		return 0, fmt.Errorf("%w: another apply of it was interrupted meanwhile; look at the files that it left", ErrChanging)
	}
	id := randomName()
	if err := p.begin(id); err != nil {
		return 0, err
	}
	agreed := slices.Clone(p.agreed)
	for i := range p.Steps {
		s := &p.Steps[i]
		if err = p.do(ctx, s, id); err != nil {
			err = fmt.Errorf("write %q: %w", s.Change.Path, err)
			break
		}
		done++
		agreed = append(agreed, s.Change)
	}
	if failed := p.flushAll(done); failed != nil {
		return done, errors.Join(err, failed)
	}
	if isOrigin, failed := p.isOrigin(); failed != nil || !isOrigin {
		err = errors.Join(err, failed)
	} else {
		err = errors.Join(err, p.work.advance(agreed))
	}
	if err == nil {
		err = p.work.store.root.Remove(p.work.markerPath(p.path))
	}
	return done, err
}

// isOrigin reports whether the plan's target is the directory that was copied for the child.
func (p *Plan) isOrigin() (bool, error) {
	place, err := identityOf(p.to.root)
	return err == nil && p.work.Base.OriginPlace.Same(place), err
}

// flushAll makes sure that the finished steps survive a loss of power, before the base records them.
func (p *Plan) flushAll(done int) error {
	flushed := map[string]bool{}
	for i := range p.Steps[:done] {
		dir := path.Dir(p.Steps[i].Change.Path)
		if flushed[dir] {
			continue
		}
		flushed[dir] = true
		if err := p.flush(dir); err != nil {
			return fmt.Errorf("flush %q to the disk: %w", dir, err)
		}
	}
	return nil
}

// do does one step, unless the path has changed since the plan was made.
func (p *Plan) do(ctx context.Context, s *Step, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	at := s.Change.Path
	today, err := p.to.look(ctx, at)
	if err != nil {
		return err
	}
	if !same(today, s.Today) {
		return fmt.Errorf("%w: it has changed since the plan was made", ErrChanging)
	}
	if s.After == nil {
		return p.delete(ctx, s, id)
	}
	if today != nil && (today.Kind == Directory) != (s.After.Kind == Directory) {
		if err := p.to.remove(ctx, at, id, today); err != nil {
			return err
		}
		today = nil
	}
	switch s.After.Kind {
	case Directory:
		return p.to.mkdir(at)
	case Link:
		return p.to.link(ctx, at, s.After.Target, id, over{was: today, after: s.After})
	}
	if today != nil && today.Digest == s.After.Digest {
		return p.to.setExec(at, s.After.Exec)
	}
	from, err := p.work.stage.open(s.After.Digest)
	if err != nil {
		return err
	}
	defer from.Close()
	return p.to.write(ctx, at, from, s.After.Exec, id, over{was: today, after: s.After})
}

// delete deletes an entry. A directory that still holds something stays.
func (p *Plan) delete(ctx context.Context, s *Step, id string) error {
	err := p.to.remove(ctx, s.Change.Path, id, s.Today)
	if s.Today.Kind == Directory && (errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, fs.ErrExist)) {
		return nil
	}
	return err
}

// advance makes the changes that were taken part of the base.
func (w *Work) advance(taken []*Change) (err error) {
	if len(taken) == 0 {
		return nil
	}
	texts, err := w.store.appendTexts(w.Base)
	if err != nil {
		return err
	}
	t := w.Base.tree()
	for _, c := range taken {
		if c.After == nil {
			delete(t, c.Path)
			continue
		}
		t[c.Path] = c.After
		if c.After.Kind == File && w.stage.has(c.After.Digest) {
			data, _, readErr := w.stage.text(c.After.Digest)
			err = errors.Join(err, readErr, texts.add(c.After.Digest, data))
		}
	}
	w.Base.Entries = t.sorted()
	if err = errors.Join(err, texts.close()); err != nil {
		return fmt.Errorf("record the changes that were taken over: %w", err)
	}
	return w.store.save(w.Base)
}
