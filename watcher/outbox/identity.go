package outbox

import (
	"context"
	"fmt"
	"slices"

	"torno/delegation"
	"torno/internal/crash"
	"torno/internal/inode"
	"torno/internal/journal"
)

// Identify finds out which outbox each configured directory is (I21). The directory decides: an outbox keeps its id under
// another name. A name that leads to another directory than before is not served, unless nothing is at stake.
//
// look looks at a directory. It comes before anything is read from an outbox, and before any record is settled.
func Identify(ctx context.Context, j *journal.Journal, boxes []*Outbox, look func(*Outbox) (inode.Directory, error)) error {
	r, err := newRegister(ctx, j, boxes)
	if err != nil {
		return err
	}
	for _, box := range boxes {
		if box.here, err = look(box); err != nil {
			return err
		}
	}
	return r.decide(ctx)
}

// decide finds out which outbox each box is, when its directory was looked at.
func (r *register) decide(ctx context.Context) error {
	r.match()
	for _, decide := range []func(context.Context, *Outbox) error{r.twin, r.renamed, r.returned, r.byName} {
		for _, box := range r.boxes {
			if box.ID != "" || box.elsewhere != nil {
				continue
			}
			if err := decide(ctx, box); err != nil {
				return fmt.Errorf("find out which outbox %s is: %w", box.Name, err)
			}
		}
	}
	if len(r.changed) == 0 {
		return nil
	}
	crash.At("outbox.kept")
	return r.journal.KeepOutboxes(ctx, r.changed)
}

// unfinishedAtOnce is how many unfinished runs of an outbox are looked at.
const unfinishedAtOnce = 256

// register is the state of Identify.
type register struct {
	boxes   []*Outbox
	journal *journal.Journal
	known   []journal.Outbox
	earlier map[string][]inode.Directory // by id: the directories that an outbox had before
	unseen  bool                         // the journal was made before outboxes had identities, and this is the first look
	owner   map[string]*Outbox           // by id
	changed []journal.Outbox
}

