package soak

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"torno/delegation"
	"torno/internal/control"
	"torno/test/house"
)

// subject is a subagent of an outbox.
type subject struct{ outbox, id string }

func (s subject) String() string { return s.outbox + "/" + s.id }

// outboxes are served by one watcher. Each has its own idea of what to do when there is too much.
var outboxes = []string{"main", "second", "third"}

var subjects = func() (all []subject) {
	for _, box := range outboxes {
		for _, id := range []string{"a", "b", "c", "d"} {
			all = append(all, subject{box, id})
		}
	}
	return all
}()

// ask is a request and all that its client has done and seen of it.
type ask struct {
	house.Ask
	subject
	kind     *kind
	attempts int  // that its profile allows
	nonsense bool // nothing can come of it but a refusal
	dir      bool // it is a directory, whose place no file takes
	unasked  bool // it was written into a directory that is not the outbox

	written   []time.Time // a request may be written again
	cancelled []time.Time
	left      []time.Time // taken away, or something else was put in its place
	answers   []*answer   // what was seen, each content once
	dropped   time.Time   // when its client removed the response and nothing else
}

// token is the request_id, by which everything else knows it.
func (a *ask) token() string { return a.Request }

func (a *ask) born() time.Time { return a.written[0] }

// waits says whether a client waits for the answer.
func (a *ask) waits() bool {
	return len(a.left) == 0 || a.left[len(a.left)-1].Before(a.written[len(a.written)-1])
}

// over is when its client had its answer, or gave up; now, while neither has happened.
func (a *ask) over() time.Time {
	switch {
	case len(a.answers) > 0:
		return a.answers[0].seen
	case !a.waits():
		return a.left[len(a.left)-1]
	}
	return time.Now()
}

// answer is a content of a response file.
type answer struct {
	delegation.Response
	written time.Time // as the file system says
	seen    time.Time
}

// span is something that fate did, and how long it could be felt.
type span struct {
	deed       deed
	begin, end time.Time
	sandboxes  []string // that were struck, by their ids
	who        *subject // whose run an operator ended
	kept       bool     // the engine's containers outlived it, or the watcher's runs did
}

func (s span) String() string {
	text := fmt.Sprintf("%s to %s: %s", show(s.begin), show(s.end), s.deed)
	for _, id := range s.sandboxes {
		text += fmt.Sprintf(" %.8s", id)
	}
	if s.who != nil {
		text += " " + s.who.String()
	}
	if s.kept {
		text += ", which keeps"
	}
	return text
}

func show(t time.Time) string { return t.UTC().Format("04:05.000") }

// history is all that was seen of a round.
type history struct {
	asks   []*ask
	spans  []span
	lives  []*life
	runs   []control.Run
	engine map[string][]deedOfEngine // by the sandbox's id
	pooled bool                      // for a time sandboxes were made ahead of runs
}

// What tells how a sandbox has ended.
const (
	actionEnded = "ended" // a keeper has written it down
	actionDied  = "die"   // an engine has seen it, and will write it down
)

// otherEngine is what the record calls the engine that takes the place of a scene's own. Its own one has no name.
const otherEngine = "the other engine"

// deedOfEngine is an entry in the engine's own record, or in what keepers leave.
type deedOfEngine struct {
	engine                  string // which one, "" for the scene's own
	action, container, code string // a code where something ended
	at                      time.Time
}

// count is how often the engine did something to a sandbox.
func (h *history) count(sandbox, action string) (n int) {
	for _, d := range h.engine[sandbox] {
		if d.action == action {
			n++
		}
	}
	return n
}

// created is how many containers each engine has made for a sandbox.
func (h *history) created(sandbox string) map[string]int {
	by := map[string]int{}
	for _, d := range h.engine[sandbox] {
		if d.action == "create" {
			by[d.engine]++
		}
	}
	return by
}

// felt are the spans of some deeds that an ask has felt, from its birth until its client knew how it ended.
func (h *history) felt(a *ask, deeds ...deed) (felt []span) {
	return h.within(a.born(), a.over(), deeds...)
}

func (h *history) within(begin, end time.Time, deeds ...deed) (found []span) {
	for _, s := range h.spans {
		if (len(deeds) == 0 || slices.Contains(deeds, s.deed)) && s.begin.Before(end) && begin.Before(s.end) {
			found = append(found, s)
		}
	}
	return found
}

// livesOf are an ask's children, in the order of their births.
func (h *history) livesOf(a *ask) (lives []*life) {
	for _, l := range h.lives {
		if l.token == a.token() {
			lives = append(lives, l)
		}
	}
	slices.SortFunc(lives, func(a, b *life) int { return a.born.Compare(b.born) })
	return lives
}

// runsOf are an ask's attempts in the journal.
func (h *history) runsOf(a *ask) (runs []control.Run) {
	for _, r := range h.runs {
		if r.Outbox == a.outbox && r.Subagent == a.id && r.Request == a.token() {
			runs = append(runs, r)
		}
	}
	slices.SortFunc(runs, func(a, b control.Run) int { return cmp.Compare(a.Attempt, b.Attempt) })
	return runs
}

func (h *history) askOf(token string) *ask {
	for _, a := range h.asks {
		if a.token() == token {
			return a
		}
	}
	return nil
}

// tell prints everything about an ask, to find out what went wrong.
func (h *history) tell(a *ask) string {
	var story strings.Builder
	fmt.Fprintf(&story, "%s %s, %s, profile %q, workspace %s\n", a.subject, a.token(), a.kind.name, a.Profile, a.Workspace)
	for what, times := range map[string][]time.Time{"written": a.written, "cancelled": a.cancelled, "left": a.left} {
		for _, at := range times {
			fmt.Fprintf(&story, "  %s %s\n", show(at), what)
		}
	}
	for _, l := range h.livesOf(a) {
		fmt.Fprintf(&story, "  %s to %s: a child lives, %d starts, %d ends\n", show(l.born), show(l.last), l.starts, l.ends)
	}
	for _, r := range h.runsOf(a) {
		fmt.Fprintf(&story, "  %s to %s: journal: attempt %d, key %s, sandbox %s, released %s, started %s, %s %s %s, answered %t\n",
			show(r.Created), show(r.Ended), r.Attempt, r.Key, r.SandboxID, show(r.Released), show(r.Started), r.State, r.Reason, r.Text, r.Answered)
		for _, d := range h.engine[string(r.SandboxID)] {
			fmt.Fprintf(&story, "  %s %s: %s %s %.12s for attempt %d\n", show(d.at), cmp.Or(d.engine, "the engine"), d.action, d.code, d.container, r.Attempt)
		}
	}
	for _, n := range a.answers {
		fmt.Fprintf(&story, "  %s seen, written %s: %s %s exit %d attempt %d completed %s %q\n",
			show(n.seen), show(n.written), n.Status, n.Reason, n.ExitCode, n.Attempt, show(n.CompletedAt), n.StderrTail)
	}
	for _, s := range h.felt(a) {
		fmt.Fprintf(&story, "  %s\n", s)
	}
	return story.String()
}
