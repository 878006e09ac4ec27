package identity

import (
	"context"
	"slices"

	"torno/internal/journal"
)

// match pairs claims with known outboxes by the numbers of their directories. Copies of one disk have equal numbers, and so have two
// directories of a file system without a number. Among look-alikes the name decides, then the path.
func (r *register) match() {
	for _, says := range []func(*Claim, journal.Outbox) bool{called, liesAt, r.alone} {
		for _, claim := range r.claims {
			if claim.found.ID != "" || claim.Dir.Why() != nil {
				continue
			}
			i := slices.IndexFunc(r.known, func(o journal.Outbox) bool {
				return o.Directory.Same(claim.Here) && r.owner[o.ID] == nil && says(claim, o)
			})
			if i >= 0 {
				claim.found, r.owner[r.known[i].ID] = r.known[i], claim
			}
		}
	}
}

func called(claim *Claim, o journal.Outbox) bool { return o.Named && o.Name == claim.Name }

func liesAt(claim *Claim, o journal.Outbox) bool { return o.Path == claim.Dir.Path() }

// alone says whether a directory's numbers are enough to know an outbox by: nothing else has them, and its file system has a number.
// Where it has none, the directory itself has to say whose it is.
func (r *register) alone(claim *Claim, o journal.Outbox) bool {
	if r.looksLikeAnother(claim) {
		return false
	}
	if claim.Here.FileSystem != 0 {
		return true
	}
	_, m := claim.served()
	return m.tells(o, r.journal.Installation())
}

// looksLikeAnother says whether two outboxes have a claim's directory, as far as its numbers tell.
func (r *register) looksLikeAnother(claim *Claim) bool {
	return len(r.twins(claim)) > 1 || len(r.have(claim)) > 1
}

// twins are the claims whose directories nothing tells from that of a claim; it is one of them.
func (r *register) twins(claim *Claim) (all []*Claim) {
	for _, other := range r.claims {
		if other == claim || other.Here.Same(claim.Here) {
			all = append(all, other)
		}
	}
	return all
}

// have are the known outboxes that have a claim's directory, as far as its numbers tell.
func (r *register) have(claim *Claim) (all []journal.Outbox) {
	for _, o := range r.known {
		if o.Directory.Same(claim.Here) {
			all = append(all, o)
		}
	}
	return all
}

// twin decides about a claim whose directory looks like another outbox's. It waits for the operator where neither its name nor its path says
// which outbox it is, and where a watcher wrote into it that it is another one. The first of several that are all new is one outbox for sure.
func (r *register) twin(ctx context.Context, claim *Claim) error {
	if !r.looksLikeAnother(claim) {
		return nil
	}
	_, m := claim.served()
	marked := slices.IndexFunc(r.have(claim), func(o journal.Outbox) bool { return m.tells(o, r.journal.Installation()) })
	if claim.found.ID != "" {
		if marked < 0 || r.have(claim)[marked].ID == claim.found.ID || claim.found.Lost {
			return nil
		}
		o := claim.found
		claim.found = journal.Outbox{}
		r.leadsElsewhere(claim, o, &ElsewhereError{Twin: r.have(claim)[marked].Name, Whose: o.Name})
		return nil
	}
	free := slices.DeleteFunc(r.have(claim), func(o journal.Outbox) bool { return r.owner[o.ID] != nil })
	first := r.firstOf(r.twins(claim))
	if len(free) == 0 && first == claim {
		return nil
	}
	o, ok, err := r.claimed(ctx, claim, m) // its runs are left aside, whatever the directory turns out to be
	if err != nil {
		return err
	}
	for i := 0; !ok && i < len(free); i++ {
		o, ok = free[i], i == len(free)-1 || m.tells(free[i], r.journal.Installation())
	}
	for _, maybe := range free { // the directory may be theirs, so their runs are left aside as well
		if !r.configured(maybe) {
			claim.maybe, r.owner[maybe.ID] = append(claim.maybe, maybe.ID), claim
		}
	}
	why := &ElsewhereError{Twin: first.Name, Whose: o.Name}
	if first == claim {
		why.Twin = free[0].Name
	}
	r.leadsElsewhere(claim, o, why)
	return nil
}

// firstOf chooses which of several look-alikes is served without asking the operator: a known outbox, or the first.
func (r *register) firstOf(alike []*Claim) *Claim {
	i := slices.IndexFunc(alike, func(claim *Claim) bool { return claim.found.ID != "" || claim.ID != "" })
	return alike[max(i, 0)]
}

// returned decides about a claim whose directory its outbox had before: its disk was mounted too late for an earlier start, which took the mount
// point for the outbox. It goes on with the disk, unless a run is unfinished whose request does not lie there.
func (r *register) returned(ctx context.Context, claim *Claim) error {
	i := slices.IndexFunc(r.known, func(o journal.Outbox) bool {
		return called(claim, o) && r.owner[o.ID] == nil && slices.ContainsFunc(r.earlier[o.ID], claim.Here.Same)
	})
	if i < 0 {
		return nil
	}
	unfinished, err := r.journal.UnfinishedOf(ctx, r.known[i].ID, unfinishedAtOnce)
	if err != nil || len(unfinished) == unfinishedAtOnce || !claim.holdsAll(unfinished) {
		return err
	}
	claim.log.Warn("a directory that the outbox had before is back, and the outbox goes on there", "id", r.known[i].ID, "directory", claim.Here.String(),
		"had", r.known[i].Directory.String())
	r.bind(claim, r.known[i])
	return nil
}
