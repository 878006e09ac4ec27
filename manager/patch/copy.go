package patch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"torno/internal/beneath"
)

// Destination is the new, empty workspace that Copy fills. Copy writes through Root, because the client may move the
// workspace to Path later.
type Destination struct {
	Subagent string
	Path     string // as the parent and the child's record see it
	Answer   string // where in the workspace the answer will be
	Root     *os.Root
	UID, GID int // the owner of everything in it, if we may give files away
}

// Report says what Copy did.
type Report struct {
	Files, Bytes int64
	Cloned       int64 // files that share their blocks with the originals
	Git          int64 // git directories, which are left out
	Repository   Repository
	Ignored      []string // paths that git ignores, which are left out; a directory stands for everything in it
	Left         []LeftOut
	LeftCount    int64
}

// LeftOut is something that was not copied.
type LeftOut struct{ Path, Why string }

// maxLeft is the number of left-out entries that a report names.
const maxLeft = 20

func (r *Report) leave(path, why string) {
	if r.LeftCount++; len(r.Left) < maxLeft {
		r.Left = append(r.Left, LeftOut{path, why})
	}
}

// copying is one Copy.
type copying struct {
	ctx    context.Context
	to     Destination
	limits Limits
	passBy map[string]bool // paths that git ignores
	listed map[string]bool // the files that git has judged; nil if git was not asked
	base   *Base
	texts  *texts
	only   bool         // existing files are recorded, and not copied
	head   bytes.Buffer // the beginning of the file that is being copied
	report Report
}

// Copy fills a workspace with a copy of a directory and keeps a record of it as the child's base. If the directory is
// the top of a git work tree, the copy gets a repository of its own. Copy leaves out everything that git ignores, git
// directories, links that lead out of the directory, and everything but files, directories and links. It drops set-id
// bits. If the file system can, a copy shares its blocks with the original. Copy refuses a directory that has something
// in the place of the child's answer, because the answer would take its place.
func (s *Store) Copy(ctx context.Context, origin string, to Destination, how How) (Report, error) {
	from, err := OpenDirectory(s.outbox, origin)
	if err != nil {
		return Report{}, fmt.Errorf("open the directory to copy: %w", err)
	}
	defer from.Close()
	if err := errors.Join(s.Prune(), s.Drop(to.Subagent), s.root.Mkdir(to.Subagent, 0o700)); err != nil {
		return Report{}, fmt.Errorf("make a place for the record of the copy: %w", err)
	}
	c := &copying{ctx: ctx, to: to, limits: how.Limits, base: &Base{
		Version: baseVersion, Subagent: to.Subagent, Outbox: s.outbox, Origin: origin, Workspace: to.Path, Answer: to.Answer, MadeAt: time.Now().UTC(),
	}}
	if c.base.Place, err = identityOf(to.Root); err == nil {
		c.base.OriginPlace, err = identityOf(from)
	}
	if err == nil && !how.Ignored {
		err = c.passIgnored(s, from)
	}
	if err == nil {
		err = c.run(s, from)
	}
	if err == nil {
		c.report.Repository = c.giveRepository(s, origin, how.History)
		c.base.Repository = c.report.Repository.Branch != ""
		err = c.ctx.Err()
	}
	if err == nil {
		err = s.save(c.base)
	}
	if err != nil {
		return c.report, errors.Join(fmt.Errorf("copy %s: %w", origin, err), s.Drop(to.Subagent))
	}
	return c.report, nil
}

func (c *copying) run(s *Store, from *os.Root) (err error) {
	w := walk{ctx: c.ctx, limits: c.limits, passBy: c.passBy, visit: c.visit, leftOut: c.leftOut}
	if w.leaveOut, err = c.ours(s); err != nil {
		return err
	}
	if whole, err := from.Stat("."); err != nil || w.leaveOut.has(whole) {
		return errors.Join(err, errors.New("it is one of the client's own directories"))
	}
	if names, err := (target{root: from}).names("."); err != nil || isRepository(names) {
		return errors.Join(err, errors.New("it is a git directory"))
	}
	if c.texts, err = s.appendTexts(c.base); err != nil {
		return err
	}
	err = errors.Join(w.run(from), c.texts.close())
	c.report.Git = w.gits
	return err
}

// passIgnored asks git which files it ignores in the directory, so that the copy leaves them out. If git ignores the
// whole directory, the copy gets all of it, because the parent named it.
func (c *copying) passIgnored(s *Store, from *os.Root) error {
	var paths []string
	w := walk{ctx: c.ctx, limits: Limits{Files: max(lookLimits.Files, c.limits.Files)}, leftOut: func(string) {}, visit: func(f found) error {
		if !f.info.IsDir() || f.fault != "" {
			paths = append(paths, f.path)
		}
		return nil
	}}
	var err error
	if w.leaveOut, err = c.ours(s); err != nil {
		return err
	}
	if err := w.run(from); err != nil {
		return err
	}
	ignored, hasRules, err := s.ignoredIn(c.ctx, c.to.Subagent, c.base.Origin, paths)
	if err != nil || !hasRules {
		return err
	}
	c.passBy, c.base.Ignoring = wholly(ignored, paths, nil), true
	c.listed = setOf(paths)
	c.report.Ignored = slices.Sorted(maps.Keys(c.passBy))
	return nil
}

