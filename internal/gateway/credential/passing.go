package credential

import (
	"errors"
	"syscall"
	"time"
)

// Passing is a failure that the next reading may not meet: a command that failed, a network, a server that is busy. Every other failure
// lasts until the operator changes something.
type Passing struct {
	Err error
	At  time.Time // when the next reading may be; zero is at once
}

func (p *Passing) Error() string { return p.Err.Error() }
func (p *Passing) Unwrap() error { return p.Err }

// passing marks a failure as one that passes.
func passing(err error) error {
	if err == nil {
		return nil
	}
	return &Passing{Err: err}
}

// ofSystem marks what the system may not say the next time, such as that too many files are open.
func ofSystem(err error) error {
	if number, ok := errors.AsType[syscall.Errno](err); ok && (number.Temporary() || number == syscall.EIO || number == syscall.ENOSPC) {
		return passing(err)
	}
	return err
}

// at adds when the next reading may be.
func at(err error, next time.Time) error {
	if p, ok := errors.AsType[*Passing](err); ok {
		return &Passing{Err: p.Err, At: next}
	}
	return err
}
