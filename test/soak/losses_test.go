package soak

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"torno/delegation"
	"torno/internal/control"
	"torno/internal/runfile"
)

// An attempt is lost when it was released and its end cannot be known. A watcher that is killed knows only one thing that the
// next one could not find out: whether it has given the word after its note of the release. Where an agent was seen to begin, that
// is known too. An end that was written down is known, whatever was killed since.

// lossesHaveCauses: something was done to the sandbox of that attempt, or to what made it, or to the watcher between its note and
// its word. A sandbox that was not released is made anew, whatever became of it.
func lossesHaveCauses(h *history, a *ask) string {
	for _, r := range h.runsOf(a) {
		switch {
		case r.Reason != delegation.ReasonLost:
		case r.Released.IsZero():
			return fmt.Sprintf("attempt %d is lost (%s), and was never released", r.Attempt, r.Text)
		case !h.taken(a, r) && !h.unheard(a, r):
			return fmt.Sprintf("attempt %d is lost (%s), and nothing was taken that knew of its end", r.Attempt, r.Text)
		}
	}
	return ""
}

// watcherDeeds end a watcher.
var watcherDeeds = []deed{deedDown, deedKill, deedTerm, deedHurry, deedUpset, deedBoth, deedOrphan, deedAll}

// unheard says whether a watcher ended soon after it had noted an attempt's release, and no agent has begun since.
func (h *history) unheard(a *ask, r control.Run) bool {
	began := slices.ContainsFunc(h.livesOf(a), func(l *life) bool { return l.born.After(r.Released.Add(-coarse)) && l.born.Before(r.Ended) })
	return r.Started.IsZero() && !began && len(h.within(r.Released, r.Released.Add(soon), watcherDeeds...)) > 0
}

// endsAreBelieved: an end that was written down is told, and the attempt is not made again.
func endsAreBelieved(h *history, a *ask) string {
	for _, r := range h.runsOf(a) {
		for _, d := range h.engine[string(r.SandboxID)] {
			if r.Reason == delegation.ReasonLost && d.tellsEnd() && !h.forgotten(string(r.SandboxID), d) {
				return fmt.Sprintf("attempt %d is lost, and at %s its end was known, with code %s", r.Attempt, show(d.at), d.code)
			}
		}
	}
	return ""
}

// strandedRunsWait: while another engine answers, a run whose sandbox is on its own one does not end, whatever happens to that, and
// however much its end is wanted.
func strandedRunsWait(h *history, a *ask) string {
	for _, r := range h.runsOf(a) {
		for _, s := range h.within(r.Created, r.Ended, deedExchange) {
			if slices.Contains(s.sandboxes, string(r.SandboxID)) && r.Ended.Before(s.end) {
				return fmt.Sprintf("attempt %d was stranded until %s, and ended at %s: %s (%s)", r.Attempt, show(s.end), show(r.Ended), r.Reason, r.Text)
			}
		}
	}
	return ""
}

// taken says whether something was done to an attempt's sandbox, while there may have been one, that ends it unseen.
func (h *history) taken(a *ask, r control.Run) bool {
	begin := cmp.Or(r.Starting, r.Created)
	return slices.ContainsFunc(h.within(begin, r.Ended, slices.Concat(engineDeeds, sandboxDeeds)...), func(s span) bool {
		switch {
		case slices.Contains(sandboxDeeds, s.deed):
			return slices.Contains(s.sandboxes, string(r.SandboxID))
		case s.deed == deedHang, h.isElsewhere(string(r.SandboxID)):
			return false
		}
		return !s.kept || h.unseen(a, r, s)
	})
}

// isElsewhere says whether a sandbox is on the other engine, to which nothing is done.
func (h *history) isElsewhere(sandbox string) bool {
	return h.created(sandbox)[""] == 0 && h.created(sandbox)[otherEngine] > 0
}

// unseen says whether an attempt's container may have begun, or has ended, while its engine was dead and saw nothing.
func (h *history) unseen(a *ask, r control.Run, s span) bool {
	return r.Started.IsZero() || slices.ContainsFunc(h.livesOf(a), func(l *life) bool {
		return !l.born.Before(cmp.Or(r.Starting, r.Created)) && l.last.Before(s.end)
	})
}

// unknownCode is an engine's for a container that has ended while the engine was dead.
const unknownCode = "255"

// abandonedCode is init's where it was let go of in its hold: that is no end of an agent.
var abandonedCode = strconv.Itoa(runfile.AbandonedExit)

// tellsEnd says whether this event tells how an agent has ended.
func (d deedOfEngine) tellsEnd() bool {
	return (d.action == actionEnded || d.action == actionDied && d.code != unknownCode) && d.code != abandonedCode
}

// written is how long an engine, on a busy machine, may take to write down an end that it has told.
const written = time.Second

// forgotten says whether an end that was known is not known any more: the engine was killed before it had written it down,
// or the container was removed, and with it what the engine knew. A keeper writes an end before it tells it.
func (h *history) forgotten(sandbox string, d deedOfEngine) bool {
	return d.action == actionDied && slices.ContainsFunc(h.spans, func(s span) bool {
		if s.deed == deedRemove {
			return slices.Contains(s.sandboxes, sandbox)
		}
		return slices.Contains(engineDeeds, s.deed) && s.deed != deedHang && s.begin.Before(d.at.Add(written)) && d.at.Before(s.end)
	})
}
