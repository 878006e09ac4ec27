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

// Start starts a keeper, waits until it has started the sandbox, and returns a Line that has missed nothing. The keeper
// inherits the files in held. The first ones are the handles of its plan's mounts; the keeper closes them. The rest
// stays open as long as the keeper lives, but the runtime does not get it. Even if Start returns an error, a keeper may
// be running.
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

// whyNot returns the reason why there is no sandbox. A keeper that is gone has logged the reason. If it had not noted
// the start yet, it has started nothing.
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

// newPair makes a connection, and returns the other end for a new keeper, as its first watcher.
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
