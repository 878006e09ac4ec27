package soak

import (
	"fmt"
	"slices"
	"time"

	"torno/delegation"
	"torno/internal/control"
)

var engineDeeds = []deed{deedStop, deedSlay, deedHang, deedPower, deedBoth}

// sandboxDeeds are done to the sandboxes that they name.
var sandboxDeeds = []deed{deedRemove, deedKeeper, deedSentry, deedPair, deedOrphan, deedAll}

// plausible says for each reason what must have happened, so that a run may have ended for it.
var plausible = map[delegation.Reason]func(*history, *ask) bool{
	delegation.ReasonExited:    func(*history, *ask) bool { return true }, // the rule of exits says more
	delegation.ReasonSignalled: func(h *history, a *ask) bool { return h.killed(a) || len(h.felt(a, engineDeeds...)) > 0 },
	delegation.ReasonDeadline: func(h *history, a *ask) bool {
		return a.kind.timeout > 0 || len(h.felt(a, engineDeeds...)) > 0
	},
	delegation.ReasonCancelled: func(_ *history, a *ask) bool { return len(a.cancelled) > 0 },
	delegation.ReasonOperator: func(h *history, a *ask) bool {
		asked := slices.ContainsFunc(h.felt(a, deedOperator), func(s span) bool { return *s.who == a.subject })
		return asked || a.Profile == profileExtra && h.configured(a)
	},
	delegation.ReasonSuperseded: func(_ *history, a *ask) bool { return len(a.left) > 0 },
	delegation.ReasonClientGone: func(_ *history, a *ask) bool { return len(a.left) > 0 },
	delegation.ReasonRefused:    refusalsArePlausible,
	delegation.ReasonLaunchFailed: func(h *history, a *ask) bool {
		return h.sandboxHurt(a) || len(h.felt(a, engineDeeds...)) > 0
	},
	delegation.ReasonLost: func(*history, *ask) bool { return true }, // the rules of losses say more
	delegation.ReasonShutdown: func(h *history, a *ask) bool { // a watcher that is told twice keeps nothing
		return slices.ContainsFunc(h.felt(a, deedTerm, deedHurry), func(s span) bool { return s.deed == deedHurry || !s.kept })
	},
}

func reasonsArePlausible(h *history, a *ask) string {
	if len(a.answers) == 0 || a.nonsense {
		return ""
	}
	n := a.answers[0]
	if possible := plausible[n.Reason]; possible == nil || !possible(h, a) {
		return fmt.Sprintf("%s (%s), and nothing that happened explains it", n.Reason, n.StderrTail)
	}
	return ""
}

// sandboxHurt says whether an ask's sandbox was removed or killed by hand, or ended with its engine.
func (h *history) sandboxHurt(a *ask) bool {
	return slices.ContainsFunc(h.felt(a, slices.Concat(engineDeeds, sandboxDeeds)...), func(s span) bool {
		if slices.Contains(sandboxDeeds, s.deed) {
			return h.struck(s, a)
		}
		return s.deed != deedHang && !s.kept
	})
}

// killed says whether an ask's container was removed by hand, or its sentry killed under the eyes of its keeper.
func (h *history) killed(a *ask) bool {
	return slices.ContainsFunc(h.felt(a, deedRemove, deedSentry, deedPair, deedAll), func(s span) bool { return h.struck(s, a) })
}

// struck says whether a sandbox of an ask's was among those that something was done to.
func (h *history) struck(s span, a *ask) bool {
	return slices.ContainsFunc(h.runsOf(a), func(r control.Run) bool { return slices.Contains(s.sandboxes, string(r.SandboxID)) })
}

// configured says whether the configuration has changed since an ask was written, or might just have.
func (h *history) configured(a *ask) bool {
	return len(h.within(a.born().Add(-time.Hour), a.over(), disturbed...)) > 0
}

// refusalsArePlausible: each code has its cause.
func refusalsArePlausible(h *history, a *ask) bool {
	e := a.answers[0].Error
	if e == nil {
		return false
	}
	switch e.Code {
	case delegation.CodeWorkspaceBusy:
		return a.outbox == busyRefused && h.busy(a)
	case delegation.CodeQueueFull:
		return a.outbox == queueShort
	case delegation.CodeStale:
		return tooFar(a.Age)
	case delegation.CodeProfile:
		return a.Profile == profileExtra && h.configured(a)
	case delegation.CodeShuttingDown:
		return len(h.felt(a, deedTerm, deedHurry)) > 0
	}
	return false
}

// The outboxes are different in these.
const (
	busyRefused = "main"   // a workspace in use is a refusal; in the others it is waited for
	queueShort  = "second" // few may wait
)

// busy says whether another subagent had to do with an ask's workspace at that time.
func (h *history) busy(a *ask) bool {
	return slices.ContainsFunc(h.asks, func(b *ask) bool {
		return !b.unasked && b.subject != a.subject && b.Workspace == a.Workspace && !b.born().After(a.over()) && h.later(b.over(), late).After(a.born())
	})
}
