package sandbox

import (
	"errors"
	"fmt"
	"strings"
)

// Attestation is what the host saw of a finished sandbox from outside, while init held and before the agent ran (I24).
type Attestation struct {
	// Attested says that the host looked, and that the sandbox is what its Spec says.
	Attested bool `json:"attested"`
	// Why says why the host could not look. Then only init's own word speaks for the sandbox.
	Why string `json:"why,omitempty"`
	// Group is a control group in which every process of the sandbox is, and nothing else; "" where the host cannot tell. It is not kept.
	Group string `json:"-"`
	// Seen is what the host saw, in the order in which it looked.
	Seen []Observation `json:"seen,omitempty"`
}

// Observation is one thing that the host saw of a sandbox.
type Observation struct {
	What  string `json:"what"`
	Value string `json:"value"`
}

// ErrNotHeld says that a sandbox does not wait for its release: it runs already, or has ended.
var ErrNotHeld = errors.New("the sandbox is not held")

// DifferenceError says in what a finished sandbox differs from its Spec. Such a sandbox is never released.
type DifferenceError struct{ Differences []Difference }

// Difference is one thing that is not as the Spec has it.
type Difference struct{ What, Want, Got string }

func (e *DifferenceError) Error() string {
	texts := make([]string, len(e.Differences))
	for i, d := range e.Differences {
		texts[i] = fmt.Sprintf("%s is %s and should be %s", d.What, d.Got, d.Want)
	}
	return strings.Join(texts, "; ")
}
