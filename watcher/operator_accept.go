package watcher

import (
	"context"
	"errors"
	"fmt"

	"torno/internal/control"
	"torno/watcher/outbox"
	"torno/watcher/outbox/identity"
)

// Accept carries out the operator's decision on which outbox a directory is. When Accept returns, the decision is in
// the journal. The watcher serves the outbox a moment later, after it has opened its outboxes anew. If an outbox loses
// its name by this, its unfinished runs are ended then, as for an outbox that is no longer in the configuration.
func (o *Operator) Accept(ctx context.Context, outbox string, as control.Identity) (control.Accepted, error) {
	switch {
	case o.Watcher == nil:
		return control.Accepted{}, control.ErrNoWatcher
	case as != control.Same && as != control.New:
		return control.Accepted{}, fmt.Errorf("accept a directory as the %q outbox or as a %q one, not as %q", control.Same, control.New, as)
	}
	if err := o.Watcher.awaitLook(ctx); err != nil {
		return control.Accepted{}, err
	}
	for _, box := range o.Watcher.boxes {
		if box.Name == outbox {
			return o.Watcher.accept(ctx, box, as)
		}
	}
	return control.Accepted{}, fmt.Errorf("%w: %q", control.ErrNoOutbox, outbox)
}

// accept binds the outbox to the directory that is open now: the operator was shown this directory.
func (w *Watcher) accept(ctx context.Context, box *outbox.Outbox, as control.Identity) (control.Accepted, error) {
	w.accepting.Lock()
	defer w.accepting.Unlock()
	accepted, err := box.Accept(ctx, as == control.Same)
	if errors.Is(err, identity.ErrNotAsked) {
		err = fmt.Errorf("%w: %w", control.ErrAsked, err)
	}
	if err != nil {
		return control.Accepted{}, err
	}
	return control.Accepted{Name: box.Name, ID: accepted.ID, Dir: box.Dir.Path(), As: as}, nil
}
