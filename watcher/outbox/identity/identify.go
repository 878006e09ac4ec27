package identity

import (
	"context"
	"fmt"
	"slices"

	"torno/internal/crash"
	"torno/internal/inode"
	"torno/internal/journal"
)

// Identify finds out which outbox each claim's directory is (I21). It is called before anything else is read from an
// outbox, and before any record is settled.
func Identify(ctx context.Context, j *journal.Journal, claims []*Claim) error {
	known, err := j.Outboxes(ctx)
	if err != nil {
		return err
	}
	r := &register{claims: claims, journal: j, known: known, owner: make(map[string]*Claim)}
	r.pair()
	for _, claim := range claims {
		if err := r.decide(ctx, claim); err != nil {
			return fmt.Errorf("find out which outbox %s is: %w", claim.Name, err)
		}
	}
	if len(r.changed) == 0 {
		return nil
	}
	crash.At("outbox.kept")
	return j.KeepOutboxes(ctx, r.changed)
}

// register is the state of Identify.
type register struct {
	claims  []*Claim
	journal *journal.Journal
	known   []journal.Outbox
	owner   map[string]*Claim // by outbox id: the claim that has the outbox
	changed []journal.Outbox
}

// pair pairs claims with known outboxes by the numbers of their directories. Copies of one disk have equal numbers. If
// several directories look alike, the name decides, then the path.
func (r *register) pair() {
	for _, is := range []func(*Claim, journal.Outbox) bool{called, liesAt, r.alone} {
		for _, claim := range r.claims {
			for _, o := range r.alike(claim) {
				if claim.Dir.Why() == nil && claim.found.ID == "" && r.owner[o.ID] == nil && is(claim, o) {
					claim.found, r.owner[o.ID] = o, claim
				}
			}
		}
	}
}

func called(claim *Claim, o journal.Outbox) bool { return o.Named && o.Name == claim.Name }

func liesAt(claim *Claim, o journal.Outbox) bool { return o.Path == claim.Dir.Path() }

// alone reports whether the directory's numbers suffice to recognize the outbox: its file system has a number, and no
// other directory looks like it.
func (r *register) alone(claim *Claim, _ journal.Outbox) bool {
	return claim.Here.FileSystem != 0 && len(r.alike(claim)) == 1 && r.twinOf(claim) == nil
}

// alike lists the known outboxes whose directory has the same numbers as the claim's.
func (r *register) alike(claim *Claim) (all []journal.Outbox) {
	for _, o := range r.known {
		if o.Directory.Same(claim.Here) {
			all = append(all, o)
		}
	}
	return all
}

// free lists the outboxes that look like the claim's directory and are not paired with any claim.
func (r *register) free(claim *Claim) []journal.Outbox {
	return slices.DeleteFunc(r.alike(claim), func(o journal.Outbox) bool { return r.owner[o.ID] != nil })
}

// twinOf returns another claim whose directory has the same numbers, or nil.
func (r *register) twinOf(claim *Claim) *Claim {
	i := slices.IndexFunc(r.claims, func(other *Claim) bool { return other != claim && other.Here.Same(claim.Here) })
	if i < 0 {
		return nil
	}
	return r.claims[i]
}

// decide decides which outbox a claim is, and whether it is served.
func (r *register) decide(ctx context.Context, claim *Claim) error {
	missing, unfinished, err := r.missing(ctx, claim)
	if err != nil {
		return err
	}
	goesOn := missing.ID != "" && claim.found.ID == "" && claim.Dir.Why() == nil && claim.mayGoOn(missing.Directory)
	requests := false
	if goesOn {
		if requests, err = claim.holdsRequests(ctx); err != nil && claim.Dir.Alive() == nil {
			return err
		}
	}
	switch {
	case claim.Dir.Why() != nil:
		r.wait(claim, missing, &ElsewhereError{Closed: claim.Dir.Why()})
	case unfinished:
		r.wait(claim, missing, &ElsewhereError{Whose: claim.found.Name, Unfinished: true})
	case claim.found.ID != "" && r.mayBeExchanged(claim):
		found := claim.found
		claim.found = journal.Outbox{} // an operator must decide whose directory it is
		r.wait(claim, found, &ElsewhereError{Twin: r.otherThan(claim, found), Whose: found.Name})
	case claim.found.ID != "":
		r.bind(claim, claim.found)
	case claim.Dir.Alive() != nil:
		r.wait(claim, missing, &ElsewhereError{Left: true})
	case r.looksLike(claim) != "":
		if free := r.free(claim); missing.ID == "" && len(free) > 0 {
			missing = free[0]
		}
		r.wait(claim, missing, &ElsewhereError{Twin: r.looksLike(claim), Whose: missing.Name})
	case missing.ID == "":
		r.take(claim, journal.Outbox{ID: journal.NewOutboxID(append(r.known, r.changed...))})
	case !goesOn, requests:
		r.wait(claim, missing, &ElsewhereError{Requests: requests})
	default:
		claim.log.Warn("the outbox has another directory now; no run was unfinished and no request lies there, so the watcher serves the outbox there",
			"id", missing.ID, "directory", claim.Here.String(), "had", missing.Directory.String())
		r.take(claim, missing)
	}
	return nil
}

