package patch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
)

// Plan lists the steps of an apply and everything that prevents it. The plan can be carried out if it has no Conflicts
// and no Refused.
type Plan struct {
	Steps     []Step
	Conflicts []Trouble
	Refused   []Trouble
	Running   []Trouble // steps about which the parent is asked, and why
	Already   int       // changes that are there already

	// HooksUnknown says why it is unknown which further files git's hooks read, or "". The parent is asked about every
	// executable anyway.
	HooksUnknown string

	work   *Work
	to     target
	repos  repositories
	asked  asked
	path   string // of the directory, as the parent sees it
	agreed []*Change
	cut    *Marker                // of an unfinished apply to it
	flush  func(dir string) error // makes a directory's names survive a loss of power
}

// Trouble is a path with a problem.
type Trouble struct{ Path, Why string }

// Step is one path of a plan.
type Step struct {
	Change *Change
	Merged bool   // lines of both sides
	Today  *Entry // the entry there when the plan is made
	After  *Entry // the entry to be put there; nil for nothing

	early bool // a deletion that makes room for something else
}

// What returns one word for the step: merged, deleted, added or changed.
func (s *Step) What() string {
	switch {
	case s.Merged:
		return "merged"
	case s.After == nil:
		return "deleted"
	case s.Today == nil:
		return "added"
	}
	return "changed"
}

// Deletes returns how many files and links the plan deletes, and how many the child was given. If a child deletes most
// of them, it may have lost them by mistake.
func (p *Plan) Deletes() (gone, of int) {
	for i := range p.Steps {
		if s := &p.Steps[i]; s.After == nil && s.Today.Kind != Directory {
			gone++
		}
	}
	for i := range p.work.Base.Entries {
		if p.work.Base.Entries[i].Kind != Directory {
			of++
		}
	}
	return gone, of
}

// Plan compares three sides: the child's base, the child's tree, and the directory today. A path that only the child
// has changed is taken. If both sides have changed a path, it is merged line by line, or it is a conflict.
func (w *Work) Plan(ctx context.Context, dir string, root *os.Root) (*Plan, error) {
	p := &Plan{work: w, to: target{root: root, own: w.store.own}, path: dir}
	p.flush = p.to.flush
	var err error
	if p.cut, err = w.marker(dir); err != nil {
		return nil, err
	}
	hooks := w.findHooks(ctx, dir)
	p.HooksUnknown = hooks.unknown
	if p.asked, err = w.places(ctx, hooks.dirs); err != nil {
		return nil, err
	}
	p.repos = repositoriesOf(p.to)
	if err := w.refuseRepositories(p.repos); err != nil {
		return nil, fmt.Errorf("look for git directories: %w", err)
	}
	for i := range w.Changes {
		c := &w.Changes[i]
		if err := p.consider(ctx, c); err != nil {
			return nil, fmt.Errorf("plan %q: %w", c.Path, err)
		}
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	p.sort()
	return p, nil
}

func (p *Plan) consider(ctx context.Context, c *Change) error {
	if c.Refused != "" {
		p.refuse(c.Path, c.Refused)
		return nil
	}
	today, err := p.to.look(ctx, c.Path)
	switch {
	case errors.Is(err, errOwn):
		p.refuse(c.Path, errOwn.Error())
		return nil
	case errors.Is(err, errOtherSystem):
		p.refuse(c.Path, "its place is on another file system")
		return nil
	case err != nil:
		return err
	}
	switch {
	case same(today, c.After):
		p.Already++
		p.agreed = append(p.agreed, c)
	case same(today, c.Before), today == nil && !c.kindStays() && p.madeRoom(c.Path):
		p.step(Step{Change: c, Today: today, After: c.After})
	default:
		return p.both(ctx, c, today)
	}
	return nil
}

// madeRoom reports whether an unfinished apply may have removed the entry at a path, to put something of another kind
// there.
func (p *Plan) madeRoom(at string) bool {
	return p.cut != nil && slices.Contains(p.cut.In, path.Dir(at))
}

func (p *Plan) step(s Step) {
	p.Steps = append(p.Steps, s)
	s.Change.RunsByItself = p.asked.why(s.Change.Path, s.Change.Before, s.Change.After, s.Today, s.After)
	if s.Change.RunsByItself != "" {
		p.Running = append(p.Running, Trouble{s.Change.Path, s.Change.RunsByItself})
	}
}

// both handles a path that was changed on both sides.
func (p *Plan) both(ctx context.Context, c *Change, today *Entry) error {
	merged, err := p.merge(ctx, c, today)
	switch {
	case err != nil:
		return err
	case merged == nil:
		p.Conflicts = append(p.Conflicts, Trouble{c.Path, collision(c, today)})
	case same(today, merged):
		p.Already++
		p.agreed = append(p.agreed, c)
	default:
		p.step(Step{Change: c, Merged: true, Today: today, After: merged})
	}
	return err
}

// collision describes how two sides have changed one path.
func collision(c *Change, today *Entry) string {
	switch {
	case c.After == nil:
		return "the child has deleted it, and it was changed here"
	case today == nil:
		return "the child has changed it, and it was deleted here"
	case c.Before == nil:
		return "the child has added it, and there is already something else here"
	}
	return "it was changed on both sides"
}

func (p *Plan) refuse(path, why string) { p.Refused = append(p.Refused, Trouble{path, why}) }

// neighbours holds the steps and names that check compares a step with.
type neighbours struct {
	steps map[string]*Step // by path
	names map[string]forms // of a directory, as they are today
}

// check compares the steps with each other and with the other entries of the directory.
func (p *Plan) check() error {
	near := neighbours{map[string]*Step{}, map[string]forms{}}
	for i := range p.Steps {
		near.steps[p.Steps[i].Change.Path] = &p.Steps[i]
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.After == nil {
			continue
		}
		for _, look := range []func(*Step, neighbours) error{p.checkPlace, p.checkTwin, p.checkRoom, p.checkLink} {
			if err := look(s, near); err != nil {
				return fmt.Errorf("plan %q: %w", s.Change.Path, err)
			}
		}
	}
	return nil
}

// checkPlace makes sure that a written entry has a directory, which either exists and stays or is made by the plan.
func (p *Plan) checkPlace(s *Step, near neighbours) error {
	parent := path.Dir(s.Change.Path)
	if parent == "." {
		return nil
	}
	if above := near.steps[parent]; above != nil && above.After != nil && above.After.Kind == Directory {
		return nil
	}
	today, err := p.to.glance(parent)
	if err != nil {
		return err
	}
	if today == nil || today.Kind != Directory || near.steps[parent] != nil {
		p.Conflicts = append(p.Conflicts, Trouble{s.Change.Path, "its directory does not exist here"})
	}
	return nil
}

// checkTwin refuses a new name if some file system takes it for an existing one. If the plan deletes the existing one,
// it does so first.
func (p *Plan) checkTwin(s *Step, near neighbours) error {
	if s.Today != nil {
		return nil
	}
	parent := path.Dir(s.Change.Path)
	if near.names[parent] == nil {
		names, err := p.to.names(parent)
		if err != nil {
			return err
		}
		near.names[parent] = formsOf(names)
	}
	twin := near.names[parent].twin(path.Base(s.Change.Path))
	if twin == "" {
		return nil
	}
	if other := near.steps[path.Join(parent, twin)]; other != nil && other.After == nil {
		other.early = true
		return nil
	}
	p.refuse(s.Change.Path, fmt.Sprintf("some file systems take its name for %q, which is there", twin))
	return nil
}

// checkRoom makes sure that a directory that becomes something else holds only entries that the plan deletes.
func (p *Plan) checkRoom(s *Step, near neighbours) error {
	if s.Today == nil || s.Today.Kind != Directory || s.After.Kind == Directory {
		return nil
	}
	kept, err := p.keptIn(s.Change.Path, near.steps)
	if err == nil && kept != "" {
		p.Conflicts = append(p.Conflicts, Trouble{s.Change.Path, fmt.Sprintf("it is a directory here and holds %q", kept)})
	}
	return err
}

// keptIn returns an entry in a directory that the plan does not delete, or "". It moves the deletions there to the
// beginning, so that they make room.
func (p *Plan) keptIn(dir string, byPath map[string]*Step) (string, error) {
	names, err := p.to.names(dir)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		below := path.Join(dir, name)
		step := byPath[below]
		if step == nil || step.After != nil {
			return below, nil
		}
		step.early = true
		if step.Today.Kind != Directory {
			continue
		}
		if kept, err := p.keptIn(below, byPath); kept != "" || err != nil {
			return kept, err
		}
	}
	return "", nil
}

