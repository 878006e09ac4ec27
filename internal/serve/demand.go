package serve

import (
	"context"

	"torno/internal/doctor"
	"torno/sandbox"
)

// demand refuses to serve if the doctor finds a reason: a wall that does not stand, a limit that is missing and not
// accepted, an outbox that could serve no request, or sandbox ids that belong to a user.
func (h *host) demand(ctx context.Context) error {
	if err := tryOwners(h.policies(openOnes(h.decided, h.closed))); err != nil {
		return err
	}
	c := openOnes(h.decided, h.closed.silent())
	s := configured(c, h.policies(c))
	s.Guarantees = map[string]sandbox.Guarantees{}
	for _, p := range h.decided.Profiles { // only launchers that profiles use; those opened for old runs need not pass
		name := p.Sandbox
		if s.Guarantees[name] != nil {
			continue
		}
		g, err := h.launchers[name].Check(ctx)
		if err != nil {
			return err
		}
		s.Guarantees[name] = g
	}
	return doctor.Start(s)
}
