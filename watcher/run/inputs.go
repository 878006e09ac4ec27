package run

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"torno/delegation"
	"torno/internal/agent"
	"torno/internal/crash"
)

// How much of what a parent says is on its way to an agent at a time. The rest waits in its files.
const (
	maxHeldInputs = 16
	maxHeldBytes  = 1 << 20
)

// inputs are what a parent says to the agent of a run, from its files, in order, until the agent's adapter has acknowledged it. What is
// held was read and is not acknowledged; each attachment sends all of it again, and the adapter hands on once what comes twice. So an
// input that was read by a watcher which died is read again by the next one, and reaches the agent once.
type inputs struct {
	takes bool          // the agent hears
	wake  chan struct{} // there may be a file
	ready chan struct{} // there is something to send

	mu      sync.Mutex
	next    int                         // the number that is read next
	ahead   int                         // up to here, decisions were looked for before their turn
	early   map[int]*delegation.Refusal // of the inputs that are decisions and had no turn yet, why they were refused
	seen    int                         // the highest number that a file's name had
	held    []heldInput
	sent    int // how many of held this attachment has sent
	refused []delegation.RefusedInput
	missing int  // the number that is waited for, while a later one is there
	resumed bool // an earlier watcher may have sent some
}

type heldInput struct {
	agent.Input
	line []byte
	gone bool // it was sent
}

func newInputs(takes bool) *inputs {
	return &inputs{takes: takes, wake: make(chan struct{}, 1), ready: make(chan struct{}, 1), next: 1, early: make(map[int]*delegation.Refusal)}
}

// resume goes on where an earlier watcher stopped.
func (in *inputs) resume(status delegation.InputStatus) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.next, in.refused, in.resumed = status.Acknowledged+1, status.Refused, true
}

// Hear says that there is a file with input n, or may be. With 0 it is not known.
func (r *Run) Hear(n int) {
	in := r.inputs
	in.mu.Lock()
	in.seen = max(in.seen, n)
	in.mu.Unlock()
	poke(in.wake)
}

// poke has what waits on a channel look again.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// status is what the client is told. It is nil before there was any input.
func (in *inputs) status() *delegation.InputStatus {
	in.mu.Lock()
	defer in.mu.Unlock()
	known := in.next - 1
	if len(in.held) > 0 {
		known = in.held[0].N - 1
	}
	if known == 0 && len(in.refused) == 0 && in.missing == 0 {
		return nil
	}
	return &delegation.InputStatus{Acknowledged: known, Refused: slices.Clone(in.refused), Missing: in.missing}
}

// noted is status as the next watcher needs it.
func (in *inputs) noted() (status delegation.InputStatus) {
	if now := in.status(); now != nil {
		status = *now
	}
	return status
}

// sendAgain has all that is held be sent once more.
func (in *inputs) sendAgain() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.sent = 0
}

// unsent is the next line to send.
func (in *inputs) unsent() (line []byte, more bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.sent == len(in.held) {
		return nil, false
	}
	next := &in.held[in.sent]
	in.sent++
	next.gone = true
	return next.line, true
}

// wanted is the number of the file that is to be read, 0 while enough is held.
func (in *inputs) wanted() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	size := 0
	for _, h := range in.held {
		size += len(h.line)
	}
	if len(in.held) >= maxHeldInputs || size >= maxHeldBytes || in.next > delegation.MaxInputs {
		return 0
	}
	return in.next
}

// took takes what was read as the next input.
func (in *inputs) took(input delegation.Input, refusal *delegation.Refusal) {
	in.mu.Lock()
	defer in.mu.Unlock()
	n := in.next
	in.next++
	if refusal == nil && !in.takes {
		refusal = notTaken()
	}
	if refusal != nil {
		in.refuse(n, refusal)
		return
	}
	said := agent.Input{N: n, Kind: agent.InputKind(input.Kind), Text: input.Text}
	line, err := agent.EncodeInput(said)
	if err != nil {
		in.refuse(n, &delegation.Refusal{Code: delegation.CodeTooBig, Text: err.Error(), Hint: "send less at once"})
		return
	}
	in.held = append(in.held, heldInput{Input: said, line: line})
	poke(in.ready)
}

