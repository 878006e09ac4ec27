package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"torno/sandbox"
)

// Program is what a fake sandbox runs in place of an agent: argv[0] chooses it, the result is its exit code. It must
// return soon after its context ends, which is its death: by KILL, or by INT or TERM if it did not trap them. What it
// returns then does not count.
type Program func(ctx context.Context, io ProgramIO) int

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

// Trap has the program receive signals instead of dying of them. Whoever does not read the channel ignores them.
func (p ProgramIO) Trap(signals ...sandbox.Signal) <-chan sandbox.Signal {
	return p.box.trap(signals)
}

// Spawn runs a process of the sandbox that is not of the agent's group: signals pass it by, and it outlives the
// program until init kills what is left, which is the end of its context.
func (p ProgramIO) Spawn(process func(context.Context)) { p.box.spawn(process) }

// OutOfMemory is the kernel killing the program for the memory it used. Return what it returns.
func (p ProgramIO) OutOfMemory() int { return p.box.outOfMemory() }

// Sleep waits, or says why the program must end.
func (p ProgramIO) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ReadFile reads what the child sees as name, which is taken from Dir when it is relative.
func (p ProgramIO) ReadFile(name string) ([]byte, error) {
	name = p.absolute(name)
	for _, file := range p.box.spec.Files {
		if name == path.Join(sandbox.RunDir, file.Name) {
			return file.Content, nil
		}
	}
	host, _, err := p.box.resolve(name)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(host)
}

// WriteFile writes what the child sees as name; only the workspace can be written.
func (p ProgramIO) WriteFile(name string, content []byte) error {
	return p.write(name, content, os.O_TRUNC)
}

// AppendFile is WriteFile behind what is there.
func (p ProgramIO) AppendFile(name string, content []byte) error {
	return p.write(name, content, os.O_APPEND)
}

func (p ProgramIO) write(name string, content []byte, how int) (err error) {
	host, writable, err := p.box.resolve(p.absolute(name))
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

func (p ProgramIO) absolute(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(p.Dir, name)
}

// resolve says where a path of the child lies on the host. The innermost mount is the last one that fits.
func (b *box) resolve(name string) (host string, writable bool, err error) {
	for _, m := range b.spec.Mounts {
		if beneath(name, m.Target) {
			host = filepath.Join(b.world.host(m.Source), strings.TrimPrefix(name, m.Target))
			writable = m.Workspace
		}
	}
	if host == "" {
		return "", false, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return host, writable, nil
}

// shellWords are the words of `sh -c "words"`, or none when argv is something else. Quotes mean nothing.
func shellWords(argv []string) []string {
	shell := strings.TrimPrefix(path.Base(argv[0]), "ba") == "sh"
	if !shell || len(argv) < 3 || argv[1] != "-c" {
		return nil
	}
	return strings.Fields(argv[2])
}

// complain is the ordinary end of a program that could not do its work.
func complain(p ProgramIO, err error) int {
	fmt.Fprintln(p.Stderr, err)
	return 1
}
