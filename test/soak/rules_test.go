package soak

import (
	"fmt"
	"slices"
	"time"

	"torno/delegation"
	"torno/internal/control"
	"torno/sandbox"
)

const (
	// coarse is how far the file system's clock may be behind the children's.
	coarse = 12 * time.Millisecond
	// soon is how long it may take until what was done is felt.
	soon = 5 * time.Second
	// late is how long it may take, on a busy machine, until what a client wants is done. A child that does not mind the first signal
	// gets the next one after ten seconds.
	late = 9 * time.Second
)

// rule says what is wrong with an ask, or nothing.
type rule struct {
	name   string
	broken func(*history, *ask) string
}

// rules must hold for every ask of every history.
var rules = []rule{
	{"who waits is answered", func(_ *history, a *ask) string {
		if a.waits() && len(a.answers) == 0 {
			return "nobody has answered it"
		}
		return ""
	}},
	{"an answer never changes", func(_ *history, a *ask) string {
		if len(a.answers) > 1 {
			return fmt.Sprintf("there were %d different answers", len(a.answers))
		}
		return ""
	}},
	{"nonsense is refused", func(h *history, a *ask) string {
		if a.nonsense && len(a.answers) > 0 && a.answers[0].Reason != delegation.ReasonRefused {
			return fmt.Sprintf("it is answered with %s", a.answers[0].Reason)
		}
		return ""
	}},
	{"a request of another time is refused", othersTimesAreRefused},
	{"another directory's requests are let alone", anothersAreLetAlone},
	{"no attempt is made twice", attemptsAreCounted},
	{"an exit is an exit", exitsAreExits},
	{"an end has a reason", reasonsArePlausible},
	{"dead before it is answered", func(h *history, a *ask) string {
		for _, l := range h.livesOf(a) {
			if len(a.answers) > 0 && l.last.After(a.answers[0].written.Add(coarse)) {
				return fmt.Sprintf("a child has lived until %s and the answer was written at %s", show(l.last), show(a.answers[0].written))
			}
		}
		return ""
	}},
	{"one at a time", oneAtATime},
	{"what is not wanted ends", unwantedEnds},
	{"time is up when it is up", deadlinesAreKept},
	{"output is whole", outputIsWhole},
	{"the journal knows", journalAgrees},
	{"the engine did it once", engineAgrees},
	{"what is lost was taken", lossesHaveCauses},
	{"an end is believed", endsAreBelieved},
	{"a stranded run waits", strandedRunsWait},
}

// faults are all broken rules.
func (h *history) faults() (found []string) {
	for _, a := range h.asks {
		for _, r := range rules {
			if what := r.broken(h, a); what != "" {
				found = append(found, fmt.Sprintf("%s: %s\n%s", r.name, what, h.tell(a)))
			}
		}
	}
	for _, what := range h.straySandboxes() {
		found = append(found, fmt.Sprintf("%s: %s", strays, what))
	}
	return found
}

// othersTimesAreRefused: a request whose time lies too far away may have been answered long ago, and never runs.
func othersTimesAreRefused(h *history, a *ask) string {
	switch {
	case !tooFar(a.Age):
	case len(h.livesOf(a)) > 0:
		return fmt.Sprintf("its file was %s old, and it ran", a.Age)
	case len(a.answers) > 0 && a.answers[0].Reason != delegation.ReasonRefused:
		return fmt.Sprintf("its file was %s old, and it is answered with %s", a.Age, a.answers[0].Reason)
	}
	return ""
}

// anothersAreLetAlone: what lies in a directory that was put into the outbox's place is not read.
func anothersAreLetAlone(h *history, a *ask) string {
	if did := len(h.livesOf(a)) + len(h.runsOf(a)) + len(a.answers); a.unasked && did > 0 {
		return "it was written into another directory than the outbox, and it ran, is in the journal, or is answered"
	}
	return ""
}

