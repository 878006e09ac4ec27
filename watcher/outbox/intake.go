package outbox

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"torno/delegation"
	"torno/internal/crash"
	"torno/internal/journal"
)

// admitter takes requests in: it leads each file to the queue, or to a refusal and its answer.
type admitter struct {
	*Outbox
	costs *costs
	gate  *gate          // guards the journal
	waits map[string]int // by file name: how often the request has waited for its parent's request
}

// look handles one request file: it leads the file to the queue or to a refusal. It returns the time until the next
// look, or 0 if the file needs none.
func (d *admitter) look(ctx context.Context, name, rawID string, waited bool) time.Duration {
	seen, reading := time.Now(), d.costs.meters.Start()
	if _, ok := delegation.ResponseNameFor(rawID); !ok {
		return 0
	}
	stamp, err := d.Dir.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		delete(d.waits, name)
		return d.requestGone(rawID, waited)
	}
	if err != nil {
		d.Stumble("look at a request", err)
		return settle
	}
	r := d.newest(rawID)
	if r != nil && admissionOf(r).Reading().Unchanged(stamp) {
		return 0
	}
	if pause := d.gate.wait(); pause > 0 {
		return pause
	}
	known, ok, err := d.byFile(ctx, name, stamp)
	if err != nil {
		return d.gate.trouble(err)
	}
	over := ok && known.State == delegation.StateEnded
	if over && known.Reading().Unchanged(stamp) {
		if !known.Answered || d.unreadable(known) {
			d.answerAgain(known, known.Reading())
		}
		return 0
	}
	data, read, err := d.Dir.ReadRequest(name, d.Settings.MaxRequestBytes)
	was := known.Reading()
	if r != nil {
		was = admissionOf(r).Reading()
	}
	if longer := d.longer(was); errors.Is(err, delegation.ErrTooBig) && longer > 0 && known.Code != delegation.CodeTooBig {
		switch text, again, failed := d.Dir.ReadRequest(name, longer); {
		case failed == nil && again.Content == was.Content:
			data, read, err = text, again, nil // what was admitted under a higher limit stays admitted
		case failed != nil && delegation.RefuseEntry(name, failed) == nil:
			if isShortage(name, failed) {
				d.Stumble("read a request", failed)
			}
			return settle // it may be the same request
		}
	}
	switch {
	case r != nil && admissionOf(r).Reading().Same(read):
		admissionOf(r).read.Store(&read)
		return 0
	case over && known.Reading().Same(read):
		d.readAgain(known, read)
		return 0
	}
	defer d.costs.exempt(reading)
	if !ok || known.Content != read.Content {
		d.dropStale(rawID, stamp)
	}
	return d.takeIn(ctx, Intake{name: name, rawID: rawID, read: read, seen: seen, data: data}, err)
}

// listed is called at the end of a listing. all tells whether every request in it was dealt with for good.
func (d *admitter) listed(ctx context.Context, all bool) {
	if !d.Lost || !all {
		return
	}
	if err := d.LookedThrough(ctx); err != nil {
		d.gate.trouble(err)
	}
}

// byFile finds a file's run by the file's stamp. If that run was lost and attempted again, byFile returns the last
// attempt, because that attempt owes the response; its stamp may be too young to be trusted even if the lost run's is
// not.
func (d *admitter) byFile(ctx context.Context, name string, stamp delegation.Stamp) (journal.Run, bool, error) {
	known, ok, err := d.Journal.ByFile(ctx, d.ID, name, stamp)
	if err != nil || known.Reason != delegation.ReasonLost {
		return known, ok, err
	}
	key := known.RunKey()
	if key.Attempt, err = d.Journal.Attempts(ctx, d.ID, key.Subagent, key.Request); err == nil && key.Attempt > known.Attempt {
		known, err = d.Journal.Get(ctx, key.Hash())
	}
	return known, ok, err
}

// readAgain handles the request of an ended run. The file was read again, because its stamp was too young to be
// trusted, and it holds the same bytes. But its client may have written them anew meanwhile: a missing response shows
// that. Once the stamp is old enough, the journal notes it, and the file need not be read again.
func (d *admitter) readAgain(known journal.Run, read delegation.Reading) {
	switch {
	case !known.Answered, d.unreadable(known):
		d.answerAgain(known, read)
	case read.Firm:
		crash.At("again.filed")
		if err := d.Journal.Refile(d.Life, known.Key, read, true); err != nil {
			d.gate.trouble(err)
		}
	}
}

// Intake is a request file that was read once.
type Intake struct {
	name, rawID string
	read        delegation.Reading
	seen        time.Time
	data        []byte
	Request     delegation.Request // decoded from data, if that is possible
	descent     journal.Descent
	made        bool // the client made the workspace
}

// unsettled reports whether a file is perhaps only half written, or is just getting its name by a link (PublishNew), so
// that it deserves another look. A file time in the future is no excuse, because the writer can set it.
func (in Intake) unsettled(refusal *delegation.Refusal) bool {
	named := refusal.Code == delegation.CodeNotAFile && in.read.Stamp.Links == 2
	return (refusal.Code == delegation.CodeUnparsable || named) && time.Since(in.read.Stamp.ModTime).Abs() < settle
}
