package watcher

import (
	"context"
	"fmt"
	"os"
	"strings"

	"torno/delegation"
	"torno/internal/control"
	"torno/internal/journal"
	"torno/sandbox"
)

// Operator is what the control socket gives access to. Without a running watcher it still shows the journal.
type Operator struct {
	Journal *journal.Journal
	Watcher *Watcher // nil when none runs here
}

var _ control.Service = (*Operator)(nil)

// minRef is the shortest beginning of a key that counts as one.
const minRef = 4

// Status says who serves what.
func (o *Operator) Status(ctx context.Context) (control.Status, error) {
	w := o.Watcher
	if w == nil {
		return control.Status{}, control.ErrNoWatcher
	}
	s := control.Status{Version: w.config.Version, Installation: o.Journal.Installation(), PID: os.Getpid(), StartedAt: w.born}
	for _, box := range w.boxes {
		status := control.OutboxStatus{Name: box.name, Dir: box.dir.Path()}
		status.Running, status.Queued = w.scheduler.load(ctx, box)
		if err := box.dir.Alive(); err != nil {
			status.Trouble = err.Error()
		}
		s.Outboxes = append(s.Outboxes, status)
	}
	for name, launcher := range w.config.Launchers {
		guarantees, err := launcher.Check(ctx)
		if err != nil {
			return s, fmt.Errorf("ask %s what it enforces: %w", name, err)
		}
		s.Launchers = append(s.Launchers, control.Launcher{Name: name, Guarantees: guarantees})
	}
	return s, nil
}

// Runs lists runs, newest first.
func (o *Operator) Runs(ctx context.Context, q control.Query) ([]control.Run, error) {
	records, err := o.Journal.List(ctx, journal.Query{Outbox: q.Outbox, ActiveOnly: !q.All, Limit: q.Limit})
	runs := make([]control.Run, 0, len(records))
	for _, record := range records {
		runs = append(runs, control.FromJournal(record))
	}
	return runs, err
}

// Run shows the run of a reference.
func (o *Operator) Run(ctx context.Context, ref string) (control.Run, error) {
	record, err := o.resolve(ctx, ref)
	return control.FromJournal(record), err
}

// resolve finds the run of a key, of the beginning of one, of a subagent, or of outbox/subagent.
func (o *Operator) resolve(ctx context.Context, ref string) (journal.Run, error) {
	outbox, name, qualified := strings.Cut(ref, "/")
	if !qualified {
		outbox, name = "", ref
	}
	recent, err := o.Journal.List(ctx, journal.Query{Outbox: outbox, Limit: 100_000})
	if err != nil {
		return journal.Run{}, err
	}
	var found *journal.Run
	for i, r := range recent {
		switch {
		case recordID(r) == name:
			return r, nil
		case !qualified && len(ref) >= minRef && strings.HasPrefix(r.Key, ref):
			if found != nil {
				return journal.Run{}, fmt.Errorf("%w: %q", control.ErrAmbiguous, ref)
			}
			found = &recent[i]
		}
	}
	if found == nil {
		return journal.Run{}, fmt.Errorf("%w: %q; `watcher ps -a` lists them", control.ErrNoRun, ref)
	}
	return *found, nil
}

// Cancel ends a run as an operator.
func (o *Operator) Cancel(ctx context.Context, ref string) (control.Run, error) {
	record, err := o.resolve(ctx, ref)
	if err != nil {
		return control.Run{}, err
	}
	if o.Watcher == nil {
		return control.Run{}, control.ErrNoWatcher
	}
	r := o.Watcher.running(record.Key)
	if r == nil {
		return control.Run{}, fmt.Errorf("%w: %s", control.ErrEnded, record.Key)
	}
	o.Watcher.scheduler.stop(ctx, r, delegation.ReasonOperator)
	select {
	case <-r.over:
	case <-ctx.Done():
		return control.Run{}, ctx.Err()
	}
	return o.Run(ctx, record.Key)
}

// Output shows a child's output: from the launcher while its sandbox is there, from the record's tails afterwards.
func (o *Operator) Output(ctx context.Context, ref string, follow bool, emit func(control.Output) error) error {
	record, err := o.resolve(ctx, ref)
	if err != nil {
		return err
	}
	if o.Watcher != nil && record.Handle != nil && record.State != delegation.StateEnded {
		return o.live(ctx, record, follow, emit)
	}
	for stream, text := range map[sandbox.Stream]string{sandbox.Stdout: record.StdoutTail, sandbox.Stderr: record.StderrTail} {
		if text == "" {
			continue
		}
		if err := emit(control.Output{Stream: stream, Bytes: []byte(text)}); err != nil {
			return err
		}
	}
	return nil
}

// live shows the output of a sandbox that is there, through an attachment of its own.
func (o *Operator) live(ctx context.Context, record journal.Run, follow bool, emit func(control.Output) error) error {
	launcher := o.Watcher.config.Launchers[record.Launcher]
	if launcher == nil {
		return fmt.Errorf("the launcher %q of run %s is not in use", record.Launcher, record.Key)
	}
	att, err := launcher.Open(ctx, *record.Handle, "")
	if err != nil {
		return err
	}
	defer att.Close()
	quiet := newQuiet(follow)
	defer quiet.stop()
	for {
		select {
		case chunk, open := <-att.Output():
			if !open {
				return nil
			}
			quiet.reset()
			if err := emit(control.Output{Stream: chunk.Stream, Bytes: chunk.Bytes, Gap: chunk.Gap}); err != nil {
				return err
			}
		case <-quiet.over():
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// running is the run of a key while it is on its road.
func (w *Watcher) running(key string) *run {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.owned[key]
}
