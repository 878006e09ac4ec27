package house

import "os"

// Dead says whether the watcher has ended by itself, and how. It says so once.
func (h *House) Dead() (state *os.ProcessState, dead bool) {
	if h.process == nil {
		return nil, false
	}
	select {
	case <-h.exited:
		state = h.process.ProcessState
		h.process = nil
		return state, true
	default:
		return nil, false
	}
}