func notTaken() *delegation.Refusal {
	return &delegation.Refusal{
		Code: delegation.CodeInputNotTaken, Text: "The run's program takes no messages while it works",
		Hint: "choose a profile of which watcher.json says input, as subagent info shows; or wait, and ask anew",
	}
}

// maxWhy bounds why an input was refused, in bytes: an adapter's word for it is the child's.
const maxWhy = 300

// refuse notes an input that the agent does not get, once: behind one that was held an earlier watcher may have refused it already. The lock is
// held.
func (in *inputs) refuse(n int, why *delegation.Refusal) {
	if slices.ContainsFunc(in.refused, func(r delegation.RefusedInput) bool { return r.N == n && r.Code == why.Code }) {
		return
	}
	text := why.Text
	if len(text) > maxWhy {
		text = strings.ToValidUTF8(text[:maxWhy], "") + "…"
	}
	in.refused = append(in.refused, delegation.RefusedInput{N: n, Code: why.Code, Text: text, Hint: why.Hint})
	if over := len(in.refused) - delegation.MaxRefusedInputs; over > 0 {
		in.refused = slices.Delete(in.refused, 0, over)
	}
}

// lacks notes whether the next input is missing while a later one is there, and whether there are more than a run takes. It says
// whether that is news.
func (in *inputs) lacks(absent bool) (news bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	before, missing := in.missing, 0
	if absent && in.seen > in.next {
		missing = in.next
	}
	in.missing = missing
	if in.seen > delegation.MaxInputs && !slices.ContainsFunc(in.refused, func(r delegation.RefusedInput) bool { return r.Code == delegation.CodeInputLimit }) {
		in.refuse(in.seen, &delegation.Refusal{Code: delegation.CodeInputLimit, Text: "A run takes 1000 inputs and no more", Hint: "ask anew"})
		news = true
	}
	return news || missing != before
}

// acknowledged takes the word of the agent's adapter that the agent has an input, or will not get it. A child that says so untruly
// hurts its own run alone. It returns what is told of it among the run's events.
func (r *Run) acknowledged(l agent.Line) []delegation.Event {
	crash.At("input.acknowledged")
	in := r.inputs
	said, known := in.drop(l)
	switch {
	case !known && in.resumed:
		return nil // an earlier watcher has sent it; it is sent again, and acknowledged again
	case !known:
		return []delegation.Event{{Type: delegation.EventNotice, Text: "the agent's adapter acknowledges what was not sent"}}
	}
	r.showInputs()
	r.Hear(0) // there is room for more
	if l.Failed {
		return []delegation.Event{{Type: delegation.EventNotice, Text: l.Text}}
	}
	return eventsOf(said)
}

// drop forgets an input that is acknowledged.
func (in *inputs) drop(l agent.Line) (said agent.Input, known bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	at := slices.IndexFunc(in.held, func(h heldInput) bool { return h.N == l.N && h.gone })
	if at < 0 {
		return said, false
	}
	said = in.held[at].Input
	in.held = slices.Delete(in.held, at, at+1)
	if at < in.sent {
		in.sent--
	}
	if l.Failed {
		in.refuse(l.N, &delegation.Refusal{Code: delegation.CodeInputLate, Text: l.Text, Hint: "wait for the run's end, and ask anew"})
	}
	return said, true
}

// saidPiece is how much of a text one event has, in bytes.
const saidPiece = 2 << 10

// eventsOf are the events of what the agent was told.
func eventsOf(said agent.Input) (events []delegation.Event) {
	for text := said.Text; ; {
		n := min(len(text), saidPiece)
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n--
		}
		events = append(events, delegation.Event{Type: delegation.EventType(said.Kind), Text: text[:n], More: n < len(text)})
		if text = text[n:]; text == "" {
			return events
		}
	}
}
