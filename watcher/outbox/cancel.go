package outbox

import (
	"context"

	"torno/delegation"
	"torno/watcher/run"
)

// cancelled looks at a sentinel and ends the run that it is for. raw is an id, an id and a request's hash, or either.
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

// dropSpent removes a sentinel for which there is no run: a request that comes later must not be cancelled by it. One
// that may name a request of another subagent stays as long as that one's request.
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
