package run

import (
	"time"

	"torno/internal/agent"
	"torno/internal/crash"
)

// inputAgain is how long an adapter may take to acknowledge inputs and to take decisions. After that all inputs and
// decisions are sent once more, and the adapter is asked to repeat its questions: its word may have been lost.
const inputAgain = 10 * time.Second

// takeAgain is how long a decision waits that the journal did not take.
const takeAgain = time.Second

// listen reads the parent's inputs until the attendance is over.
func (a *attendance) listen() {
	for {
		var again <-chan time.Time
		if !a.r.takeInputs(a.ctx) {
			again = time.After(takeAgain)
		}
		select {
		case <-a.r.inputs.wake:
		case <-again:
		case <-a.exited:
			return
		case <-a.ctx.Done():
			return
		}
	}
}

// feed sends inputs and decisions to the agent until the attendance is over. A child that does not read holds up this
// goroutine alone: the end of the attachment ends its write.
func (a *attendance) feed() {
	in := a.r.inputs
	a.repeat()
	again := time.NewTicker(inputAgain)
	defer again.Stop()
	for {
		a.send()
		select {
		case <-in.ready:
		case <-a.r.desk.Ready():
			a.sendDecisions()
		case <-again.C:
			a.repeat()
		case <-a.exited:
			return
		case <-a.ctx.Done():
			return
		}
	}
}

// repeat has everything said once more that may have been lost: the parent's inputs, the decisions, and then the
// agent's questions that have no decision. A watcher that dies, or an engine that throws output away, may take a
// question with it, and nobody else would miss it.
func (a *attendance) repeat() {
	a.r.inputs.sendAgain()
	a.r.desk.Again()
	a.sendDecisions()
	if !a.r.desk.Takes() {
		return
	}
	if _, err := a.att.Input().Write(agent.EncodeAskAgain()); err != nil {
		a.r.log.Debug("the watcher could not ask a sandbox for its agent's questions; the next attachment asks again", "run", a.r.hash, "error", err)
	}
}

// send writes the inputs that were not sent yet. An input that could not be written is sent again later.
func (a *attendance) send() {
	for line, more := a.r.inputs.unsent(); more; line, more = a.r.inputs.unsent() {
		crash.At("input.sent")
		if _, err := a.att.Input().Write(line); err != nil {
			a.r.log.Debug("a sandbox did not take input", "run", a.r.hash, "error", err)
			return
		}
	}
}
