package keeper

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"torno/internal/retry"
)

// State is how a box stands.
type State string

// The states of a box.
const (
	Created State = "created" // nothing was started
	Live    State = "live"    // a keeper has it
	Over    State = "over"    // the end is written down
	Lost    State = "lost"    // it was started, and its end is not known
)

// Box is a box, as the watcher has it.
type Box struct {
	Dir      string
	Children *Children // who reaps its keeper; nil where none is started
}

// State looks.
func (b Box) State() (State, error) {
	box, err := os.OpenRoot(b.Dir)
	if err != nil {
		return "", err
	}
	defer box.Close()
	if there(box, endName) {
		return Over, nil
	}
	held, err := isHeld(box)
	switch {
	case err != nil:
		return "", err
	case held:
		return Live, nil
	case there(box, endName): // it ended while we looked
		return Over, nil
	case there(box, startedName):
		return Lost, nil
	}
	return Created, nil
}

func there(box *os.Root, name string) bool {
	_, err := box.Lstat(name)
	return err == nil
}

// Lock locks a box, so that no keeper can start in it until the lock is closed. It fails while a keeper lives.
func (b Box) Lock() (io.Closer, error) {
	box, err := os.OpenRoot(b.Dir)
	if err != nil {
		return nil, err
	}
	defer box.Close()
	lock, err := lockBox(box)
	if err != nil {
		return nil, err
	}
	b.Children.reap(b.Dir)
	return lock, nil
}

// IsHeld says whether Lock has failed because a keeper lives.
func IsHeld(err error) bool { return errors.Is(err, errHeld) }

// Order is what its keeper is to start.
func (b Box) Order() (Order, error) {
	box, err := os.OpenRoot(b.Dir)
	if err != nil {
		return Order{}, err
	}
	defer box.Close()
	var order Order
	err = readJSON(box, orderName, &order)
	return order, err
}

// Keeper is the process of the keeper, where this process has started it; else 0.
func (b Box) Keeper() int { return b.Children.pid(b.Dir) }

// Sentry is the process that the runtime has left in the sandbox's place, as the runtime says.
func (b Box) Sentry() (int, error) {
	box, err := os.OpenRoot(b.Dir)
	if err != nil {
		return 0, err
	}
	defer box.Close()
	return readPid(box)
}

// End is how the sandbox ended; ErrGone where that is not written down, or was when the power failed.
func (b Box) End() (End, error) {
	box, err := os.OpenRoot(b.Dir)
	if err != nil {
		return End{}, err
	}
	defer box.Close()
	return readEnd(box)
}

// retry calls a function until it is done, while a keeper lives that may have to be asked again: a keeper that begins or tidies
// up takes milliseconds.
func (b Box) retry(ctx context.Context, ask func() error) error {
	for {
		if ask() == nil {
			return nil
		}
		state, err := b.State()
		if err != nil || state != Live {
			return err
		}
		if err := retry.Pause(ctx, retry.Soon); err != nil {
			return err
		}
	}
}

// awaitOver returns when the end is written down, or no keeper lives that could do so.
func (b Box) awaitOver(ctx context.Context) error {
	return b.retry(ctx, func() error { return errHeld })
}

// readEnd is how a sandbox ended. An end of which the disk has kept only a part says nothing.
func readEnd(box *os.Root) (End, error) {
	var end End
	err := readJSON(box, endName, &end)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNonsense) {
		return End{}, errors.Join(ErrGone, err)
	}
	return end, err
}
