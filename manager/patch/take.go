package patch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"

	"torno/internal/beneath"
	"torno/internal/inode"
)

// Work is the set of changes that a child made to its base. The changed content is staged, where the child can no
// longer change it.
type Work struct {
	Base    *Base
	Git     int64    // git directories, which are skipped
	Ignored []string // the child's files that git ignores, which are skipped; a directory stands for everything in it
	Answers []string // paths where the child's answers lie, which are skipped
	Changes []Change

	store  *Store
	stage  *stage
	all    tree            // the child's entries, as far as they were selected
	listed map[string]bool // the new files that git has judged; nil if git was not asked
	told   string          // the ID of the marker that Interrupted has reported
}

// Change is one path that differs from the base.
type Change struct {
	Path          string
	Before, After *Entry // nil if there was or is nothing
	Refused       string // why it is not taken over, or ""
	RunsByItself  string // why the parent is asked about it: the program that may run it without being told to; or ""
}

// What returns one word for the change: added, deleted or changed.
func (c *Change) What() string {
	switch {
	case c.Before == nil:
		return "added"
	case c.After == nil:
		return "deleted"
	}
	return "changed"
}

// Entry returns the present entry, or the former one if there is none now.
func (c *Change) Entry() *Entry {
	if c.After != nil {
		return c.After
	}
	return c.Before
}

// Take looks at a child's workspace and stages the changes to the child's base.
func (s *Store) Take(ctx context.Context, id string, workspace *os.Root, pick Selection) (*Work, error) {
	base, err := s.baseOf(id, workspace)
	if err != nil {
		return nil, err
	}
	stage, err := s.newStage()
	if err != nil {
		return nil, err
	}
	w := &Work{Base: base, store: s, stage: stage, all: tree{}}
	if err := w.take(ctx, workspace, pick); err != nil {
		return nil, errors.Join(err, stage.close())
	}
	return w, nil
}

// baseOf reads the base of a child and checks that this is the child's workspace. Another directory at the same path
// was given nothing, and its whole base would count as deleted.
func (s *Store) baseOf(id string, workspace *os.Root) (*Base, error) {
	base, err := s.Base(id)
	if err != nil {
		return nil, err
	}
	is, err := base.isOf(workspace)
	if err != nil {
		return nil, err
	}
	if !is {
		return nil, fmt.Errorf("the workspace of %s is not the copy: %w", id, ErrNoBase)
	}
	return base, nil
}

// Origin opens the directory that was copied.
func (w *Work) Origin() (*os.Root, error) { return w.store.Origin(w.Base) }

// Nowhere returns the paths of a selection where nothing is and nothing was.
func (w *Work) Nowhere(pick Selection) (none []string) {
	known := append(paths(w.Base.tree(), w.all), w.Answers...)
	for _, wanted := range pick.Paths {
		if wanted != "." && !slices.ContainsFunc(known, func(p string) bool { return within(p, wanted) }) {
			none = append(none, wanted)
		}
	}
	return none
}

// Close removes the staged files.
func (w *Work) Close() error { return w.stage.close() }

func (w *Work) take(ctx context.Context, workspace *os.Root, pick Selection) error {
	before := w.Base.tree()
	t := &taking{ctx: ctx, work: w, before: before}
	passBy, err := w.passIgnored(ctx, workspace, pick, before)
	if err != nil {
		return err
	}
	w.Ignored = slices.Sorted(maps.Keys(passBy))
	walk := walk{ctx: ctx, pick: pick, limits: lookLimits, passBy: passBy, visit: t.visit, given: w.Base.Repository}
	if err := walk.run(workspace); err != nil {
		return fmt.Errorf("look at the workspace: %w", err)
	}
	if err := stillThere(w.Base.Place, workspace); err != nil {
		return err
	}
	w.Git = walk.gits
	for _, p := range paths(before, w.all) {
		was, is := before[p], w.all[p]
		if same(was, is) && (is.Fault == "" || is.Kind == Link) || is == nil && (!pick.has(p) || w.refusedAbove(p)) {
			continue
		}
		if was != nil && was.Kind != Directory && w.Base.isAnswer(p) {
			w.Answers = append(w.Answers, p) // init has moved it aside, whatever the child did
			continue
		}
		change := Change{Path: p, Before: was, After: is}
		if is != nil {
			change.Refused = cmp.Or(is.Fault, w.Base.leftOut(p))
		} else if err := stillGone(workspace, p); err != nil {
			return err
		}
		w.Changes = append(w.Changes, change)
	}
	slices.Sort(w.Answers)
	w.Answers = slices.Compact(w.Answers)
	w.refuseTwins(before)
	return w.askFor(ctx)
}

