package watcher

import (
	"context"
	"errors"
	"fmt"

	"torno/internal/control"
	"torno/internal/crash"
	"torno/internal/journal"
)

// Accept says what the directory is that the name of an outbox leads to. The decision is in the journal when it returns; the
// outbox is served a moment later, when the watcher has opened its outboxes anew. What is unfinished of an outbox whose name
// another one gets is ended then, as that of an outbox that is not in the configuration any more.
func (o *Operator) Accept(ctx context.Context, outbox string, as control.Identity) (control.Accepted, error) {
	switch {
	case o.Watcher == nil:
		return control.Accepted{}, control.ErrNoWatcher
	case as != control.Same && as != control.New:
		return control.Accepted{}, fmt.Errorf("a directory is the %q outbox or a %q one, and not %q", control.Same, control.New, as)
	}
	if err := o.Watcher.awaitLook(ctx); err != nil {
		return control.Accepted{}, err
	}
	for _, box := range o.Watcher.boxes {
		if box.name == outbox {
			return o.Watcher.accept(ctx, box, as)
		}
	}
	return control.Accepted{}, fmt.Errorf("%w: %q", control.ErrNoOutbox, outbox)
}

// accept binds the directory that is held, which is the one that the operator was told of.
func (w *Watcher) accept(ctx context.Context, box *outbox, as control.Identity) (control.Accepted, error) {
	w.accepting.Lock()
	defer w.accepting.Unlock()
	if box.elsewhere == nil || box.accepted.Load() {
		return control.Accepted{}, fmt.Errorf("%w: the name %s leads to the outbox's own directory, or did when the watcher looked last; "+
			"if it does not now, restart the watcher first", control.ErrAsked, box.name)
	}
	if err := box.dir.Alive(); err != nil {
		return control.Accepted{}, errors.Join(errors.New("the directory that was found there has gone again, so nothing is accepted"), err)
	}
	known, err := w.journal.Outboxes(ctx)
	if err != nil {
		return control.Accepted{}, err
	}
	if as == control.Same && box.found.ID != "" {
		return control.Accepted{}, fmt.Errorf("the directory is that of the outbox that was called %s, and what lies there would run again under another one; "+
			"accept it as what it is with --new, or mount the right directory", box.found.Name)
	}
	accepted := box.known
	switch {
	case as == control.Same && accepted.ID == "":
		return control.Accepted{}, errors.New("no outbox is known that this directory could be; accept it with --new, or take its name out of the configuration")
	case as == control.Same && box.servedAsAnother():
		accepted.Lost = true
	case as == control.New && box.found.ID != "":
		accepted = box.found
	case as == control.New:
		served, _ := box.served()
		accepted = journal.Outbox{ID: journal.NewOutboxID(known), Lost: served}
	}
	accepted.Name, accepted.Path, accepted.Directory = box.name, box.dir.Path(), box.here
	crash.At("outbox.accepted")
	if err := w.journal.AcceptOutbox(ctx, accepted); err != nil {
		return control.Accepted{}, err
	}
	box.accepted.Store(true)
	w.log.Warn("an operator has accepted a directory", "outbox", box.name, "as", as, "id", accepted.ID, "directory", box.here.String())
	return control.Accepted{Name: box.name, ID: accepted.ID, Dir: box.dir.Path(), As: as}, nil
}