// mayGoOn reports whether the outbox may continue in the claim's directory without an operator's word. It may in two
// cases: the earlier directory lay on a tmpfs of an earlier boot, so nothing can come back from it; or a person who
// runs the watcher by hand may have made the directory anew. In any other case the right file system may just not be
// mounted.
func (c *Claim) mayGoOn(was inode.Directory) bool {
	return was.IsGone(c.Here) || c.Remade && was.OnFileSystemOf(c.Here)
}

// mayBeExchanged reports whether the claim's directory looks like another outbox's and was last served as a different
// outbox. Then its name proves nothing. If an operator accepts it all the same, the requests there are refused (Lost).
func (r *register) mayBeExchanged(claim *Claim) bool {
	looksAlike := len(r.alike(claim)) > 1 || r.twinOf(claim) != nil
	return looksAlike && !claim.found.Lost && claim.servedAsAnother(claim.found)
}

// otherThan names an outbox other than o whose directory has the same numbers as the claim's.
func (r *register) otherThan(claim *Claim, o journal.Outbox) string {
	for _, other := range r.alike(claim) {
		if other.ID != o.ID {
			return other.Name
		}
	}
	return r.twinOf(claim).Name
}

// missing finds the outbox that should lie where the claim leads and whose directory no claim has. It looks for an
// outbox with the claim's name first, then for an outbox with the claim's path and with unfinished runs. unfinished
// tells whether the outbox has any.
func (r *register) missing(ctx context.Context, claim *Claim) (o journal.Outbox, unfinished bool, err error) {
	for _, o := range r.known {
		if called(claim, o) && r.owner[o.ID] == nil {
			unfinished, err := r.hasUnfinished(ctx, o)
			return o, unfinished, err
		}
	}
	if claim.found.ID != "" {
		return journal.Outbox{}, false, nil
	}
	for _, o := range r.known {
		if !liesAt(claim, o) || r.owner[o.ID] != nil || r.configured(o) {
			continue
		}
		if unfinished, err := r.hasUnfinished(ctx, o); unfinished || err != nil {
			return o, unfinished, err
		}
	}
	return journal.Outbox{}, false, nil
}

func (r *register) hasUnfinished(ctx context.Context, o journal.Outbox) (bool, error) {
	runs, err := r.journal.UnfinishedOf(ctx, o.ID, 1)
	return len(runs) > 0, err
}

// configured reports whether the configuration still has the name of a known outbox.
func (r *register) configured(o journal.Outbox) bool {
	return slices.ContainsFunc(r.claims, func(claim *Claim) bool { return called(claim, o) })
}

// looksLike names an outbox whose directory has the same numbers as the claim's, or returns "". If several new
// directories have the same numbers, the first becomes an outbox, and looksLike returns "" for it.
func (r *register) looksLike(claim *Claim) string {
	if known := r.alike(claim); len(known) > 0 {
		return known[0].Name
	}
	if twin := r.twinOf(claim); twin != nil && twin.ID != "" {
		return twin.Name
	}
	return ""
}

// wait keeps a claim from being served, and sets aside the runs of the outbox that it should be. A zero o means that
// this outbox is not known.
func (r *register) wait(claim *Claim, o journal.Outbox, why *ElsewhereError) {
	for _, other := range r.free(claim) {
		claim.maybe = append(claim.maybe, other.ID)
	}
	why.Name, why.Path = claim.Name, claim.Dir.Path()
	if o.ID != "" {
		r.owner[o.ID] = claim
	}
	claim.ID, claim.known, claim.elsewhere = o.ID, o, why
	if why.Closed == nil { // otherwise the host has logged it
		claim.log.Error("the outbox is not served", "error", why)
	}
}

// take binds a claim whose directory belongs to no outbox. A watcher that served the directory before did so under
// another journal or as another outbox, so the requests there may have run.
func (r *register) take(claim *Claim, o journal.Outbox) {
	if served, by := claim.served(); !o.Lost && served && by != (mark{r.journal.Installation(), o.ID}) {
		o.Lost = true
		claim.tellLost()
	}
	r.bind(claim, o)
}

// bind makes the claim serve an outbox.
func (r *register) bind(claim *Claim, o journal.Outbox) {
	was := o
	if !o.Lost && claim.servedAsAnother(o) {
		o.Lost = true
		claim.tellLost()
	}
	if was.Name != "" && was.Name != claim.Name {
		claim.log.Warn("the outbox has another name now; the watcher serves it as before", "was", was.Name, "id", o.ID)
	}
	o.Name, o.Named, o.Path, o.Directory = claim.Name, true, claim.Dir.Path(), claim.Here
	r.owner[o.ID] = claim
	claim.ID, claim.known, claim.Lost = o.ID, o, o.Lost
	if o != was {
		r.changed = append(r.changed, o)
	}
}
