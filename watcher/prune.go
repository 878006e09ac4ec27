package watcher

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"time"

	"torno/internal/crash"
	"torno/internal/journal"
	"torno/watcher/limit"
)

// Limits for pruning the journal.
const (
	pruneEvery = time.Minute
	pruneBatch = 32  // rows in one transaction: a few milliseconds
	pruneShare = 20  // pruning uses at most 1/pruneShare of a core
	keyBatch   = 256 // more than pruneBatch, because keys are smaller
)

// archive lists the journal's methods that pruning needs.
type archive interface {
	OverSince(ctx context.Context, outbox string, r journal.Retention, now time.Time) (time.Time, error)
	ListOver(ctx context.Context, outbox string, before time.Time, after journal.Over, limit int) ([]journal.Over, error)
	Forget(ctx context.Context, rows []journal.Over) error
	OutboxesWithKeys(ctx context.Context) ([]string, error)
	KeysSince(ctx context.Context, outbox string, r journal.Retention, now time.Time) (time.Time, error)
	DropKeys(ctx context.Context, outbox string, before time.Time, limit int) (bool, error)
	Shrink(ctx context.Context) (bool, error)
}

// pruner keeps the journal within its retention. One goroutine, loop, does all the work in small pieces with rests
// between them. A run that is admitted or ends meanwhile waits for one piece at most. Each piece is complete in itself,
// so the work may be cut off anywhere and goes on in the next round. Rows of unserved outboxes stay, because the pruner
// cannot look at their requests.
type pruner struct {
	archive  archive
	bounds   journal.Retention
	outboxes []string
	gone     func(ctx context.Context, outbox string, row journal.Over) (bool, error)
	now      func() time.Time
	log      *slog.Logger

	share limit.Share
}

func (w *Watcher) newPruner() *pruner {
	p := &pruner{
		archive: w.journal, bounds: w.config.Retention, gone: w.requestIsGone, now: w.config.Now, log: w.log,
		share: limit.Share{Of: pruneShare},
	}
	for _, box := range w.boxes {
		if box.InOwnDirectory() {
			p.outboxes = append(p.outboxes, box.ID)
		}
	}
	return p
}

func (p *pruner) loop(ctx context.Context) {
	ticker := time.NewTicker(pruneEvery)
	defer ticker.Stop()
	for {
		if err := p.round(ctx); err != nil && ctx.Err() == nil {
			p.log.Warn("the journal cannot be pruned; trying again in a while", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// round goes once through everything that has ended.
func (p *pruner) round(ctx context.Context) error {
	for _, outbox := range p.outboxes {
		if err := p.rows(ctx, outbox); err != nil {
			return err
		}
	}
	names, err := p.archive.OutboxesWithKeys(ctx)
	if err != nil {
		return err
	}
	for _, outbox := range names {
		if err := p.keys(ctx, outbox); err != nil {
			return err
		}
	}
	return p.repeat(ctx, func() (bool, error) {
		crash.At("prune.shrunk")
		return p.archive.Shrink(ctx)
	})
}

// rows removes an outbox's ended runs from the journal if their request is gone (invariant I10).
func (p *pruner) rows(ctx context.Context, outbox string) error {
	since, err := p.archive.OverSince(ctx, outbox, p.bounds, p.now())
	if err != nil || since.IsZero() {
		return err
	}
	var last journal.Over
	return p.repeat(ctx, func() (bool, error) {
		rows, err := p.archive.ListOver(ctx, outbox, since, last, pruneBatch)
		if err != nil || len(rows) == 0 {
			return false, err
		}
		last = rows[len(rows)-1]
		return true, p.forget(ctx, outbox, rows)
	})
}

func (p *pruner) forget(ctx context.Context, outbox string, rows []journal.Over) error {
	var gone []journal.Over
	for _, row := range rows {
		is, err := p.gone(ctx, outbox, row)
		if err != nil {
			return err
		}
		if is {
			gone = append(gone, row)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	crash.At("prune.forgotten")
	return p.archive.Forget(ctx, gone)
}

// keys drops the keys that are no longer needed to refuse an old request.
func (p *pruner) keys(ctx context.Context, outbox string) error {
	since, err := p.archive.KeysSince(ctx, outbox, p.bounds, p.now())
	if err != nil {
		return err
	}
	return p.repeat(ctx, func() (bool, error) {
		crash.At("prune.dropped")
		return p.archive.DropKeys(ctx, outbox, since, keyBatch)
	})
}

// repeat runs piece until there is no more to do, and rests after each.
func (p *pruner) repeat(ctx context.Context, piece func() (more bool, err error)) error {
	for {
		begin := time.Now()
		more, err := piece()
		if err != nil || !more {
			return err
		}
		p.share.Pause(ctx, time.Since(begin)) // the whole time counts: so long others waited for the journal
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// requestIsGone reports whether the request of a row is gone from its outbox: no file has its name, or the file is
// known to be another request. If the file cannot be examined, it may still be the request, so the row stays.
func (w *Watcher) requestIsGone(ctx context.Context, outbox string, row journal.Over) (bool, error) {
	box := w.boxOf(outbox)
	if box == nil {
		return false, nil
	}
	stamp, err := box.Dir.Stat(row.FileName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, nil //nolint:nilerr // keep the row if the file cannot be examined
	case stamp.SameFile(row.Stamp):
		return false, nil
	}
	other, known, err := w.journal.ByFile(ctx, outbox, row.FileName, stamp)
	if err != nil || !known || other.Key == row.Key {
		return false, err
	}
	is, err := box.StillThere(row.FileName, other.Reading())
	return is && err == nil, nil
}
