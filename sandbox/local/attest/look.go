package attest

import (
	"errors"
	"slices"

	"torno/sandbox"
)

// ErrCannotLook says that the host cannot look into a process. It says nothing about the sandbox.
var ErrCannotLook = errors.New("the host cannot look into the sandbox")

// CannotLookError says what is closed to the host, and what the host needs to look into it. It is an ErrCannotLook.
type CannotLookError struct {
	What, Needs string
	Err         error // the cause, or nil
}

func (e *CannotLookError) Error() string {
	return ErrCannotLook.Error() + ": " + e.What + "; " + e.Needs
}

func (e *CannotLookError) Unwrap() []error { return []error{ErrCannotLook, e.Err} }

// Look collects observations of a sandbox, and the differences from its Spec.
type Look struct {
	seen        []sandbox.Observation
	differences []sandbox.Difference
}

// See notes an observation.
func (l *Look) See(what, value string) {
	l.seen = append(l.seen, sandbox.Observation{What: what, Value: value})
}

// maxDifferences bounds how many differences are reported: the first is reason enough to refuse.
const maxDifferences = 8

// Differ notes a difference, unless it is noted already.
func (l *Look) Differ(what, want, got string) {
	d := sandbox.Difference{What: what, Want: want, Got: got}
	if len(l.differences) < maxDifferences && !slices.Contains(l.differences, d) {
		l.differences = append(l.differences, d)
	}
}

// Compare notes an observation, and a difference if got is not want.
func (l *Look) Compare(what, want, got string) {
	l.See(what, got)
	if got != want {
		l.Differ(what, want, got)
	}
}

// Add adds the observations and differences of another look.
func (l *Look) Add(other *Look) {
	l.seen = append(l.seen, other.seen...)
	for _, d := range other.differences {
		l.Differ(d.What, d.Want, d.Got)
	}
}

// Attestation returns the result of the look.
func (l *Look) Attestation() (sandbox.Attestation, error) {
	if len(l.differences) > 0 {
		return sandbox.Attestation{}, &sandbox.DifferenceError{Differences: l.differences}
	}
	return sandbox.Attestation{Attested: true, Seen: l.seen}, nil
}
