package sandbox

import (
	"errors"
	"fmt"
	"strings"
)

// Attestation records how a finished sandbox looked from the host, while init held it and before the agent ran (I24).
type Attestation struct {
	// Attested is true if the host looked and the sandbox matches its Spec.
	Attested bool `json:"attested"`
	// Why gives the reason if the host could not look. Then only init's own word speaks for the sandbox.
	Why string `json:"why,omitempty"`
	// Group is a control group that holds every process of the sandbox and no other process; "" if the host cannot
	// tell. It is not stored.
	Group string `json:"-"`
	// Seen lists the host's observations, the first one first.
	Seen []Observation `json:"seen,omitempty"`
}

// Observation is one thing that the host saw of a sandbox.
type Observation struct {
	What  string `json:"what"`
	Value string `json:"value"`
}

// ErrNotHeld means that a sandbox does not wait for its release: it already runs, or has ended.
var ErrNotHeld = errors.New("the sandbox is not held")

// DifferenceError lists every difference between a finished sandbox and its Spec. Such a sandbox is never released.
type DifferenceError struct{ Differences []Difference }

// Difference is one property of a sandbox that does not match the Spec.
type Difference struct{ What, Want, Got string }

func (e *DifferenceError) Error() string {
	texts := make([]string, len(e.Differences))
	for i, d := range e.Differences {
		texts[i] = fmt.Sprintf("%s is %s and should be %s", d.What, d.Got, d.Want)
	}
	return strings.Join(texts, "; ")
}
