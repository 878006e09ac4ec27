package outbox

import (
	"context"
	"slices"

	"torno/internal/journal"
)

// match pairs boxes with known outboxes by the numbers of their directories. Copies of one disk have equal numbers, and so have two
// directories of a file system without a number. Among look-alikes the name decides, then the path.
func (r *register) match() {
	for _, says := range []func(*Outbox, journal.Outbox) bool{called, liesAt, r.alone} {
		for _, box := range r.boxes {
			if box.found.ID != "" {
				continue
			}
			i := slices.IndexFunc(r.known, func(o journal.Outbox) bool {
				return o.Directory.Same(box.here) && r.owner[o.ID] == nil && says(box, o)
			})
			if i >= 0 {
				box.found, r.owner[r.known[i].ID] = r.known[i], box
			}
		}
	}
}

func called(box *Outbox, o journal.Outbox) bool { return o.Named && o.Name == box.Name }

func liesAt(box *Outbox, o journal.Outbox) bool { return o.Path == box.Dir.Path() }

// alone says whether a directory's numbers are enough to know an outbox by: nothing else has them, and its file system has a number.
// Where it has none, the directory itself has to say whose it is.
func (r *register) alone(box *Outbox, o journal.Outbox) bool {
	if r.looksLikeAnother(box) {
		return false
	}
	if box.here.FileSystem != 0 {
		return true
	}
	_, m := box.served()
	return m.tells(o, r.journal.Installation())
}

// looksLikeAnother says whether two outboxes have a box's directory, as far as its numbers tell.
func (r *register) looksLikeAnother(box *Outbox) bool {
	return len(r.twins(box)) > 1 || len(r.have(box)) > 1
}

// twins are the boxes whose directories nothing tells from that of a box; it is one of them.
func (r *register) twins(box *Outbox) (all []*Outbox) {
	for _, other := range r.boxes {
		if other == box || other.here.Same(box.here) {
			all = append(all, other)
		}
	}
	return all
}

// have are the known outboxes that have a box's directory, as far as its numbers tell.
func (r *register) have(box *Outbox) (all []journal.Outbox) {
	for _, o := range r.known {
		if o.Directory.Same(box.here) {
			all = append(all, o)
		}
	}
	return all
}

// twin decides about a box whose directory looks like another outbox's. It waits for the operator where neither its name nor its path says
// which outbox it is, and where a watcher wrote into it that it is another one. The first of several that are all new is one outbox for sure.
func (r *register) twin(ctx context.Context, box *Outbox) error {
	if !r.looksLikeAnother(box) {
		return nil
	}
	_, m := box.served()
	marked := slices.IndexFunc(r.have(box), func(o journal.Outbox) bool { return m.tells(o, r.journal.Installation()) })
	if box.found.ID != "" {
		if marked < 0 || r.have(box)[marked].ID == box.found.ID || box.found.Lost {
			return nil
		}
		o := box.found
		box.found = journal.Outbox{}
		r.leadsElsewhere(box, o, &ElsewhereError{Twin: r.have(box)[marked].Name, Whose: o.Name})
		return nil
	}
	free := slices.DeleteFunc(r.have(box), func(o journal.Outbox) bool { return r.owner[o.ID] != nil })
	first := r.firstOf(r.twins(box))
	if len(free) == 0 && first == box {
		return nil
	}
	o, ok, err := r.claimed(ctx, box, m) // its runs are left aside, whatever the directory turns out to be
	if err != nil {
		return err
	}
	for i := 0; !ok && i < len(free); i++ {
		o, ok = free[i], i == len(free)-1 || m.tells(free[i], r.journal.Installation())
	}
	for _, maybe := range free { // the directory may be theirs, so their runs are left aside as well
		if !r.configured(maybe) {
			box.maybe, r.owner[maybe.ID] = append(box.maybe, maybe.ID), box
		}
	}
	why := &ElsewhereError{Twin: first.Name, Whose: o.Name}
	if first == box {
		why.Twin = free[0].Name
	}
	r.leadsElsewhere(box, o, why)
	return nil
}

// firstOf chooses which of several look-alikes is served without asking the operator: one that is known, or the first.
func (r *register) firstOf(alike []*Outbox) *Outbox {
	i := slices.IndexFunc(alike, func(box *Outbox) bool { return box.found.ID != "" || box.ID != "" })
	return alike[max(i, 0)]
}

// returned decides about a box whose directory its outbox had before: its disk was mounted too late for an earlier start, which took the mount
// point for the outbox. It goes on with the disk, unless a run is unfinished whose request does not lie there.
func (r *register) returned(ctx context.Context, box *Outbox) error {
	i := slices.IndexFunc(r.known, func(o journal.Outbox) bool {
		return called(box, o) && r.owner[o.ID] == nil && slices.ContainsFunc(r.earlier[o.ID], box.here.Same)
	})
	if i < 0 {
		return nil
	}
	unfinished, err := r.journal.UnfinishedOf(ctx, r.known[i].ID, unfinishedAtOnce)
	if err != nil || len(unfinished) == unfinishedAtOnce || !box.holdsAll(unfinished) {
		return err
	}
	box.log.Warn("a directory that the outbox had before is back, and the outbox goes on there", "id", r.known[i].ID, "directory", box.here.String(),
		"had", r.known[i].Directory.String())
	r.bind(box, r.known[i])
	return nil
}