func attemptsAreCounted(h *history, a *ask) string {
	lives := h.livesOf(a)
	for _, l := range lives {
		if l.starts != 1 || l.ends > 1 {
			return fmt.Sprintf("a child began %d times and ended %d times", l.starts, l.ends)
		}
	}
	runs, released := h.runsOf(a), 0
	for _, r := range runs {
		if !r.Released.IsZero() {
			released++
		}
	}
	switch {
	case len(lives) > a.attempts:
		return fmt.Sprintf("%d children for %d attempts", len(lives), a.attempts)
	case len(lives) > released:
		return fmt.Sprintf("%d children, and %d attempts that were released in the journal", len(lives), released)
	case len(a.answers) > 0 && a.answers[0].Attempt != len(runs) && len(runs) > 0:
		return fmt.Sprintf("the answer counts %d attempts and the journal has %d", a.answers[0].Attempt, len(runs))
	}
	return ""
}

func exitsAreExits(h *history, a *ask) string {
	if len(a.answers) == 0 {
		return ""
	}
	n, lives := a.answers[0], h.livesOf(a)
	if (n.Status == delegation.StatusCompleted) != (n.Reason == delegation.ReasonExited && n.ExitCode == 0) {
		return "completed is to be what exited with 0, and nothing else"
	}
	if n.Reason != delegation.ReasonExited {
		return ""
	}
	if len(lives) == 0 || lives[len(lives)-1].ends != 1 {
		return "it exited, and its last child has not come to its end"
	}
	if n.ExitCode != a.kind.exit {
		return fmt.Sprintf("it exited with %d instead of %d", n.ExitCode, a.kind.exit)
	}
	return ""
}

// oneAtATime: of a subagent, and in a workspace.
func oneAtATime(h *history, a *ask) string {
	for _, mine := range h.livesOf(a) {
		for _, l := range h.lives {
			other := h.askOf(l.token)
			if l == mine || other == nil || other.subject != a.subject && l.workspace != mine.workspace {
				continue
			}
			if !l.born.Before(mine.born) && l.born.Before(mine.last) {
				return fmt.Sprintf("a child of %s was born at %s, while one of its own lived until %s", l.token, show(l.born), show(mine.last))
			}
		}
	}
	return ""
}

// disturbed are spans in which no time bound holds.
var disturbed = []deed{
	deedDown, deedKill, deedTerm, deedHurry, deedReload, deedUpset, deedFreeze, deedBoth, deedOrphan, deedStop, deedSlay, deedHang, deedPower, deedAll,
	deedExchange, deedBack,
}

// later is a time with all that was disturbed on the way added. Where only an outbox was away, the watcher goes on at once.
func (h *history) later(from time.Time, wait time.Duration) time.Time {
	until := from.Add(wait)
	for _, s := range h.within(from, until, disturbed...) {
		until = until.Add(s.end.Sub(s.begin) + soon)
	}
	for _, s := range h.within(from, until, deedAway) {
		until = until.Add(s.end.Sub(s.begin))
	}
	return until
}

// unwantedEnds: what was cancelled, taken away or replaced does not go on.
func unwantedEnds(h *history, a *ask) string {
	if a.kind.deaf {
		return ""
	}
	for _, at := range slices.Concat(a.cancelled, a.left) {
		if !a.unwantedSince(at) {
			continue
		}
		for _, l := range h.livesOf(a) {
			from := at
			if l.born.After(at) && h.wasReleased(a, at) { // what begins is not cut off in the middle
				from = l.born
			}
			if l.last.After(h.later(from, late)) {
				return fmt.Sprintf("nobody wants it since %s, and a child has lived until %s", show(at), show(l.last))
			}
		}
	}
	return ""
}

// wasReleased says whether the watcher had already decided that an agent of the ask may run.
func (h *history) wasReleased(a *ask, at time.Time) bool {
	return slices.ContainsFunc(h.runsOf(a), func(r control.Run) bool { return !r.Released.IsZero() && r.Released.Before(at) })
}

// unwantedSince says whether nothing has been written since a time: a request that is written again is wanted again.
func (a *ask) unwantedSince(at time.Time) bool { return !a.written[len(a.written)-1].After(at) }

func deadlinesAreKept(h *history, a *ask) string {
	limit := time.Duration(a.Timeout) * time.Second
	for _, l := range h.livesOf(a) {
		if l.last.After(h.later(l.born, limit+late)) {
			return fmt.Sprintf("a child has lived from %s to %s and had %s", show(l.born), show(l.last), limit)
		}
	}
	if len(a.answers) == 0 || a.answers[0].Reason != delegation.ReasonDeadline {
		return ""
	}
	n := a.answers[0]
	begin := n.StartedAt
	for _, r := range h.runsOf(a) { // a run's time counts from its release
		if r.Attempt == n.Attempt && !r.Released.IsZero() && r.Released.Before(begin) {
			begin = r.Released
		}
	}
	if n.CompletedAt.Sub(begin) < limit-coarse {
		return fmt.Sprintf("its time was up after %s of %s", n.CompletedAt.Sub(begin), limit)
	}
	return ""
}

