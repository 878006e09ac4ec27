package journal

import "torno/delegation"

// next describes the whole life of a run: for each state, the states that may follow. An ended run stays ended.
var next = map[delegation.State][]delegation.State{
	delegation.StateQueued:   {delegation.StateStarting, delegation.StateEnded},
	delegation.StateStarting: {delegation.StateRunning, delegation.StateEnded},
	delegation.StateRunning:  {delegation.StateWaiting, delegation.StateEnded},
	delegation.StateWaiting:  {delegation.StateRunning, delegation.StateEnded},
}

// legal reports whether a run may go from one state to the other.
func legal(from, to delegation.State) bool {
	for _, state := range next[from] {
		if state == to {
			return true
		}
	}
	return false
}
