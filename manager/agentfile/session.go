package agentfile

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// BusyError says that an agent is in a conversation with somebody else.
type BusyError struct{ Agent string }

func (e *BusyError) Error() string {
	return fmt.Sprintf("Subagent %s is in a conversation already. It has one at a time: wait for its answer, and ask again.", quote(e.Agent))
}

// Session is an agent's one conversation, held until Release or the end of the process, however that ends.
type Session struct{ lock *os.File }

// Hold takes the conversation of an agent, or says with a BusyError that it is taken, by this process or another. State is
// a directory of the parent's own, into which no child writes.
func Hold(state *os.Root, agent *Agent) (*Session, error) {
	f, err := state.OpenFile(agent.Name+".lock", os.O_RDWR|os.O_CREATE|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, fmt.Errorf("hold the conversation of %s: %w", agent.Name, err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = &BusyError{Agent: agent.Name}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Session{lock: f}, nil
}

// Release lets the next conversation begin. The file stays: were it removed, two could hold two files of one name.
func (s *Session) Release() error { return s.lock.Close() }
