package patch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"torno/delegation"
	"torno/internal/beneath"
)

// Got is a path that was copied out of a workspace or was left out.
type Got struct {
	Entry
	LeftOut      string // why, or ""
	RunsByItself string // as in a Change
}

// Getting lists the rights of a Get.
type Getting struct {
	Replace bool // existing files
	Autorun bool // write files that run by themselves even into a repository
	Home    bool // a child got a copy of this directory, so it counts as a repository
}

// Get copies files, directories and links out of a child's workspace into a directory of the parent's. It leaves out
// everything that Plan would refuse, git directories, entries that exist already, and files that run by themselves in a
// repository of the parent's; may can change the last two. Get calls tell for each path when it is done with that path.
// unknown is a Plan's HooksUnknown.
func Get(ctx context.Context, workspace *os.Root, pick Selection, to Place, may Getting, tell func(Got) error) (unknown string, err error) {
	g := &getting{
		ctx: ctx, pick: pick, to: target{root: to.Root, own: to.Own}, may: may, tell: tell,
		forms: map[string]string{}, found: map[string]bool{}, made: map[string]bool{}, links: map[string]*Got{},
	}
	if err := g.lookAround(); err != nil {
		return "", err
	}
	walk := walk{ctx: ctx, pick: pick, limits: lookLimits, visit: g.visit}
	place, err := identityOf(workspace)
	if err != nil {
		return "", err
	}
	if err := errors.Join(walk.run(workspace), stillThere(place, workspace), g.makeLinks()); err != nil {
		return g.hooks.unknown, fmt.Errorf("copy out of the workspace: %w", err)
	}
	return g.hooks.unknown, g.missing()
}

// missing tells about the wanted paths that were not found.
func (g *getting) missing() error {
	var all error
	for _, p := range g.pick.Paths {
		if !g.found[p] && p != "." {
			all = errors.Join(all, g.tell(Got{Entry: Entry{Path: p}, LeftOut: "it is not in the workspace"}))
		}
	}
	return all
}

// getting is one Get.
type getting struct {
	ctx   context.Context
	pick  Selection
	to    target
	may   Getting
	plan  Plan // an empty plan, for its checks of the target directory
	hooks *hookSearch
	tell  func(Got) error
	bytes int64
	forms map[string]string // of the paths that were written, folded
	found map[string]bool   // the wanted paths that were found
	made  map[string]bool   // the directories that were written to
	links map[string]*Got   // made last, when all entries exist through which they may lead
}

func (g *getting) visit(f found) error {
	if !g.pick.has(f.path) && f.fault == "" { // only on the way to a selected path, which its repository may run
		g.hooks.look(g.ctx, filepath.Join(g.hooks.roots[0], f.path))
		return nil
	}
	for _, p := range g.pick.Paths {
		g.found[p] = g.found[p] || within(f.path, p)
	}
	got := Got{Entry: Entry{Path: f.path, Kind: Other}, LeftOut: f.fault}
	if got.LeftOut == "" {
		got.LeftOut = g.twin(f.path)
	}
	if err := g.judge(f, &got); err != nil {
		return err
	}
	if got.LeftOut == "" {
		if err := got.leftOutFor(g.take(f, &got)); err != nil {
			return err
		}
	}
	if got.Kind == Link && got.LeftOut == "" {
		g.links[f.path] = &got
		return nil
	}
	return g.tell(got)
}

// leftOutFor turns an error that stops only this path into a reason to leave the path out. It returns any other error.
func (g *Got) leftOutFor(err error) error {
	if err == nil {
		return nil
	}
	why, ok := asLeftOut(err)
	if !ok {
		return fmt.Errorf("%q: %w", g.Path, err)
	}
	g.LeftOut = why
	return nil
}

// makeLinks makes the links, and tells about each.
func (g *getting) makeLinks() error {
	for _, p := range slices.Sorted(maps.Keys(g.links)) {
		got := g.links[p]
		if err := got.leftOutFor(g.makeLink(got)); err != nil {
			return err
		}
		if err := g.tell(*got); err != nil {
			return err
		}
	}
	return nil
}

