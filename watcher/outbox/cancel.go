package outbox

import (
	"context"

	"torno/delegation"
	"torno/watcher/run"
)

// cancelled handles a sentinel and ends the run that it names. raw may be an id, or an id and a request's hash; some
// texts can be read as either.
func (s *scan) cancelled(ctx context.Context, raw string) {
	if id, hash, ok := delegation.ParseCancel(raw); ok {
		if r := s.newest(id); r != nil && admissionOf(r).Key.Request.Hash() == hash {
			s.stopIfAsked(r)
			return
		}
	}
	request := "request_" + raw + ".json"
	if !s.isRunning(raw) {
		s.lookAt(ctx, request, raw, false) // the event of the request may come later, or never
	}
	if r := s.newest(raw); r != nil {
		s.stopIfAsked(r)
		return
	}
	s.dropSpent(raw, request)
}

func (s *scan) stopIfAsked(r *run.Run) {
	if reason := r.Client().Check(); reason != "" {
		r.Stop(s.Life, reason)
	}
}

// dropSpent removes a sentinel without a run, so that it does not cancel a later request. If the sentinel may name a
// request of another subagent, it stays as long as that request.
func (s *scan) dropSpent(raw, request string) {
	if !delegation.IsSentinel(raw) {
		return
	}
	if s.later.waits(request) && s.there(request) {
		return
	}
	if other, _, ok := delegation.ParseCancel(raw); ok && s.there("request_"+other+".json") {
		return
	}
	s.discard(delegation.RawCancelName(raw))
}
