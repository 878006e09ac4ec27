package outbox

import (
	"context"

	"torno/delegation"
)

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
