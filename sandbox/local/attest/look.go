package attest

import (
	"errors"
	"slices"

	"torno/sandbox"
)

// ErrCannotLook says that the host cannot see into a process. It says nothing of the sandbox.
var ErrCannotLook = errors.New("the host cannot look into the sandbox")

// CannotLookError says what the host cannot look at, and what would let it. It is an ErrCannotLook.
type CannotLookError struct {
	What, Needs string
	Err         error // nil where there is none beneath
}

func (e *CannotLookError) Error() string {
	return ErrCannotLook.Error() + ": " + e.What + "; " + e.Needs
}

func (e *CannotLookError) Unwrap() []error { return []error{ErrCannotLook, e.Err} }

// Look collects what is seen of a sandbox, and what differs from its Spec.
type Look struct {
	seen        []sandbox.Observation
	differences []sandbox.Difference
}

// See notes what was seen.
func (l *Look) See(what, value string) {
	l.seen = append(l.seen, sandbox.Observation{What: what, Value: value})
}

// maxDifferences bounds how many differences are told: the first is reason enough.
const maxDifferences = 8

// Differ notes a difference, once.
func (l *Look) Differ(what, want, got string) {
	d := sandbox.Difference{What: what, Want: want, Got: got}
	if len(l.differences) < maxDifferences && !slices.Contains(l.differences, d) {
		l.differences = append(l.differences, d)
	}
}

// Compare notes what was seen, and a difference where it is not what is wanted.
func (l *Look) Compare(what, want, got string) {
	l.See(what, got)
	if got != want {
		l.Differ(what, want, got)
	}
}

// Add adds what another look has found.
func (l *Look) Add(other *Look) {
	l.seen = append(l.seen, other.seen...)
	for _, d := range other.differences {
		l.Differ(d.What, d.Want, d.Got)
	}
}

// Attestation is what came of the look.
func (l *Look) Attestation() (sandbox.Attestation, error) {
	if len(l.differences) > 0 {
		return sandbox.Attestation{}, &sandbox.DifferenceError{Differences: l.differences}
	}
	return sandbox.Attestation{Attested: true, Seen: l.seen}, nil
}
