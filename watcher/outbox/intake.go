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

// look takes one request file from its name to the queue or to a refusal. It returns how long to wait before another
// look, or 0 when the file is dealt with.
func (s *scan) look(ctx context.Context, name, rawID string, waited bool) time.Duration {
	seen, reading := time.Now(), s.meters.Start()
	if _, ok := delegation.ResponseNameFor(rawID); !ok {
		return 0
	}
	stamp, err := s.Dir.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return s.requestGone(rawID, waited)
	}
	if err != nil {
		s.Stumble("look at a request", err)
		return settle
	}
	r, running := s.newest(rawID)
	if running && r.read.Load().Unchanged(stamp) {
		return 0
	}
	if pause := s.gate.wait(); pause > 0 {
		return pause
	}
	known, ok, err := s.byFile(ctx, name, stamp)
	if err != nil {
		return s.journalTrouble(err)
	}
	over := ok && known.State == delegation.StateEnded
	if over && known.Reading().Unchanged(stamp) {
		if !known.Answered || s.first && s.unreadable(known) {
			s.answerAgain(known, known.Reading())
		}
		return 0
	}
	data, read, err := s.Dir.ReadRequest(name, s.Settings.MaxRequestBytes)
	switch {
	case running && r.read.Load().Same(read):
		r.read.Store(&read)
		return 0
	case over && known.Reading().Same(read):
		s.readAgain(known, read)
		return 0
	}
	defer s.spend(reading)
	if !ok || known.Content != read.Content {
		s.dropStale(rawID, stamp)
	}
	return s.takeIn(ctx, Intake{name: name, rawID: rawID, read: read, seen: seen, data: data}, err)
}

// byFile finds a file's run by its stamp. If that run was lost and attempted again, it returns the last attempt, which owes the
// response: that one's stamp may be too young to tell where the lost one's is not.
func (s *scan) byFile(ctx context.Context, name string, stamp delegation.Stamp) (journal.Run, bool, error) {
	known, ok, err := s.Journal.ByFile(ctx, s.ID, name, stamp)
	if err != nil || known.Reason != delegation.ReasonLost {
		return known, ok, err
	}
	key := known.RunKey()
	if key.Attempt, err = s.Journal.Attempts(ctx, s.ID, key.Subagent, key.Request); err == nil && key.Attempt > known.Attempt {
		known, err = s.Journal.Get(ctx, key.Hash())
	}
	return known, ok, err
}

// readAgain handles the request of a run that is over, whose file was read again, because its stamp was too young to tell, and has not
// changed. Its client may have written it anew meanwhile, to the byte: a missing response shows that it did. Once the stamp is
// old, the journal notes that, and the file need not be read any more.
func (s *scan) readAgain(known journal.Run, read delegation.Reading) {
	switch {
	case !known.Answered, s.unreadable(known):
		s.answerAgain(known, read)
	case read.Firm:
		crash.At("again.filed")
		if err := s.Journal.Refile(s.Life, known.Key, read, true); err != nil {
			s.journalTrouble(err)
		}
	}
}

// Intake is a request file that was read, once.
type Intake struct {
	name, rawID string
	read        delegation.Reading
	seen        time.Time
	data        []byte
	Request     delegation.Request // what data says, where that is known
}

// unsettled says whether what is wrong with a file may still be its writer at work. A time that lies ahead is no excuse:
// its writer can set it.
func (in Intake) unsettled(refusal *delegation.Refusal) bool {
	return refusal.Code == delegation.CodeUnparsable && time.Since(in.read.Stamp.ModTime).Abs() < settle
}

// requestGone ends the run whose request was taken away and clears up after it, not at once: the client may be about to
// remove its response itself, and would stumble if it were gone. In a directory that is not at its path nothing is missed.
func (s *scan) requestGone(rawID string, waited bool) time.Duration {
	if s.Dir.Alive() != nil {
		return 0
	}
	if r, running := s.newest(rawID); running {
		s.Carrier.Stop(s.Life, r, delegation.ReasonClientGone)
		return clearAfter
	}
	if !waited {
		return clearAfter
	}
	s.clear(rawID)
	return 0
}

// newest is the newest run of a subagent, while it is not over.
func (s *scan) newest(rawID string) (r Underway, running bool) {
	id, err := delegation.ParseSubagentID(rawID)
	if err != nil {
		return Underway{}, false
	}
	return s.Carrier.Newest(s.Life, s.ID, id)
}

// isRunning says whether a subagent has a run that is not over.
func (s *scan) isRunning(rawID string) bool {
	_, running := s.newest(rawID)
	return running
}

// cancelled looks at a sentinel and ends the run that it is for. raw is an id, an id and a request's hash, or either.
func (s *scan) cancelled(ctx context.Context, raw string) {
	if id, hash, ok := delegation.ParseCancel(raw); ok {
		if r, running := s.newest(id); running && r.Key.Request.Hash() == hash {
			s.stopIfAsked(r)
			return
		}
	}
	request := "request_" + raw + ".json"
	if !s.isRunning(raw) {
		s.lookAt(ctx, request, raw, false) // the event of the request may come later, or never
	}
	if r, running := s.newest(raw); running {
		s.stopIfAsked(r)
		return
	}
	s.dropSpent(raw, request)
}

func (s *scan) stopIfAsked(r Underway) {
	if reason := r.Check(); reason != "" {
		s.Carrier.Stop(s.Life, r, reason)
	}
}

// dropSpent removes a sentinel for which there is no run: a request that comes later must not be cancelled by it. One
// that may name a request of another subagent stays as long as that one's request.
func (s *scan) dropSpent(raw, request string) {
	id, err := delegation.ParseSubagentID(raw)
	if err != nil {
		return
	}
	if _, looking := s.delayed[request]; looking && s.there(request) {
		return
	}
	if other, _, ok := delegation.ParseCancel(raw); ok && s.there("request_"+other+".json") {
		return
	}
	s.discard(delegation.CancelName(id))
}

// there says whether an entry is there, as far as can be told.
func (o *Outbox) there(name string) bool {
	_, err := o.Dir.Stat(name)
	return !errors.Is(err, fs.ErrNotExist)
}
