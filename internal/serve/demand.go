package serve

import (
	"context"
	"os"

	"torno/internal/doctor"
	"torno/sandbox"
)

// demand refuses to serve where the doctor would have it refused: a wall that does not stand, a limit that is missing and
// not accepted, an outbox that could serve nobody, ids that belong to somebody.
func (h *host) demand(ctx context.Context) error {
	s := configured(h.Config)
	s.Launchers = map[string]sandbox.Guarantees{}
	for name, l := range h.launchers {
		g, err := l.Check(ctx)
		if err != nil {
			return err
		}
		s.Launchers[name] = g
	}
	h.warnOld(ctx)
	return doctor.Start(s)
}

// warnOld says which programs of the engines have known holes, or may have.
func (h *host) warnOld(ctx context.Context) {
	s := doctor.System{Host: doctor.LookAtHost(os.DirFS("/"))}
	askEngines(ctx, &s, h.Config, h.Engines)
	for _, f := range doctor.Advisories(s) {
		if f.Verdict != doctor.OK {
			h.Log.Warn("the engine or its runtime is old", "seen", f.Seen, "means", f.Means, "next", f.Do)
		}
	}
}
