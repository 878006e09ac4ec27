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

// Program is what a fake sandbox runs in place of an agent: argv[0] chooses it, the result is its exit code. It must
// return soon after its context ends: the program was killed, by KILL, or by INT or TERM if it did not trap them. Its result
// does not count then.
type Program func(ctx context.Context, p ProgramIO) int

// ProgramIO is what a Program has of the world.
type ProgramIO struct {
	Args   []string // without argv[0]
	Env    []string
	Dir    string
	Stdin  io.Reader // at its end at once, unless the spec keeps it open
	Stdout io.Writer // both fail once the program is dead
	Stderr io.Writer
	box    *box
}

// Trap has the program receive signals instead of dying of them. A program that does not read the channel ignores them.
func (p ProgramIO) Trap(signals ...sandbox.Signal) <-chan sandbox.Signal {
	return p.box.trap(signals)
}

// Spawn runs a process of the sandbox that is not of the agent's group: signals pass it by, and it outlives the
// program until init kills what is left, which is the end of its context.
func (p ProgramIO) Spawn(process func(context.Context)) { p.box.spawn(process) }

// OutOfMemory is the kernel killing the program for the memory it used. Return what it returns.
func (p ProgramIO) OutOfMemory() int { return p.box.outOfMemory() }

// Sleep waits, or says why the program must end.
func (p ProgramIO) Sleep(ctx context.Context, d time.Duration) error { return retry.Pause(ctx, d) }

// ReadFile reads what the child sees as name, which is taken from Dir when it is relative.
func (p ProgramIO) ReadFile(name string) ([]byte, error) {
	return p.box.readFile(absolute(p.Dir, name))
}

// WriteFile writes what the child sees as name; only the workspace can be written.
func (p ProgramIO) WriteFile(name string, content []byte) error {
	return p.write(name, content, os.O_TRUNC)
}

// AppendFile is WriteFile after what is there.
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

// complain is the ordinary end of a program that could not do its work.
func complain(p ProgramIO, err error) int {
	fmt.Fprintln(p.Stderr, err)
	return 1
}
