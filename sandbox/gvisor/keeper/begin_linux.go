package keeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"torno/sandbox/gvisor/keeper/output"
)

// Start starts a keeper, and returns when it has started the sandbox, with a Line on which nothing was missed. The keeper has
// what is held for it as well: first the handles of its plan's mounts, which it closes, and then what stays open, and for
// the runtime shut, as long as the keeper lives. Also with an error there may be a keeper.
func (b Box) Start(ctx context.Context, program string, attr *syscall.SysProcAttr, held ...*os.File) (*Line, error) {
	line, theirs, err := b.newPair()
	if err != nil {
		return nil, err
	}
	err = b.execute(program, attr, append([]*os.File{theirs}, held...))
	theirs.Close()
	if err != nil {
		return nil, errors.Join(err, line.Close())
	}
	if err := line.awaitRunning(ctx); err != nil {
		return nil, errors.Join(b.whyNot(err), line.Close())
	}
	return line, nil
}

func (b Box) execute(program string, attr *syscall.SysProcAttr, files []*os.File) error {
	log, err := os.OpenFile(filepath.Join(b.Dir, logName), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.Command(program, b.Dir) //nolint:noctx // it outlives us
	command.Env, command.Stderr, command.ExtraFiles = []string{}, log, files
	command.SysProcAttr = attr
	if err := command.Start(); err != nil {
		return fmt.Errorf("start %s: %w", program, err)
	}
	b.Children.add(b.Dir, command)
	return nil
}

// whyNot is why there is no sandbox. A keeper that is gone has said why, and as long as it had not noted the start, nothing
// was started.
func (b Box) whyNot(err error) error {
	if !errors.Is(err, ErrGone) {
		return err
	}
	said := tail(filepath.Join(b.Dir, logName))
	if state, stateErr := b.State(); stateErr == nil && state == Created {
		return &StartError{"its keeper ended before it started anything: " + said}
	}
	return fmt.Errorf("%w: it said %q", err, said)
}

// newPair is a connection whose other end is to be a keeper's first.
func (b Box) newPair() (*Line, *os.File, error) {
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
	line, err := b.newLine(conn, output.Progress{})
	if err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	return line, theirs, nil
}
