package keeper

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"torno/internal/retry"
)

// State is the state of a box.
type State string

// The states of a box.
const (
	Created State = "created" // nothing was started
	Live    State = "live"    // a keeper runs
	Over    State = "over"    // the end is written down
	Lost    State = "lost"    // it was started, and its end is not known
)

// Box is a box from the watcher's point of view.
type Box struct {
	Dir      string
	Children *Children // reaps its keeper; nil if this process starts none
}

// State looks at the box and returns its state.
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
	case there(box, endName): // it ended while State looked
		return Over, nil
	case !there(box, startedName):
		return Created, nil
	}
	// A keeper may have taken the lock and begun since.
	if held, err = isHeld(box); err != nil || held {
		return Live, err
	}
	if there(box, endName) {
		return Over, nil
	}
	return Lost, nil
}

// MayRun reports whether the sandbox was started and its end is not written down. A caller that holds the box's lock
// cannot ask State, which takes that lock for a keeper's.
func (b Box) MayRun() (bool, error) {
	box, err := os.OpenRoot(b.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer box.Close()
	for name, want := range map[string]bool{startedName: true, endName: false} {
		_, err := box.Lstat(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		if (err == nil) != want {
			return false, nil
		}
	}
	return true, nil
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

// IsHeld reports whether Lock failed because a keeper lives.
func IsHeld(err error) bool { return errors.Is(err, errHeld) }

// Order returns the keeper's order.
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

// Keeper returns the pid of the keeper, or 0 if this process has not started it.
func (b Box) Keeper() int { return b.Children.pid(b.Dir) }

// Sentry returns the pid of the sentry, as the runtime has written it down.
func (b Box) Sentry() (int, error) {
	box, err := os.OpenRoot(b.Dir)
	if err != nil {
		return 0, err
	}
	defer box.Close()
	return readPid(box)
}

// End returns how the sandbox ended. It returns ErrGone if the end was not written down, or if a power failure damaged
// it.
func (b Box) End() (End, error) {
	box, err := os.OpenRoot(b.Dir)
	if err != nil {
		return End{}, err
	}
	defer box.Close()
	return readEnd(box)
}

// retry calls ask until it succeeds, as long as a keeper lives. A keeper may have to be asked again, because it takes
// milliseconds to begin and to tidy up.
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

// awaitOver waits until the end is written down, or until no keeper lives that could write it.
func (b Box) awaitOver(ctx context.Context) error {
	return b.retry(ctx, func() error { return errHeld })
}

// readEnd reads how a sandbox ended. An incomplete end counts as none.
func readEnd(box *os.Root) (End, error) {
	var end End
	err := readJSON(box, endName, &end)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNonsense) {
		return End{}, errors.Join(ErrGone, err)
	}
	return end, err
}
