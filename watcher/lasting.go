package watcher

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"torno/delegation"
	"torno/internal/crash"
	"torno/internal/inode"
	"torno/internal/journal"
	"torno/sandbox"
	"torno/watcher/schedule"
)

// ElsewhereError says that an outbox's name leads to another directory than its own.
type ElsewhereError struct {
	Name, Path string
	Whose      string // the outbox that has the other directory, "" where none has
	Unfinished bool   // runs of the outbox have no end or no answer yet
	Requests   bool   // requests lie in the other directory
	Left       bool   // the other directory left the path while the watcher looked at it
}

func (e *ElsewhereError) Error() string {
	whose, stake := "another directory than before", "requests lie in that directory"
	if e.Whose != "" {
		whose = "the directory of the outbox that was called " + e.Whose
	}
	if e.Left {
		return fmt.Sprintf("outbox %s led to another directory than before, and that directory left %s while the watcher looked at it; "+
			"the watcher looks again as soon as a directory is there", e.Name, e.Path)
	}
	switch {
	case e.Unfinished && e.Requests:
		stake = "runs of the outbox are unfinished, and " + stake
	case e.Unfinished:
		stake = "runs of the outbox are unfinished"
	}
	return fmt.Sprintf("outbox %s leads to %s, and that is %s; %s. Mount or move the right one there, or say "+
		"which it is: `watcher outbox accept %s --same` where this directory is the outbox from now on, --new where it is another outbox",
		e.Name, e.Path, whose, stake, e.Name)
}

// identify finds out which outbox each configured directory is (I21). The directory decides: an outbox keeps its id under
// another name. A name that leads to another directory than before is not served, unless nothing is at stake.
//
// It comes before anything is read from an outbox, and before any record is settled.
func (w *Watcher) identify(ctx context.Context) error {
	defer close(w.looked)
	known, err := w.journal.Outboxes(ctx)
	if err != nil {
		return err
	}
	r := &register{w: w, known: known, owner: make(map[string]*outbox)}
	for _, box := range w.boxes {
		if err := r.byDirectory(box); err != nil {
			return err
		}
	}
	for _, decide := range []func(context.Context, *outbox) error{r.renamed, r.byName} {
		for _, box := range w.boxes {
			if box.id != "" {
				continue
			}
			if err := decide(ctx, box); err != nil {
				return fmt.Errorf("find out which outbox %s is: %w", box.name, err)
			}
		}
	}
	if len(r.changed) == 0 {
		return nil
	}
	crash.At("outbox.kept")
	return w.journal.KeepOutboxes(ctx, r.changed)
}

