package credential

import (
	"errors"
	"syscall"
	"time"
)

// Passing is a failure that may be gone at the next reading: a failed command, a network, a busy server. Every other
// failure lasts until the operator changes something.
type Passing struct {
	Err error
	At  time.Time // earliest time of the next reading; zero means at once
}

func (p *Passing) Error() string { return p.Err.Error() }
func (p *Passing) Unwrap() error { return p.Err }

// passing marks a failure as a Passing.
func passing(err error) error {
	if err == nil {
		return nil
	}
	return &Passing{Err: err}
}

// ofSystem marks system errors that may be gone the next time, such as too many open files.
func ofSystem(err error) error {
	if number, ok := errors.AsType[syscall.Errno](err); ok && (number.Temporary() || number == syscall.EIO || number == syscall.ENOSPC) {
		return passing(err)
	}
	return err
}

// at adds the earliest time of the next reading.
func at(err error, next time.Time) error {
	if p, ok := errors.AsType[*Passing](err); ok {
		return &Passing{Err: p.Err, At: next}
	}
	return err
}
