//go:build linux

package adapter

import (
	"fmt"

	"golang.org/x/sys/unix"

	"torno/internal/agent"
)

// ends reports a result if the agent gave none, writes the answer, and returns the exit code.
func (r *run) ends(end unix.WaitStatus) int {
	code := end.ExitStatus()
	if end.Signaled() {
		code = 128 + int(end.Signal())
	}
	m := r.memory
	if !m.over {
		return r.fails(orFailed(code), r.withoutResult(end)+r.lostSession())
	}
	if m.failed {
		lost := r.lostSession()
		if r.kind.files != nil {
			lost = "" // the result already says it
		}
		warn("%s failed: %s%s", r.kind.name, m.text, lost)
		return orFailed(code)
	}
	if r.answer == "" {
		return code
	}
	if err := writeAnswer(r.answer, m.text); err != nil {
		why := fmt.Sprintf("the answer was not written to %q: %v", r.answer, err)
		r.out.tell(tell(agent.Line{Kind: agent.Notice, Text: why}))
		warn("%s", why)
	}
	return code
}

// orFailed returns the exit code of an agent that failed: its own code, or 1 if its own code means success.
func orFailed(code int) int {
	if code == 0 {
		return codeFailed
	}
	return code
}

// withoutResult explains that the agent ended without a result, and says how to go on.
func (r *run) withoutResult(end unix.WaitStatus) string {
	how := fmt.Sprintf("exit code %d", end.ExitStatus())
	if end.Signaled() {
		how = unix.SignalName(end.Signal())
	}
	why := fmt.Sprintf("%s ended without a result (%s)", r.kind.name, how)
	switch {
	case r.memory.trouble != "":
		return why + "; its last trouble was: " + r.memory.trouble
	case r.memory.understood:
		return why + "; its standard error may say why"
	case end.Signaled() || end.ExitStatus() > 128: // Claude Code ends like this after a signal
		return why + " before it printed a first line; see whether it reaches its model, and read its standard error"
	}
	return fmt.Sprintf("%s, and printed nothing that its adapter knows: see whether the program is %s or newer, and read its standard error", why, r.kind.title)
}