// Note records what the host gave a child. from is the host's unchanged copy of that, and to is the child's workspace.
// A file that exceeds the remaining bytes is not read; it counts as left out of the copy.
func (s *Store) Note(ctx context.Context, from *os.Root, origin string, to Destination, limits Limits) error {
	at, err := OpenDirectory(s.outbox, origin)
	if err != nil {
		return fmt.Errorf("open the copied directory: %w", err)
	}
	defer at.Close()
	if err := errors.Join(s.Drop(to.Subagent), s.root.Mkdir(to.Subagent, 0o700)); err != nil {
		return fmt.Errorf("make a place for the record of the copy: %w", err)
	}
	c := &copying{ctx: ctx, to: to, limits: limits, only: true, base: &Base{
		Version: baseVersion, Subagent: to.Subagent, Outbox: s.outbox, Origin: origin, Workspace: to.Path, Answer: to.Answer,
	}}
	if c.base.Place, err = identityOf(to.Root); err == nil {
		c.base.OriginPlace, err = identityOf(at)
	}
	if err == nil {
		err = c.run(s, from)
	}
	if err == nil {
		err = s.save(c.base)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("record the files that %s was given: %w", to.Subagent, err), s.Drop(to.Subagent))
	}
	return nil
}

// Given tells what a host gave its children. A manager.Manager implements it.
type Given interface {
	OpenBase(id string) (*os.Root, error)
	OriginOf(id string) string
	AnswerOf(id string) string
}

