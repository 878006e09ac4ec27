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

// Bounds of the inputs that are on their way to an agent at a time. The rest waits in the parent's files.
const (
	maxHeldInputs = 16
	maxHeldBytes  = 1 << 20
)

// inputs holds a parent's inputs to the agent of a run. They are read from the parent's files, in order, and held until
// the agent's adapter has acknowledged them. Each attachment sends all held inputs again, and the adapter hands each
// input on only once. So an input that was read by a watcher which died is read again by the next watcher, and reaches
// the agent once.
type inputs struct {
	takes bool          // the agent takes inputs
	wake  chan struct{} // has a value when there may be a file
	ready chan struct{} // has a value when there is something to send

	mu      sync.Mutex
	next    int                         // the number to read next
	ahead   int                         // up to this number, files were searched for decisions before their turn
	early   map[int]*delegation.Refusal // decisions that were taken before their turn: by number, why they were refused, or nil
	seen    int                         // the highest number seen in a file's name
	held    []heldInput
	sent    int // how many of held this attachment has sent
	refused []delegation.RefusedInput
	missing int  // the number of the next file, if it is missing while a later file is there
	resumed bool // an earlier watcher may have sent some inputs
}

type heldInput struct {
	agent.Input
	line []byte
	gone bool // the line was sent at least once
}

func newInputs(takes bool) *inputs {
	return &inputs{takes: takes, wake: make(chan struct{}, 1), ready: make(chan struct{}, 1), next: 1, early: make(map[int]*delegation.Refusal)}
}

// resume continues where an earlier watcher stopped.
func (in *inputs) resume(status delegation.InputStatus) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.next, in.refused, in.resumed = status.Acknowledged+1, status.Refused, true
}

// Hear tells the run that there is a file with input n, or may be. n is 0 if the number is not known.
func (r *Run) Hear(n int) {
	in := r.inputs
	in.mu.Lock()
	in.seen = max(in.seen, n)
	in.mu.Unlock()
	poke(in.wake)
}

// poke wakes the goroutine that waits on a channel, so that it looks again.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// status returns the client's view of the inputs. It is nil before there was any input.
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

// noted returns the status as the next watcher needs it.
func (in *inputs) noted() (status delegation.InputStatus) {
	if now := in.status(); now != nil {
		status = *now
	}
	return status
}

// sendAgain has all held inputs sent once more.
func (in *inputs) sendAgain() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.sent = 0
}

// unsent returns the next line to send.
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

// wanted returns the number of the file to read next. It is 0 while enough is held, and when the run takes no more
// inputs.
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

// took takes the input that was read next, or its refusal.
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
		Hint: "choose a profile that has input in watcher.json, as subagent info shows; or wait for the end of the run, then write a new request",
	}
}

// maxWhy bounds the reason why an input was refused, in bytes: an adapter's reason is the child's word.
const maxWhy = 300

// refuse notes an input that the agent does not get. It notes each refusal only once: inputs after a held input are
// read again by the next watcher, so an earlier watcher may have refused this input already. The caller holds the lock.
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

// lacks notes whether the next input is missing while a later one is there, and whether there are more inputs than a
// run takes. It reports whether this is news.
func (in *inputs) lacks(absent bool) (news bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	before, missing := in.missing, 0
	if absent && in.seen > in.next {
		missing = in.next
	}
	in.missing = missing
	if in.seen > delegation.MaxInputs && !slices.ContainsFunc(in.refused, func(r delegation.RefusedInput) bool { return r.Code == delegation.CodeInputLimit }) {
		in.refuse(in.seen, &delegation.Refusal{Code: delegation.CodeInputLimit, Text: "A run takes 1000 inputs and no more", Hint: "write a new request"})
		news = true
	}
	return news || missing != before
}

// acknowledged handles the word of the agent's adapter that the agent has an input, or will not get it. A child that
// lies about this hurts only its own run. acknowledged returns the events that tell of the input.
func (r *Run) acknowledged(l agent.Line) []delegation.Event {
	crash.At("input.acknowledged")
	in := r.inputs
	said, known := in.drop(l)
	switch {
	case !known && in.resumed:
		return nil // an earlier watcher has sent it; it is sent again, and acknowledged again
	case !known:
		return []delegation.Event{{Type: delegation.EventNotice, Text: "the agent's adapter acknowledged an input that was not sent"}}
	}
	r.showInputs()
	r.Hear(0) // there is room for more
	if l.Failed {
		return []delegation.Event{{Type: delegation.EventNotice, Text: l.Text}}
	}
	return eventsOf(said)
}

// drop forgets an acknowledged input, and returns it.
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
		in.refuse(l.N, &delegation.Refusal{Code: delegation.CodeInputLate, Text: l.Text, Hint: "wait for the end of the run, then write a new request"})
	}
	return said, true
}

// saidPiece bounds how much of a text goes into one event, in bytes.
const saidPiece = 2 << 10

// eventsOf returns the events for an input that the agent has got.
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
