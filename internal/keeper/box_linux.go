package keeper

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// State is how a box stands.
type State string

// The states of a box.
const (
	Created State = "created" // nothing was started
	Live    State = "live"    // a keeper has it
	Over    State = "over"    // the end is written down
	Lost    State = "lost"    // it was started, and nobody knows how it ended
)

// Box is a box, as the watcher has it.
type Box struct{ Dir string }

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

// Held says whether a keeper lives.
func (b Box) Held() (bool, error) {
	box, err := os.OpenRoot(b.Dir)
	if err != nil {
		return false, err
	}
	defer box.Close()
	return isHeld(box)
}

// isHeld says whether a keeper lives.
func isHeld(box *os.Root) (bool, error) {
	lock, err := box.OpenFile(lockName, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer lock.Close()
	err = unix.Flock(int(lock.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

// End is how the sandbox ended; fs.ErrNotExist where it is not written down.
func (b Box) End() (End, error) {
	box, err := os.OpenRoot(b.Dir)
	if err != nil {
		return End{}, err
	}
	defer box.Close()
	var end End
	return end, readJSON(box, endName, &end)
}

// StartError is why a runtime did not start a sandbox, in its own words.
type StartError struct{ Text string }

func (e *StartError) Error() string { return "the sandbox did not start: " + e.Text }

// Start starts a keeper, and returns when it has started the sandbox, with a Line on which nothing was missed.
func (b Box) Start(ctx context.Context, program string, attr *syscall.SysProcAttr) (*Line, error) {
	line, theirs, err := newPair()
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(b.Dir, logName), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, errors.Join(err, line.Close(), theirs.Close())
	}
	defer log.Close()
	command := exec.Command(program, b.Dir) // not of ctx: it outlives us
	command.Env, command.Stderr, command.ExtraFiles = []string{}, log, []*os.File{theirs}
	command.SysProcAttr = attr
	err = command.Start()
	theirs.Close()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", program, err), line.Close())
	}
	go command.Wait() // so that it is reaped while we live
	if err := line.awaitRunning(ctx); err != nil {
		return nil, errors.Join(b.whyGone(err), line.Close())
	}
	return line, nil
}

// whyGone is what a keeper said that is gone. As long as it had not noted the start, nothing was started.
func (b Box) whyGone(err error) error {
	said, _ := os.ReadFile(filepath.Join(b.Dir, logName))
	if !errors.Is(err, ErrGone) || len(said) == 0 {
		return err
	}
	if state, stateErr := b.State(); stateErr == nil && state == Created {
		return &StartError{string(said[:min(len(said), maxSaid)])}
	}
	return fmt.Errorf("%w: it said %q", err, said[:min(len(said), maxSaid)])
}

// newPair is a connection whose other end is to be a keeper's first.
func newPair() (*Line, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
	defer ours.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	line, err := newLine(conn, Place{})
	if err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	return line, theirs, nil
}

// Attach continues behind a place with the keeper that lives, or, when there is none any more, with what it has left.
func (b Box) Attach(ctx context.Context, from Place) (*Line, error) {
	conn, err := b.dial(ctx)
	if err == nil {
		return newLine(conn, from)
	}
	box, err := os.OpenRoot(b.Dir)
	if err != nil {
		return nil, err
	}
	record, err := oldRecord(box)
	if err != nil {
		return nil, errors.Join(err, box.Close())
	}
	return &Line{old: record.follow(), box: box, place: from}, nil
}

// dial reaches the keeper by a name that is short enough, however long the path of the box is.
func (b Box) dial(ctx context.Context) (net.Conn, error) {
	dir, err := os.Open(b.Dir)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return new(net.Dialer).DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), socketName))
}

// Kill has the keeper end the sandbox. Without a keeper there is nothing that it could do.
func (b Box) Kill(ctx context.Context) error {
	conn, err := b.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, killHello); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, conn) // it closes the line when it has done so
	return err
}

// AwaitEnd waits until the sandbox has ended, and says how. Where nobody knows, that is ErrGone.
func (b Box) AwaitEnd(ctx context.Context) (End, error) {
	conn, err := b.dial(ctx)
	if err == nil {
		err = askEnd(ctx, conn)
	}
	if ctx.Err() != nil {
		return End{}, ctx.Err()
	}
	end, missing := b.End() // what is written down is what counts
	if errors.Is(missing, fs.ErrNotExist) {
		return End{}, errors.Join(ErrGone, err)
	}
	return end, missing
}

// askEnd returns when a keeper has told the end, or is gone.
func askEnd(ctx context.Context, conn net.Conn) error {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := io.WriteString(conn, endHello); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, conn)
	return err
}

// Line is a connection to a keeper, or the log of one that is gone. Read has one caller; the others may come at any time.
type Line struct {
	conn  net.Conn
	in    *bufio.Reader
	place Place

	old *reader // instead of a connection
	box *os.Root

	mu    sync.Mutex // of writing
	ended bool
	end   End
}

func newLine(conn net.Conn, from Place) (*Line, error) {
	if _, err := io.WriteString(conn, from.String()+"\n"); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &Line{conn: conn, in: bufio.NewReaderSize(conn, maxFrame+headerSize), place: from}, nil
}