// checkLink refuses a link if it leads through a link of the parent's and then out of the tree, or if it leads into a
// git directory.
func (p *Plan) checkLink(s *Step, near neighbours) error {
	if s.After.Kind != Link {
		return nil
	}
	fault, err := p.through(s.Change.Path, s.After.Target, func(at string) (*Entry, bool) {
		step, ok := near.steps[at]
		if !ok {
			return nil, false
		}
		return step.After, true
	})
	if fault != "" {
		p.refuse(s.Change.Path, fault)
	}
	return err
}

// through follows a new link as a kernel does: through the links that exist today, and through the links that planned
// says will exist. It returns why the link is not made, or "". If the way meets a path where nothing lies, the link
// leads nowhere and the way ends.
func (p *Plan) through(link, target string, planned func(string) (*Entry, bool)) (fault string, err error) {
	at, rest := path.Dir(link), names(target)
	for followed := 0; len(rest) > 0; {
		next := path.Join(at, rest[0])
		rest = rest[1:]
		if isOutside(next) {
			return "it is a link that leads out of the tree", nil
		}
		e, isPlanned := planned(next)
		if !isPlanned && next != "." {
			if e, err = p.to.glance(next); err != nil {
				return fmt.Sprintf("it is a link through %q, which cannot be looked at", next), ignore(err, os.ErrPermission)
			}
		}
		switch {
		case e == nil && next != ".":
			return "", nil
		case e == nil || e.Kind != Link:
			at = next
		case linkFault(next, e.Target) != "":
			return fmt.Sprintf("it is a link through %q; %s", next, linkFault(next, e.Target)), nil
		case followed == maxLinks:
			return "it is a link through too many others", nil
		default:
			followed++
			rest = append(names(e.Target), rest...)
			continue
		}
		if fault, err := p.repos.fault(at); fault != "" || err != nil {
			return "it is a link into a git directory", err
		}
	}
	return "", nil
}

// ignore returns an error, unless it is of the given kind.
func ignore(err, kind error) error {
	if errors.Is(err, kind) {
		return nil
	}
	return err
}
