package engine

import (
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/client"

	"torno/sandbox"
)

// IsGone says whether the engine does not have what it was asked about.
func IsGone(err error) bool { return errdefs.IsNotFound(err) }

// IsConflict says whether what the engine was asked to do does not fit what it has, or is doing.
func IsConflict(err error) bool { return errdefs.IsConflict(err) }

// Ignore takes one kind of error for none.
func Ignore(err, kind error) error {
	if errors.Is(err, kind) {
		return nil
	}
	return err
}

// Away marks an error that tells of nothing but an engine that does not answer, or could not be asked: without a file
// descriptor to spare nothing can be found out either.
func Away(err error) error {
	var network net.Error
	switch {
	case err == nil, errors.Is(err, sandbox.ErrUnavailable):
		return err
	case client.IsErrConnectionFailed(err), errdefs.IsUnavailable(err), errors.As(err, &network),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return fmt.Errorf("%w: %w", sandbox.ErrUnavailable, err)
	}
	return err
}
