package identity

import (
	"context"
	"fmt"
	"slices"

	"torno/delegation"
	"torno/internal/crash"
	"torno/internal/inode"
	"torno/internal/journal"
)

// Identify finds out which outbox each claim's directory is (I21). The directory decides: an outbox keeps its id under another
// name. A name that leads to another directory than before is not served, unless nothing is at stake.
//
// It comes before anything else is read from an outbox, and before any record is settled.
func Identify(ctx context.Context, j *journal.Journal, claims []*Claim) error {
	r, err := newRegister(ctx, j, claims)
	if err != nil {
		return err
	}
	return r.decide(ctx)
}

// decide finds out which outbox each claim is, when its directory was looked at.
func (r *register) decide(ctx context.Context) error {
	r.match()
	for _, decide := range []func(context.Context, *Claim) error{r.closed, r.twin, r.renamed, r.returned, r.byName} {
		for _, claim := range r.claims {
			if claim.ID != "" || claim.elsewhere != nil {
				continue
			}
			if err := decide(ctx, claim); err != nil {
				return fmt.Errorf("find out which outbox %s is: %w", claim.Name, err)
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
	claims  []*Claim
	journal *journal.Journal
	known   []journal.Outbox
	earlier map[string][]inode.Directory // by id: the directories that an outbox had before
	unseen  bool                         // the journal was made before outboxes had identities, and this is the first look
	owner   map[string]*Claim            // by id
	changed []journal.Outbox
}

func newRegister(ctx context.Context, j *journal.Journal, claims []*Claim) (*register, error) {
	r := &register{claims: claims, journal: j, earlier: make(map[string][]inode.Directory), owner: make(map[string]*Claim)}
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

// closed decides about a claim whose directory could not be opened: it waits, and the runs of the outbox of its name with it.
func (r *register) closed(_ context.Context, claim *Claim) error {
	why := claim.Dir.Why()
	if why == nil {
		return nil
	}
	var known journal.Outbox
	for _, is := range []func(*Claim, journal.Outbox) bool{called, liesAt} {
		for _, o := range r.known {
			if known.ID == "" && is(claim, o) && r.owner[o.ID] == nil {
				known = o
			}
		}
	}
	r.leadsElsewhere(claim, known, &ElsewhereError{Closed: why})
	return nil
}

// renamed decides about a claim that has the directory of a known outbox: it is that one under any name. Where another outbox has
// the name, is not there itself and has unfinished runs, two disks may have been exchanged, and only the operator knows.
func (r *register) renamed(ctx context.Context, claim *Claim) error {
	if claim.found.ID == "" {
		return nil
	}
	for _, o := range r.known {
		if !o.Named || o.Name != claim.Name || r.owner[o.ID] != nil {
			continue
		}
		unfinished, err := r.journal.UnfinishedOf(ctx, o.ID, 1)
		if err != nil {
			return err
		}
		if len(unfinished) > 0 {
			r.leadsElsewhere(claim, o, &ElsewhereError{Whose: claim.found.Name, Unfinished: true})
			return nil
		}
	}
	if claim.found.Name != claim.Name {
		claim.log.Warn("the outbox has another name now, and goes on as it was", "was", claim.found.Name, "id", claim.found.ID)
	}
	r.bind(claim, claim.found)
	return nil
}

// byName decides about a claim whose directory no outbox has: it is new, or it takes the place of an outbox's directory, or the
// name leads elsewhere.
func (r *register) byName(ctx context.Context, claim *Claim) error {
	served, mark := claim.served()
	o, ok, err := r.claimed(ctx, claim, mark)
	if err != nil {
		return err
	}
	if !ok {
		return r.begin(ctx, claim, served, mark)
	}
	unfinished, err := r.journal.UnfinishedOf(ctx, o.ID, unfinishedAtOnce)
	if err != nil {
		return err
	}
	if o.Directory.IsZero() {
		is, err := r.isOfBefore(ctx, claim, o, mark, unfinished)
		if err != nil {
			return err
		}
		if is {
			claim.log.Info("the outbox of an earlier version is bound to its directory", "id", o.ID, "directory", claim.Here.String())
			r.bind(claim, o)
			return nil
		}
	}
	requests, err := claim.holdsAny(ctx, delegation.KindRequest)
	left := claim.Dir.Alive() != nil // what was seen in it says nothing of the path any more, and awaitReturn looks there again
	switch {
	case left:
	case err != nil:
		return err
	case len(unfinished) == 0 && !requests:
		claim.log.Warn("the outbox has another directory now; nothing was unfinished and no request lies there, so it is bound to that one; "+
			"the one that it had is known when it is back", "id", o.ID, "directory", claim.Here.String(), "had", o.Directory.String())
		r.bind(claim, o)
		return nil
	}
	r.leadsElsewhere(claim, o, &ElsewhereError{Unfinished: len(unfinished) > 0, Requests: requests, Left: left})
	return nil //nolint:nilerr // the error is dropped: the directory has gone from its path
}

// isOfBefore says whether a directory is that of an outbox whose directory no watcher has noted.
func (r *register) isOfBefore(ctx context.Context, claim *Claim, o journal.Outbox, m mark, unfinished []journal.Run) (bool, error) {
	if m.tells(o, r.journal.Installation()) || claim.holdsOne(unfinished) {
		return true, nil
	}
	return claim.holdsRunOf(ctx, o.ID)
}

// claimed finds the outbox that a claim may be although its directory says nothing: the one of its name; else one whose runs are
// unfinished and whose path, or whose mark, is there; else one of an earlier version whose requests lie there.
func (r *register) claimed(ctx context.Context, claim *Claim, m mark) (o journal.Outbox, ok bool, err error) {
	for _, o := range r.known {
		if o.Named && o.Name == claim.Name && r.owner[o.ID] == nil {
			return o, true, nil
		}
	}
	for _, o := range r.known {
		if r.owner[o.ID] != nil || r.configured(o) {
			continue
		}
		if o.Path == claim.Dir.Path() || m.tells(o, r.journal.Installation()) {
			unfinished, err := r.journal.UnfinishedOf(ctx, o.ID, 1)
			if err != nil || len(unfinished) > 0 {
				return o, true, err
			}
		}
		if o.Directory.IsZero() {
			if holds, err := claim.holdsRunOf(ctx, o.ID); err != nil || holds {
				return o, true, err
			}
		}
	}
	return journal.Outbox{}, false, nil
}

// configured says whether a configured outbox still has the name of a known one.
func (r *register) configured(o journal.Outbox) bool {
	return o.Named && slices.ContainsFunc(r.claims, func(claim *Claim) bool { return claim.Name == o.Name })
}

// begin takes a directory for an outbox of its own. Where another watcher served it, or this one under a journal that is gone,
// what lies there may have run.
func (r *register) begin(ctx context.Context, claim *Claim, served bool, m mark) (err error) {
	if served && r.unseen && m == (mark{name: claim.Name}) {
		// An older version served it with this journal, and the journal has no request of it. Unless answers, statuses or events lie there, it
		// was never used.
		if served, err = claim.holdsAny(ctx, delegation.KindResponse, delegation.KindStatus, delegation.KindEvents); err != nil {
			return err
		}
	}
	o := journal.Outbox{ID: journal.NewOutboxID(append(r.known, r.changed...)), Lost: served}
	if served {
		claim.tellLost()
	}
	r.bind(claim, o)
	return nil
}

// bind binds a claim to an outbox.
func (r *register) bind(claim *Claim, o journal.Outbox) {
	was := o
	if !o.Lost && claim.servedByAnother() {
		o.Lost = true
		claim.tellLost()
	}
	o.Name, o.Named, o.Path, o.Directory = claim.Name, true, claim.Dir.Path(), claim.Here
	r.owner[o.ID] = claim
	claim.ID, claim.known, claim.Lost = o.ID, o, o.Lost
	claim.earlier = slices.DeleteFunc(append(r.earlier[o.ID], was.Directory), func(d inode.Directory) bool { return d.IsZero() || d.Same(claim.Here) })
	if o != was {
		r.changed = append(r.changed, o)
	}
}

// Directory is the lasting identity of the directory that is held.
func (c *Claim) Directory() (inode.Directory, error) {
	here, err := directoryOf(c.Dir)
	if err != nil {
		return here, fmt.Errorf("look at outbox %s once more: %w", c.Name, err)
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
