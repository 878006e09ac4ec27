package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"torno/sandbox"
)

// proveTime bounds the wait for an engine to tell that it does not have a container.
const proveTime = 10 * time.Second

// Gone returns the error for a container that was not found. It is ErrNotFound only if the launcher's own engine says
// so when it is asked again.
func (i *Identity) Gone(doing string, h sandbox.Handle) error {
	ctx, cancel := context.WithTimeout(context.Background(), proveTime)
	defer cancel()
	err := errors.Join(h.On(i.Name()), i.Prove(ctx))
	if err == nil {
		_, err = i.client.Inspect(ctx, h.ID)
	}
	switch {
	case err == nil:
		err = fmt.Errorf("%w: it did not know the container, and knows it now", sandbox.ErrUnavailable)
	case IsGone(err):
		err = sandbox.ErrNotFound
	}
	return Away(fmt.Errorf("%s container %s: %w", doing, h.ID, err))
}

// Wrap adds to an error which action failed. If the container is gone, it returns the error of Gone.
func (i *Identity) Wrap(err error, doing string, h sandbox.Handle) error {
	if errors.Is(err, sandbox.ErrNotFound) {
		return err
	}
	if IsGone(err) {
		return i.Gone(doing, h)
	}
	return Away(fmt.Errorf("%s container %s: %w", doing, h.ID, err))
}