// stillThere makes sure that the workspace had its name after the look at it. A host that removes a workspace renames it
// first, and files that it has removed would count as deleted by the child.
func stillThere(place inode.Directory, workspace *os.Root) error {
	now, err := os.OpenRoot(workspace.Name())
	if err == nil {
		defer now.Close()
		var here inode.Directory
		if here, err = identityOf(now); place.Same(here) {
			return nil
		}
	}
	err = cmp.Or(err, errors.New("another directory has its name"))
	return fmt.Errorf("%w: the workspace was removed meanwhile: %w", ErrChanging, err)
}

// passIgnored finds the files that the child made and that git ignores in the directory that was copied. The parent's
// rules of today decide, not the child's. passIgnored returns only files that no path of the selection names.
func (w *Work) passIgnored(ctx context.Context, workspace *os.Root, pick Selection, before tree) (map[string]bool, error) {
	if !w.Base.Ignoring || pick.Ignored {
		return nil, nil
	}
	origin, err := w.Origin()
	if isAbsent(err) {
		return nil, nil // without the directory there are no rules, and everything is looked at
	}
	if err != nil {
		return nil, fmt.Errorf("%w in %s: %v", ErrRules, w.Base.Origin, err) //nolint:errorlint // this calls for another remedy than the wrapped error
	}
	defer origin.Close()
	var paths []string
	list := walk{ctx: ctx, pick: pick, limits: lookLimits, visit: func(f found) error {
		if before[f.path] == nil && w.Base.leftOut(f.path) == "" && !w.Base.isAnswer(f.path) && (!f.info.IsDir() || f.fault != "") {
			paths = append(paths, f.path)
		}
		return nil
	}}
	if err := list.run(workspace); err != nil {
		return nil, fmt.Errorf("look at the workspace: %w", err)
	}
	w.listed = setOf(paths)
	if len(paths) == 0 {
		return nil, nil
	}
	ignored, _, err := w.store.ignoredIn(ctx, w.Base.Subagent, w.Base.Origin, paths)
	if err != nil {
		return nil, err
	}
	begun, err := w.begunIn(origin)
	if err != nil {
		return nil, err
	}
	for _, p := range begun {
		delete(ignored, p)
	}
	if err := w.nameIgnored(ctx, ignored, pick.Paths, wholly(ignored, paths, before)); err != nil {
		return nil, err
	}
	return wholly(ignored, paths, before), nil
}

// nameIgnored removes the files that the selection names from ignored. A path names a file if it is the file's own
// path. It names all files in a directory only if git ignores the path itself, or if the path or a directory above it
// is reported as skipped.
func (w *Work) nameIgnored(ctx context.Context, ignored map[string]bool, named []string, told map[string]bool) error {
	named = slices.DeleteFunc(slices.Clone(named), func(name string) bool { return name == "." })
	if len(named) == 0 {
		return nil
	}
	whole, _, err := w.store.ignoredIn(ctx, w.Base.Subagent, w.Base.Origin, named)
	if err != nil {
		return err
	}
	for _, name := range named {
		for at := name; at != "."; at = above(at) {
			whole[name] = whole[name] || told[at]
		}
	}
	maps.DeleteFunc(ignored, func(p string, _ bool) bool {
		return slices.ContainsFunc(named, func(name string) bool { return p == name || whole[name] && within(p, name) })
	})
	return nil
}