// NoteGiven records what the host put into a child's workspace. It does nothing if the store has that record already.
// Call it early, because the host may remove its own copy. If several clients call it at once, one writes the record.
func (s *Store) NoteGiven(ctx context.Context, host Given, id, path string, workspace *os.Root) error {
	if noted, _ := s.hasNoted(id, path, workspace); noted { // it also fails while another client writes the record
		return nil
	}
	lock, err := s.lockNotes(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	if noted, err := s.hasNoted(id, path, workspace); noted || err != nil {
		return err
	}
	given, err := host.OpenBase(id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the client made the copy, or there is none
	}
	if err != nil {
		return err
	}
	defer given.Close()
	origin := host.OriginOf(id)
	if origin == "" {
		return fmt.Errorf("it is not known any more which directory was copied for %s: %w", id, ErrNoBase)
	}
	if same, err := s.isDirectory(origin, workspace); same || err != nil {
		return err // the child works in the parent's own directory; a record that is there describes the child's copy
	}
	return s.Note(ctx, given, origin, Destination{Subagent: id, Path: path, Answer: host.AnswerOf(id), Root: workspace}, NoteLimits)
}

// isDirectory reports whether an open directory is the one at a path.
func (s *Store) isDirectory(path string, dir *os.Root) (bool, error) {
	at, err := OpenDirectory(s.outbox, path)
	if err != nil {
		return false, fmt.Errorf("open the copied directory: %w", err)
	}
	defer at.Close()
	there, err := identityOf(at)
	if err != nil {
		return false, err
	}
	here, err := identityOf(dir)
	return err == nil && there.Same(here), err
}

// hasNoted reports whether the store already has the record of this workspace. If hasNoted cannot read the record, it
// returns an error. Then the caller must keep the record: it may tell which changes an apply has taken over.
func (s *Store) hasNoted(id, path string, workspace *os.Root) (bool, error) {
	base, err := s.Base(id)
	if errors.Is(err, ErrNoBase) {
		return false, nil
	}
	if err != nil || base.Workspace != path {
		return false, err
	}
	return base.isOf(workspace)
}

// ours returns the directories that a copy does not enter: otherwise the copy would never end, or would contain private
// files of the client.
func (c *copying) ours(s *Store) (Own, error) {
	workspace, err := c.to.Root.Stat(".")
	return append(slices.Clone(s.own), workspace), err
}

// leave leaves an entry out and says so in the report.
func (c *copying) leave(path, why string) {
	c.report.leave(path, why)
	c.leftOut(path)
}

// leftOut records that an entry was left out, so that a child's entry in its place does not count as a change of it.
func (c *copying) leftOut(path string) { c.base.LeftOut = append(c.base.LeftOut, path) }

func (c *copying) visit(f found) error {
	if !c.only && isAnswerOf(fold(f.path), fold(c.to.Answer)) {
		return answerThere(f.path)
	}
	fault := f.fault
	if fault == "" && c.listed != nil && !f.info.IsDir() && !c.listed[f.path] {
		fault = appearedFault
	}
	if fault != "" {
		c.leave(f.path, fault)
		return nil
	}
	e := Entry{Path: f.path}
	var err error
	switch mode := f.info.Mode(); {
	case mode.IsDir():
		e.Kind = Directory
		err = c.directory(f)
	case mode.IsRegular():
		e.Kind = File
		err = c.file(f, &e)
	case mode&os.ModeSymlink != 0:
		e.Kind = Link
		err = c.link(f, &e)
	default:
		err = &leftError{"it is " + beneath.Describe(mode)}
	}
	if left, ok := errors.AsType[*leftError](err); ok {
		c.leave(f.path, left.why)
		return nil
	}
	if err != nil {
		return fmt.Errorf("%q: %w", f.path, err)
	}
	c.base.Entries = append(c.base.Entries, e)
	return nil
}

// leftError says why an entry is left out of a copy.
type leftError struct{ why string }

func (e *leftError) Error() string { return e.why }

func (c *copying) directory(f found) error {
	if c.only {
		return nil
	}
	perm := f.info.Mode().Perm() | 0o700
	if err := c.to.Root.Mkdir(f.path, perm); err != nil {
		return err
	}
	return errors.Join(c.to.Root.Chmod(f.path, perm), c.give(f.path)) // the umask has taken away some of perm
}

func (c *copying) link(f found, e *Entry) error {
	target, err := f.in.Readlink(f.name)
	if err != nil {
		return err
	}
	if fault := linkFault(f.path, target); fault != "" && !c.only { // whatever a host has given counts as given
		return &leftError{fault}
	}
	e.Target = target
	if c.only {
		return nil
	}
	if err := c.to.Root.Symlink(target, f.path); err != nil {
		return err
	}
	return c.give(f.path)
}

// give gives an entry to the workspace's owner, if we may.
func (c *copying) give(path string) error {
	return permitted(c.to.Root.Lchown(path, c.to.UID, c.to.GID))
}

// permitted returns err, unless it says that we lack the permission.
func permitted(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

func (c *copying) file(f found, e *Entry) (err error) {
	from, info, err := beneath.Open(f.in, f.name, beneath.CheckRegular)
	if errors.Is(err, fs.ErrPermission) {
		return &leftError{unreadFault}
	}
	if err != nil {
		return err
	}
	defer from.Close()
	perm := info.Mode().Perm() | 0o600
	if c.only {
		e.Exec = perm&0o111 != 0
		return c.note(from, info.Size(), e)
	}
	to, err := c.to.Root.OpenFile(f.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if err := c.fill(to, from, e); err != nil {
		return err
	}
	e.Exec = perm&0o111 != 0
	c.report.Files++
	c.report.Bytes += e.Size
	return errors.Join(to.Chmod(perm), permitted(to.Chown(c.to.UID, c.to.GID)))
}

// fill copies the content of a file. The digest is of the copy, whatever happens to the original meanwhile.
func (c *copying) fill(to, from *os.File, e *Entry) (err error) {
	left := c.limits.Bytes - c.report.Bytes
	c.head.Reset()
	keep := &capped{to: &c.head, left: maxText + 1}
	if size, err := from.Stat(); err != nil || size.Size() > left {
		return errors.Join(err, c.limits.check(0, c.limits.Bytes+1, 0))
	}
	if clone(to, from) {
		c.report.Cloned++
		e.Digest, e.Size, err = pour(c.ctx, keep, to, left)
	} else {
		e.Digest, e.Size, err = pour(c.ctx, io.MultiWriter(to, keep), from, left)
	}
	if err != nil || c.head.Len() > maxText {
		return err
	}
	return c.texts.add(e.Digest, c.head.Bytes())
}

// note does the same as fill, but copies nothing. A host may give more than one look may read. Then some files' former
// content is unknown, but nothing worse happens.
func (c *copying) note(from *os.File, size int64, e *Entry) (err error) {
	left := c.limits.Bytes - c.report.Bytes
	if size > left {
		return &leftError{tooBig(size)}
	}
	c.head.Reset()
	e.Digest, e.Size, err = pour(c.ctx, &capped{to: &c.head, left: maxText + 1}, from, left)
	c.report.Bytes += e.Size
	if err != nil || c.head.Len() > maxText {
		return err
	}
	return c.texts.add(e.Digest, c.head.Bytes())
}

// capped passes on only the beginning of the data, and accepts all of it.
type capped struct {
	to   io.Writer
	left int
}

func (w *capped) Write(p []byte) (int, error) {
	some := p[:min(len(p), w.left)]
	w.left -= len(some)
	_, err := w.to.Write(some)
	return len(p), err
}
