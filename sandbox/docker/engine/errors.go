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

// IsGone reports whether the engine does not have the thing that it was asked about.
func IsGone(err error) bool { return errdefs.IsNotFound(err) }

// IsConflict reports whether a request to the engine does not fit the engine's present state or work.
func IsConflict(err error) bool { return errdefs.IsConflict(err) }

// Ignore returns nil for one kind of error, and every other error unchanged.
func Ignore(err, kind error) error {
	if errors.Is(err, kind) {
		return nil
	}
	return err
}

// Away marks an error that means only that the engine does not answer or could not be asked. Without a free file
// descriptor nothing can be found out either, so that counts, too.
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
