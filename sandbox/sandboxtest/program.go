package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"torno/internal/retry"
	"torno/sandbox"
)

// Program is a function that a fake sandbox runs in place of an agent. argv[0] chooses it, and its result is the exit
// code. It must return soon after its context ends: then it was killed, by KILL, or by INT or TERM if it did not trap
// them, and its result does not count.
type Program func(ctx context.Context, p ProgramIO) int

// ProgramIO gives a Program access to its world.
type ProgramIO struct {
	Args   []string // without argv[0]
	Env    []string
	Dir    string
	Stdin  io.Reader // at its end from the start, unless the spec keeps it open
	Stdout io.Writer // both fail once the program is dead
	Stderr io.Writer
	box    *box
}

// Trap makes the program receive signals instead of dying of them. A program that does not read the channel ignores
// them.
func (p ProgramIO) Trap(signals ...sandbox.Signal) <-chan sandbox.Signal {
	return p.box.trap(signals)
}

// Spawn runs a process of the sandbox outside the agent's group. Signals do not reach it. It outlives the program until
// init kills everything that is left; then its context ends.
func (p ProgramIO) Spawn(process func(context.Context)) { p.box.spawn(process) }

// OutOfMemory acts as if the kernel killed the program for using too much memory. The program must return the result of
// OutOfMemory.
func (p ProgramIO) OutOfMemory() int { return p.box.outOfMemory() }

// Sleep waits for d. It returns an error if the program must end.
func (p ProgramIO) Sleep(ctx context.Context, d time.Duration) error { return retry.Pause(ctx, d) }

// ReadFile reads the file that the child sees as name. A relative name is taken from Dir.
func (p ProgramIO) ReadFile(name string) ([]byte, error) {
	return p.box.readFile(absolute(p.Dir, name))
}

// WriteFile writes the file that the child sees as name. Only the workspace can be written.
func (p ProgramIO) WriteFile(name string, content []byte) error {
	return p.write(name, content, os.O_TRUNC)
}

// AppendFile works like WriteFile, but appends to the file.
func (p ProgramIO) AppendFile(name string, content []byte) error {
	return p.write(name, content, os.O_APPEND)
}

func (p ProgramIO) write(name string, content []byte, how int) (err error) {
	host, writable, err := p.box.resolve(absolute(p.Dir, name))
	if err != nil {
		return err
	}
	if !writable {
		return &fs.PathError{Op: "open", Path: name, Err: syscall.EROFS}
	}
	mode := fs.FileMode(0o666 &^ p.box.spec.Process.Umask)
	f, err := os.OpenFile(host, os.O_CREATE|os.O_WRONLY|how, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.Write(content)
	return err
}

// complain ends a program that could not do its work: it prints err and returns 1.
func complain(p ProgramIO, err error) int {
	fmt.Fprintln(p.Stderr, err)
	return 1
}
