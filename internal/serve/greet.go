package serve

import (
	"context"
	"maps"
	"slices"
	"strings"

	"torno/internal/version"
	"torno/sandbox"
)

// greet logs the start once the watcher has looked at its outboxes. It names the outboxes that are served, the outboxes
// that wait because another watcher serves them, the launchers, and the guarantees that these do not enforce.
func (h *host) greet(ctx context.Context) {
	if err := h.watcher.AwaitListings(ctx); err != nil && ctx.Err() == nil {
		h.Log.Warn("an outbox has not been listed yet; the others are served", "error", err)
	}
	h.notify.ready()
	h.reloads.add(h.closed.lines())
	h.reloads.finish(nil)
	var served, waits []string
	unserved := h.watcher.Unserved()
	for i, o := range h.Config.Outboxes {
		switch named := o.Dir + " (" + o.Name + ")"; {
		case h.isClosed(i), slices.Contains(unserved, o.Name):
		case h.locks[i].others.Load():
			waits = append(waits, named)
		default:
			served = append(served, named)
		}
	}
	about := []any{"outboxes", strings.Join(served, ", "), "waits_for", strings.Join(waits, ", "), "version", version.String(), "installation", h.journal.Installation(), "state", h.Config.State}
	for _, name := range slices.Sorted(maps.Keys(h.launchers)) {
		guarantees, err := h.launchers[name].Check(ctx)
		if err != nil {
			h.Log.Error("a launcher does not tell its guarantees", "launcher", name, "error", err)
			continue
		}
		about = append(about, "launcher", name, "not_enforced", strings.Join(notEnforced(guarantees), ","))
		h.warnDemands(name, guarantees)
	}
	h.Log.Info("serving", about...)
	if h.MakeOutbox && len(served) > 0 {
		h.Log.Info("try", "next", "subagent --outbox "+h.Config.Outboxes[0].Dir+" spawn --wait -- 'echo hello'")
	}
}

// notEnforced names the guarantees that are not enforced, in the order of GuaranteeKeys.
func notEnforced(g sandbox.Guarantees) []string {
	var words []string
	for _, key := range sandbox.GuaranteeKeys {
		if !g[key].Enforced {
			words = append(words, string(key))
		}
	}
	return words
}

// warnDemands names the profiles whose requests will be refused because they demand guarantees that are not enforced
// here.
func (h *host) warnDemands(launcher string, g sandbox.Guarantees) {
	for _, p := range h.decided.Profiles {
		if p.Sandbox != launcher {
			continue
		}
		for _, key := range g.Missing(p.AtLeast) {
			h.Log.Warn("requests for this profile will be refused: it demands a guarantee that is not enforced here", "profile", p.Name,
				"demands", string(key), "because", g[key].By, "launchers", p.Chosen)
		}
	}
}
