package agentfile

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"torno/internal/flock"
)

// BusyError says that an agent is already in a conversation with another caller.
type BusyError struct{ Agent string }

func (e *BusyError) Error() string {
	return fmt.Sprintf("Subagent %s is in a conversation already. It has one at a time: wait for its answer, and ask again.", quote(e.Agent))
}

// Session is an agent's one conversation. It is held until Release or until the process ends in any way.
type Session struct{ lock *os.File }

// Hold takes the conversation of an agent. It returns a BusyError if this or another process already holds it. State is
// a directory of the parent's own; no child writes into it.
func Hold(state *os.Root, agent *Agent) (*Session, error) {
	f, err := state.OpenFile(agent.Name+".lock", os.O_RDWR|os.O_CREATE|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, fmt.Errorf("hold the conversation of %s: %w", agent.Name, err)
	}
	err = flock.Try(f)
	if errors.Is(err, flock.ErrHeld) {
		err = &BusyError{Agent: agent.Name}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Session{lock: f}, nil
}

// Release lets the next conversation begin. The file stays: if it were removed, two processes could each hold a file of
// that name.
func (s *Session) Release() error { return s.lock.Close() }