func newRegister(ctx context.Context, j *journal.Journal, boxes []*Outbox) (*register, error) {
	r := &register{boxes: boxes, journal: j, earlier: make(map[string][]inode.Directory), owner: make(map[string]*Outbox)}
	earlier, err := j.EarlierDirectories(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range earlier {
		r.earlier[e.Outbox] = append(r.earlier[e.Outbox], e.Directory)
	}
	if r.unseen, err = j.Unseen(ctx); err != nil {
		return nil, err
	}
	r.known, err = j.Outboxes(ctx)
	return r, err
}

// renamed decides about a box that has the directory of a known outbox: it is that one under any name. Where another outbox has
// the name, is not there itself and has unfinished runs, two disks may have been exchanged, and only the operator knows.
func (r *register) renamed(ctx context.Context, box *Outbox) error {
	if box.found.ID == "" {
		return nil
	}
	for _, o := range r.known {
		if !o.Named || o.Name != box.Name || r.owner[o.ID] != nil {
			continue
		}
		unfinished, err := r.journal.UnfinishedOf(ctx, o.ID, 1)
		if err != nil {
			return err
		}
		if len(unfinished) > 0 {
			r.leadsElsewhere(box, o, &ElsewhereError{Whose: box.found.Name, Unfinished: true})
			return nil
		}
	}
	if box.found.Name != box.Name {
		box.log.Warn("the outbox has another name now, and goes on as it was", "was", box.found.Name, "id", box.found.ID)
	}
	r.bind(box, box.found)
	return nil
}

// byName decides about a box whose directory no outbox has: it is new, or it takes the place of an outbox's directory, or the
// name leads elsewhere.
func (r *register) byName(ctx context.Context, box *Outbox) error {
	served, mark := box.served()
	o, ok, err := r.claimed(ctx, box, mark)
	if err != nil {
		return err
	}
	if !ok {
		return r.begin(ctx, box, served, mark)
	}
	unfinished, err := r.journal.UnfinishedOf(ctx, o.ID, unfinishedAtOnce)
	if err != nil {
		return err
	}
	if o.Directory.IsZero() {
		is, err := r.isOfBefore(ctx, box, o, mark, unfinished)
		if err != nil {
			return err
		}
		if is {
			box.log.Info("the outbox of an earlier version is bound to its directory", "id", o.ID, "directory", box.here.String())
			r.bind(box, o)
			return nil
		}
	}
	requests, err := box.holdsAny(ctx, delegation.KindRequest)
	left := box.Dir.Alive() != nil // what was seen in it says nothing of the path any more, and awaitReturn looks there again
	switch {
	case left:
	case err != nil:
		return err
	case len(unfinished) == 0 && !requests:
		box.log.Warn("the outbox has another directory now; nothing was unfinished and no request lies there, so it is bound to that one; "+
			"the one that it had is known when it is back", "id", o.ID, "directory", box.here.String(), "had", o.Directory.String())
		r.bind(box, o)
		return nil
	}
	r.leadsElsewhere(box, o, &ElsewhereError{Unfinished: len(unfinished) > 0, Requests: requests, Left: left})
	return nil //nolint:nilerr // the error is dropped: the directory has gone from its path
}

// isOfBefore says whether a directory is that of an outbox whose directory no watcher has noted.
func (r *register) isOfBefore(ctx context.Context, box *Outbox, o journal.Outbox, m mark, unfinished []journal.Run) (bool, error) {
	if m.tells(o, r.journal.Installation()) || box.holdsOne(unfinished) {
		return true, nil
	}
	return box.holdsRunOf(ctx, o.ID)
}

// claimed finds the outbox that a box may be although its directory says nothing: the one of its name; else one whose runs are
// unfinished and whose path, or whose mark, is there; else one of an earlier version whose requests lie there.
func (r *register) claimed(ctx context.Context, box *Outbox, m mark) (o journal.Outbox, ok bool, err error) {
	for _, o := range r.known {
		if o.Named && o.Name == box.Name && r.owner[o.ID] == nil {
			return o, true, nil
		}
	}
	for _, o := range r.known {
		if r.owner[o.ID] != nil || r.configured(o) {
			continue
		}
		if o.Path == box.Dir.Path() || m.tells(o, r.journal.Installation()) {
			unfinished, err := r.journal.UnfinishedOf(ctx, o.ID, 1)
			if err != nil || len(unfinished) > 0 {
				return o, true, err
			}
		}
		if o.Directory.IsZero() {
			if holds, err := box.holdsRunOf(ctx, o.ID); err != nil || holds {
				return o, true, err
			}
		}
	}
	return journal.Outbox{}, false, nil
}

// configured says whether a configured outbox still has the name of a known one.
func (r *register) configured(o journal.Outbox) bool {
	return o.Named && slices.ContainsFunc(r.boxes, func(box *Outbox) bool { return box.Name == o.Name })
}

// begin takes a directory for an outbox of its own. Where another watcher served it, or this one under a journal that is gone,
// what lies there may have run.
func (r *register) begin(ctx context.Context, box *Outbox, served bool, m mark) (err error) {
	if served && r.unseen && m == (mark{name: box.Name}) {
		// An older version served it with this journal, and the journal has no request of it. Unless answers, statuses or events lie there, it
		// was never used.
		if served, err = box.holdsAny(ctx, delegation.KindResponse, delegation.KindStatus, delegation.KindEvents); err != nil {
			return err
		}
	}
	o := journal.Outbox{ID: journal.NewOutboxID(append(r.known, r.changed...)), Lost: served}
	if served {
		box.tellLost()
	}
	r.bind(box, o)
	return nil
}

// bind binds a box to an outbox.
func (r *register) bind(box *Outbox, o journal.Outbox) {
	was := o
	if !o.Lost && box.servedByAnother() {
		o.Lost = true
		box.tellLost()
	}
	o.Name, o.Named, o.Path, o.Directory = box.Name, true, box.Dir.Path(), box.here
	r.owner[o.ID] = box
	box.ID, box.known, box.Lost = o.ID, o, o.Lost
	box.earlier = slices.DeleteFunc(append(r.earlier[o.ID], was.Directory), func(d inode.Directory) bool { return d.IsZero() || d.Same(box.here) })
	if o != was {
		r.changed = append(r.changed, o)
	}
}

// Directory is the lasting identity of the directory that is held.
func (o *Outbox) Directory() (inode.Directory, error) {
	here, err := directoryOf(o.Dir)
	if err != nil {
		return here, fmt.Errorf("look at outbox %s once more: %w", o.Name, err)
	}
	return here, nil
}

func directoryOf(dir *delegation.Dir) (inode.Directory, error) {
	held, err := dir.Reopen()
	if err != nil {
		return inode.Directory{}, err
	}
	defer held.Close()
	return inode.Of(held)
}