func (g *getting) makeLink(got *Got) error {
	fault, err := g.plan.through(got.Path, got.Target, func(at string) (*Entry, bool) {
		other := g.links[at]
		if other == nil {
			return nil, false
		}
		today, err := g.to.glance(at)
		return &other.Entry, today == nil && err == nil // an existing entry stays
	})
	if fault != "" || err != nil {
		return errors.Join(err, &leftError{fault})
	}
	if makes, err := g.plan.repos.wouldMake(got.Path); makes || err != nil { // its parts were copied since it was judged
		return errors.Join(err, &leftError{repositoryFault})
	}
	if err := g.to.mkdirAll(path.Dir(got.Path), g.made); err != nil {
		return err
	}
	return g.to.link(g.ctx, got.Path, got.Target, "", over{})
}

// twin returns why a path is left out because Get has already written a name that some file system takes for the same,
// or "".
func (g *getting) twin(p string) string {
	key := fold(p)
	if other, taken := g.forms[key]; taken {
		return fmt.Sprintf("some file systems take its name for %q", other)
	}
	g.forms[key] = p
	return ""
}

func (g *getting) take(f found, got *Got) error {
	switch mode := f.info.Mode(); {
	case mode.IsDir():
		got.Kind = Directory
		return g.to.mkdirAll(f.path, g.made)
	case mode&os.ModeSymlink != 0:
		return readLink(f, got)
	case mode&(os.ModeSetuid|os.ModeSetgid) != 0:
		return &leftError{setIDFault}
	case mode.IsRegular():
		return g.file(f, got)
	default:
		return &leftError{"it is " + beneath.Describe(mode)}
	}
}

// readLink reads a link. makeLink makes it.
func readLink(f found, got *Got) error {
	target, err := f.in.Readlink(f.name)
	if err != nil {
		return &leftError{changedFault}
	}
	got.Kind, got.Target = Link, target
	if fault := linkFault(f.path, target); fault != "" {
		return &leftError{fault}
	}
	return nil
}

func (g *getting) file(f found, got *Got) error {
	from, info, err := beneath.Open(f.in, f.name, beneath.CheckPlain)
	if err != nil {
		return &leftError{whyUnread(err)}
	}
	defer from.Close()
	got.Kind, got.Exec, got.Size = File, f.info.Mode()&0o111 != 0, info.Size() // executable or not: as it was judged
	if got.Size > lookLimits.Bytes-g.bytes {
		return &leftError{tooBig(got.Size)}
	}
	g.bytes += got.Size
	if err := g.to.mkdirAll(path.Dir(f.path), g.made); err != nil {
		return err
	}
	return g.to.write(g.ctx, f.path, &bounded{from, got.Size}, got.Exec, randomName(), over{any: g.may.Replace})
}

// asLeftOut returns why one path could not be copied, if the error does not stop the others.
func asLeftOut(err error) (why string, ok bool) {
	left, isLeft := errors.AsType[*leftError](err)
	switch {
	case isLeft:
		return left.why, true
	case errors.Is(err, errThere):
		return errThere.Error(), true
	case errors.Is(err, errOwn):
		return errOwn.Error(), true
	case errors.Is(err, errOtherSystem):
		return "its place is on another file system", true
	case errors.Is(err, beneath.ErrNotDirectory):
		return "there is no directory where it should go", true
	case errors.Is(err, fs.ErrPermission):
		return "there is no permission to write it here", true
	case errors.Is(err, beneath.ErrMoved), errors.Is(err, fs.ErrNotExist):
		return changedFault, true
	}
	return "", false
}

// whyUnread returns why a file was not opened.
func whyUnread(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return unreadFault
	case errors.Is(err, delegation.ErrLinked):
		return linkedFault
	}
	return changedFault
}