func outputIsWhole(h *history, a *ask) string {
	if len(a.answers) == 0 || a.answers[0].Status != delegation.StatusCompleted || len(h.felt(a, engineDeeds...)) > 0 {
		return ""
	}
	if want := a.kind.output(a.token()); a.answers[0].StdoutTail != want {
		return fmt.Sprintf("it has printed %q, want %q", a.answers[0].StdoutTail, want)
	}
	return ""
}

func journalAgrees(h *history, a *ask) string {
	runs := h.runsOf(a)
	for i, r := range runs {
		switch {
		case r.State != delegation.StateEnded:
			return fmt.Sprintf("attempt %d is %s in the journal", r.Attempt, r.State)
		case r.Attempt != i+1:
			return fmt.Sprintf("attempt %d is the journal's number %d", r.Attempt, i+1)
		case i < len(runs)-1 && r.Reason != delegation.ReasonLost:
			return fmt.Sprintf("attempt %d was %s, and there is another one", r.Attempt, r.Reason)
		case r.Ended.Before(r.Created):
			return fmt.Sprintf("attempt %d began at %s and ended at %s", r.Attempt, r.Created, r.Ended)
		case r.Released.IsZero() != (r.Attestation == nil) || r.Released.IsZero() && !r.Started.IsZero():
			return fmt.Sprintf("attempt %d was released at %s after the look %+v, and started at %s", r.Attempt, r.Released, r.Attestation, r.Started)
		case !r.Answered:
			return fmt.Sprintf("the journal has not noted an answer of attempt %d", r.Attempt)
		}
	}
	if len(a.answers) == 0 || a.nonsense {
		return ""
	}
	if len(runs) == 0 {
		return "the journal does not know it"
	}
	if n, r := a.answers[0], runs[len(runs)-1]; n.Reason != r.Reason || !n.CompletedAt.Equal(r.Ended.Truncate(time.Microsecond)) && n.CompletedAt.Sub(r.Ended).Abs() > time.Millisecond {
		return fmt.Sprintf("the journal says %s at %s, and the answer %s at %s", r.Reason, show(r.Ended), n.Reason, show(n.CompletedAt))
	}
	return ""
}

// engineAgrees: a sandbox is made once and started once. An engine that is exchanged while it makes one may not have told of it, and then
// the other one makes it too.
func engineAgrees(h *history, a *ask) string {
	for _, r := range h.runsOf(a) {
		created, started := h.created(string(r.SandboxID)), h.count(string(r.SandboxID), "start")
		if started > 1 || created[""] > 1 || created[otherEngine] > 1 {
			return fmt.Sprintf("of the sandbox of attempt %d containers were created %v and %d started", r.Attempt, created, started)
		}
	}
	return ""
}

// strays is the name of the rule for sandboxes that belong to no ask.
const strays = "a sandbox is given up for a reason"

// straySandboxes are those that no run is bound to any more, although nothing happened about which they could have been given up in
// their hold.
func (h *history) straySandboxes() (found []string) {
	for id, deeds := range h.engine {
		if _, err := sandbox.ParseSandboxID(id); err != nil || slices.ContainsFunc(h.runs, func(r control.Run) bool { return string(r.SandboxID) == id }) {
			continue // a trial, or a run's
		}
		first, last := deeds[0].at, deeds[len(deeds)-1].at
		if started := h.count(id, "start"); started > 1 {
			found = append(found, fmt.Sprintf("sandbox %s was started %d times", id, started))
		}
		if h.pooled {
			continue // made ahead of a run that did not come
		}
		if len(h.within(first.Add(-soon), last.Add(soon), slices.Concat(disturbed, sandboxDeeds)...)) == 0 {
			found = append(found, fmt.Sprintf("sandbox %s, seen from %s to %s, belongs to no run, and nothing happened", id, show(first), show(last)))
		}
	}
	return found
}
