package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"torno/sandbox"
)

// proveTime bounds how long an engine may take to say that it does not have a container.
const proveTime = 10 * time.Second

// Gone is what it means that a container was not found: ErrNotFound only where the launcher's own engine says so, asked once more.
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

// Wrap says what failed, and tells a container that is gone apart.
func (i *Identity) Wrap(err error, doing string, h sandbox.Handle) error {
	if errors.Is(err, sandbox.ErrNotFound) {
		return err
	}
	if IsGone(err) {
		return i.Gone(doing, h)
	}
	return Away(fmt.Errorf("%s container %s: %w", doing, h.ID, err))
}