// awaitLook waits until it is known which outboxes there are: operators may ask before.
func (w *Watcher) awaitLook(ctx context.Context) error {
	select {
	case <-w.looked:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// register is the state of identify.
type register struct {
	w       *Watcher
	known   []journal.Outbox
	owner   map[string]*outbox // by id
	changed []journal.Outbox
}

// byDirectory finds the outbox that has a box's directory.
func (r *register) byDirectory(box *outbox) (err error) {
	if box.here, err = box.directory(); err != nil {
		return err
	}
	for _, o := range r.known {
		if !o.Directory.Same(box.here) {
			continue
		}
		if other := r.owner[o.ID]; other != nil {
			return fmt.Errorf("outboxes %s and %s are one directory, %s; an outbox has one name", other.name, box.name, box.here)
		}
		box.found, r.owner[o.ID] = o, box
		return nil
	}
	return nil
}

// renamed decides about a box that has the directory of a known outbox: it is that one under any name. Where another outbox has
// the name, is not there itself and has unfinished runs, two disks may have been exchanged, and only the operator knows.
func (r *register) renamed(ctx context.Context, box *outbox) error {
	if box.found.ID == "" {
		return nil
	}
	for _, o := range r.known {
		if !o.Named || o.Name != box.name || r.owner[o.ID] != nil {
			continue
		}
		unfinished, err := r.w.journal.UnfinishedOf(ctx, o.ID, 1)
		if err != nil {
			return err
		}
		if len(unfinished) > 0 {
			r.leadsElsewhere(box, o, &ElsewhereError{Whose: box.found.Name, Unfinished: true})
			return nil
		}
	}
	if box.found.Name != box.name {
		box.log.Warn("the outbox has another name now, and goes on as it was", "was", box.found.Name, "id", box.found.ID)
	}
	r.is(box, box.found)
	return nil
}

// byName decides about a box whose directory no outbox has: it is new, or it takes the place of an outbox's directory, or the
// name leads elsewhere.
func (r *register) byName(ctx context.Context, box *outbox) error {
	served, mark := box.served()
	o, by, err := r.claimed(ctx, box, mark)
	if err != nil {
		return err
	}
	if by == nil {
		r.begin(box, served)
		return nil
	}
	unfinished, err := r.w.journal.UnfinishedOf(ctx, o.ID, settled)
	if err != nil {
		return err
	}
	if o.Directory.IsZero() && (mark.tells(o, r.w.journal.Installation()) || box.holdsOne(unfinished)) {
		box.log.Info("the outbox of an earlier version is bound to its directory", "id", o.ID, "directory", box.here.String())
		r.is(box, o)
		return nil
	}
	requests, err := box.holdsRequests(ctx)
	left := box.dir.Alive() != nil // what was seen in it says nothing of the path any more, and awaitReturn looks there again
	switch {
	case left:
	case err != nil:
		return err
	case len(unfinished) == 0 && !requests:
		box.log.Warn("the outbox has another directory now; nothing was unfinished and no request lies there, so it is bound to that one",
			"id", o.ID, "directory", box.here.String())
		r.is(box, o)
		return nil
	}
	r.leadsElsewhere(box, o, &ElsewhereError{Unfinished: len(unfinished) > 0, Requests: requests, Left: left})
	return nil //nolint:nilerr // what could not be listed has left, and says nothing of the path
}

// leadsElsewhere keeps a box from being served: it should be a certain outbox, and its directory is not that one's.
func (r *register) leadsElsewhere(box *outbox, o journal.Outbox, why *ElsewhereError) {
	why.Name, why.Path = box.name, box.dir.Path()
	r.owner[o.ID] = box
	box.id, box.known, box.elsewhere = o.ID, o, why
	box.away.Store(true)
	box.gone.Raise(delegation.NoticeOutbox, nil)
	box.log.Error("the outbox is not served", "error", why)
}

// claimed finds the outbox that a box may be although its directory says nothing: the one of its name; else one whose runs are
// unfinished and whose path, or whose mark, is there. by is nil where there is none.
func (r *register) claimed(ctx context.Context, box *outbox, m mark) (o journal.Outbox, by *outbox, err error) {
	for _, o := range r.known {
		if o.Named && o.Name == box.name && r.owner[o.ID] == nil {
			return o, box, nil
		}
	}
	for _, o := range r.known {
		if r.owner[o.ID] != nil || r.w.configured(o) || o.Path != box.dir.Path() && !m.tells(o, r.w.journal.Installation()) {
			continue
		}
		unfinished, err := r.w.journal.UnfinishedOf(ctx, o.ID, 1)
		if err != nil || len(unfinished) > 0 {
			return o, box, err
		}
	}
	return journal.Outbox{}, nil, nil
}

// configured says whether a configured outbox still has the name of a known one.
func (w *Watcher) configured(o journal.Outbox) bool {
	return o.Named && slices.ContainsFunc(w.boxes, func(box *outbox) bool { return box.name == o.Name })
}

// begin takes a directory for an outbox of its own. Where another watcher served it, or this one under a journal that is gone,
// what lies there may have run.
func (r *register) begin(box *outbox, served bool) {
	o := journal.Outbox{ID: journal.NewOutboxID(append(r.known, r.changed...)), Lost: served}
	if served {
		box.tellLost()
	}
	r.is(box, o)
}

// is binds a box to an outbox.
func (r *register) is(box *outbox, o journal.Outbox) {
	was := o
	if !o.Lost && box.servedByAnother() {
		o.Lost = true
		box.tellLost()
	}
	o.Name, o.Named, o.Path, o.Directory = box.name, true, box.dir.Path(), box.here
	r.owner[o.ID] = box
	box.id, box.known, box.lost = o.ID, o, o.Lost
	if o != was {
		r.changed = append(r.changed, o)
	}
}

// directory is the lasting identity of the directory that is held.
func (o *outbox) directory() (inode.Directory, error) {
	held, err := o.dir.Reopen()
	if err != nil {
		return inode.Directory{}, fmt.Errorf("open outbox %s once more: %w", o.name, err)
	}
	defer held.Close()
	return inode.Of(held)
}

// mark is what a heartbeat says of the watcher that wrote it. A parent can write any: by a false one it makes its own requests
// refused, or its own outbox wait for the operator.
type mark struct{ installation, id, name string }

// tells says whether the mark is that of an outbox. Watchers of before wrote the name alone.
func (m mark) tells(o journal.Outbox, installation string) bool {
	if m.installation == "" && m.id == "" {
		return o.Directory.IsZero() && m.name == o.Name && m.name != ""
	}
	return m.installation == installation && m.id == o.ID
}

// maxMark bounds what is read of a heartbeat.
const maxMark = 64 << 10

// served says whether a watcher has served the directory, and what the last one said of itself. Any entry of the heartbeat's
// name says so, whatever it is: a power cut can leave an empty one. It is the only file of ours that is read, as hostile as a request.
func (o *outbox) served() (served bool, m mark) {
	if _, err := o.dir.Stat(delegation.HeartbeatName); errors.Is(err, fs.ErrNotExist) {
		return false, mark{}
	}
	data, _, err := o.dir.Read(delegation.HeartbeatName, maxMark)
	if err != nil {
		return true, mark{}
	}
	beat, err := delegation.DecodeHeartbeat(data)
	if err != nil {
		return true, mark{}
	}
	return true, mark{beat.Installation, beat.OutboxID, beat.Outbox}
}

// holdsOne says whether the request of one of these runs lies in the directory.
func (o *outbox) holdsOne(runs []journal.Run) bool {
	return slices.ContainsFunc(runs, func(r journal.Run) bool {
		there, err := o.stillThere(r.FileName, r.Reading())
		return there && err == nil
	})
}

// errFound ends a listing.
var errFound = errors.New("found")

// holdsRequests says whether any request lies in the directory.
func (o *outbox) holdsRequests(ctx context.Context) (bool, error) {
	err := o.dir.Names(ctx, listChunk, func(names []string) error {
		for _, name := range names {
			if kind, _ := delegation.ParseName(name); kind == delegation.KindRequest {
				return errFound
			}
		}
		return nil
	})
	if errors.Is(err, errFound) {
		return true, nil
	}
	return false, err
}

// awaitReturn asks for all outboxes to be opened anew when the path leads to another directory than the one that was found
// there, or when an operator has decided.
func (o *outbox) awaitReturn(ctx context.Context) {
	ticker := time.NewTicker(awayEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if o.accepted.Load() || o.replaced() {
			o.reopen()
		}
	}
}

// replaced says whether another directory can be opened at the outbox's path than the held one.
func (o *outbox) replaced() bool {
	if o.dir.Alive() == nil {
		return false
	}
	there, err := delegation.OpenDir(o.dir.Path())
	if err != nil {
		return false
	}
	return there.Close() == nil
}

// Reopen is closed when the outboxes are to be opened anew by another watcher: the directory of one of them was not there and
// may be now. This watcher serves on until it is told to stop.
func (w *Watcher) Reopen() <-chan struct{} { return w.again }

// leaveAside leaves everything of a run as it is whose outbox's directory is not there: nobody can tell whether its client still
// waits. Its workspace stays taken. A sandbox in which nothing ever ran, or whose run has ended, is of no use to it.
func (w *Watcher) leaveAside(ctx context.Context, box *outbox, record journal.Run, h sandbox.Handle, there bool) {
	w.aside[record.Key] = true
	switch {
	case !there && w.isElsewhere(record):
		ticket := reservation(record)
		w.deserted.Store(record.Key, ticket)
		w.schedule.Reserve(ctx, ticket)
		w.log.Warn("a run is stranded, and its outbox is not served", "outbox", record.Outbox, "run", record.Key,
			"error", record.Handle.On(w.engines[record.Handle.Launcher]))
		return
	case !there:
		return
	case record.Handle == nil || record.State == delegation.StateEnded:
		if h.State != sandbox.HandleUncertain {
			w.removeLater(record.Key, h)
		}
		return
	}
	w.left.Add(1)
	w.schedule.Reserve(ctx, reservation(record))
	w.log.Warn("a run goes on without a watcher until the directory of its outbox is back", "outbox", box.name, "run", record.Key)
}

// reservation is the ticket of a run without a watcher: it keeps the run's workspace and its subagent.
func reservation(record journal.Run) *schedule.Ticket {
	return &schedule.Ticket{
		Subject: schedule.Subject{Outbox: record.Outbox, Subagent: record.Subagent}, Above: record.Handle.Above,
		Anywhere: len(record.Handle.Above) == 0,
	}
}
