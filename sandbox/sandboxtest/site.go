package sandboxtest

import (
	"context"
	"fmt"
	"maps"

	"torno/sandbox"
)

// FirstSite is the id of the site with which a World begins.
const FirstSite = "site-1"

// Exchange makes another site answer in place of the present site. Every connection breaks. The sandboxes of the
// earlier site live on with it, and are there again when that site is put back. A fake stays with the site on which it
// was made.
func (w *World) Exchange(site string) {
	w.mu.Lock()
	w.site = site
	fakes := w.fakes
	w.mu.Unlock()
	for _, f := range fakes {
		f.hangUp()
	}
}

// hangUp ends the attachments of a fake.
func (f *Fake) hangUp() {
	f.mu.Lock()
	attached := maps.Clone(f.attached)
	f.mu.Unlock()
	for a := range attached {
		a.Close()
	}
}

// Site returns the site on which the fake was made.
func (f *Fake) Site(ctx context.Context) (id string, err error) {
	err = f.do(ctx, OpSite, func() error { id = f.site; return nil })
	return id, err
}

// ours returns an error if another site than the fake's answers.
func (f *Fake) ours() error {
	f.world.mu.Lock()
	defer f.world.mu.Unlock()
	if f.world.site == f.site {
		return nil
	}
	return fmt.Errorf("site %s answers and %s does not: %w", f.world.site, f.site, sandbox.ErrOtherSite)
}