// refusedAbove reports whether a directory above a path is refused, and so was not searched.
func (w *Work) refusedAbove(p string) bool {
	for at := above(p); at != "."; at = above(at) {
		if e := w.all[at]; e != nil && e.Fault != "" {
			return true
		}
	}
	return false
}

// stillGone makes sure that a file was deleted, and was not just missing from a listing while somebody replaced it.
func stillGone(workspace *os.Root, p string) error {
	dir, err := beneath.Dir(workspace, path.Dir(p))
	if isAbsent(err) || errors.Is(err, fs.ErrPermission) { // an unreadable directory is refused itself
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %q: %w", ErrChanging, p, err)
	}
	defer dir.Close()
	if _, err := dir.Lstat(path.Base(p)); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %q", ErrChanging, p)
	}
	return nil
}

// Why files are not taken over.
const (
	setIDFault   = "it would run with the rights of its owner or group (set-id)"
	linkedFault  = "it has several names (hard links)"
	unreadFault  = "it cannot be read"
	leftOutFault = "the copy left out the parent's file or directory there"
	changedFault = "it was changed while it was copied"

	appearedFault = "it appeared while the directory was looked at"
)

func tooBig(size int64) string { return fmt.Sprintf("it is too big to be taken over (%d bytes)", size) }

// taking is one look at a child's tree.
type taking struct {
	ctx    context.Context
	work   *Work
	before tree
	bytes  int64 // that were read
	staged int64 // that were read and staged
}

func (t *taking) visit(f found) error {
	if t.work.Base.isAnswer(f.path) && !f.info.IsDir() {
		t.work.Answers = append(t.work.Answers, f.path)
		return nil
	}
	e := &Entry{Path: f.path, Kind: Other, Fault: f.fault}
	t.work.all[f.path] = e
	if e.Fault == "" && t.work.listed != nil && !f.info.IsDir() && !t.work.listed[f.path] && t.before[f.path] == nil && t.work.Base.leftOut(f.path) == "" {
		e.Fault = appearedFault
		return nil
	}
	switch mode := f.info.Mode(); {
	case mode.IsDir():
		e.Kind = Directory
		return nil
	case e.Fault != "":
		return nil
	case mode&os.ModeSymlink != 0:
		target, err := f.in.Readlink(f.name)
		if err != nil {
			return t.moved(f, err)
		}
		e.Kind, e.Target, e.Fault = Link, target, linkFault(f.path, target)
		return nil
	case mode.IsRegular():
		e.Kind, e.Exec, e.Size = File, mode&0o111 != 0, f.info.Size()
		return t.file(f, e)
	default:
		e.Fault = "it is " + beneath.Describe(mode)
		return nil
	}
}

// file looks at a file's content, and stages it if it differs from the base.
func (t *taking) file(f found, e *Entry) error {
	if f.info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
		e.Fault = setIDFault
		return nil
	}
	file, _, err := beneath.Open(f.in, f.name, beneath.CheckPlain)
	if err != nil {
		return t.unread(f, e, err)
	}
	defer file.Close()
	if e.Size > t.left() {
		e.Fault = tooBig(e.Size)
		return nil
	}
	was := t.before[f.path]
	if was != nil && was.Kind == File && was.Size == e.Size {
		if e.Digest, e.Size, err = pour(t.ctx, io.Discard, file, t.left()); err != nil {
			return err
		}
		if e.Digest == was.Digest {
			t.bytes += e.Size
			return nil
		}
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
	e.Digest, e.Size, err = t.work.stage.take(t.ctx, file, t.left())
	t.bytes += e.Size
	t.staged += e.Size
	return err
}

// left returns how many more bytes may be read.
func (t *taking) left() int64 { return min(lookLimits.Bytes-t.bytes, maxStaged-t.staged) }

// unread decides whether an unopened file is refused or ends the whole look.
func (t *taking) unread(f found, e *Entry, err error) error {
	if e.Fault = whyUnread(err); e.Fault == changedFault {
		return t.moved(f, err)
	}
	return nil
}

// moved returns the error for a name that has become something else since it was seen.
func (t *taking) moved(f found, err error) error {
	return fmt.Errorf("%w: %q: %w", ErrChanging, f.path, err)
}
