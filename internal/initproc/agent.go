//go:build linux

package initproc

import (
	"errors"
	"fmt"
	"os"
	"path"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// These are the exit codes of a program that did not run, as every shell has them.
const (
	codeNotExecutable = 126
	codeNotFound      = 127
)

// cannotRun says why a program did not run, in words and as an exit code.
type cannotRun struct {
	code int
	why  string
}

func notFound(format string, args ...any) *cannotRun {
	return &cannotRun{codeNotFound, "cannot run " + fmt.Sprintf(format, args...)}
}

func notExecutable(format string, args ...any) *cannotRun {
	return &cannotRun{codeNotExecutable, "cannot run " + fmt.Sprintf(format, args...)}
}

// start runs the agent in a session of its own, under everything that prepare has set for this process. It returns the
// agent's pid.
func (r *run) start() (int, *cannotRun) {
	stdout := unix.Stdout
	if r.stdout != nil {
		stdout = r.stdout.write
	}
	pid, cannot := startProgram(r.file.Argv, r.file.Env, unix.Stdin, stdout, &syscall.SysProcAttr{Setsid: true})
	if cannot == nil && r.stdout != nil {
		r.stdout.start()
	}
	return pid, cannot
}

// startProgram finds a program and runs it, with this process's standard error.
func startProgram(argv, env []string, stdin, stdout int, sys *syscall.SysProcAttr) (int, *cannotRun) {
	program, cannot := lookUp(argv[0], env)
	if cannot != nil {
		return 0, cannot
	}
	pid, err := forkExec(program, argv, &syscall.ProcAttr{
		Env:   env,
		Files: []uintptr{uintptr(stdin), uintptr(stdout), uintptr(unix.Stderr)},
		Sys:   sys,
	})
	if err != nil {
		return 0, explain(program, argv, env, err)
	}
	return pid, nil
}

// forkExec starts a program with an empty signal mask. The child gets the mask of the thread that forks, so forkExec
// first empties that mask.
func forkExec(program string, argv []string, attr *syscall.ProcAttr) (int, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &unix.Sigset_t{}, nil); err != nil {
		return 0, err
	}
	return syscall.ForkExec(program, argv, attr)
}

// lookUp finds the program as a shell would, in the agent's own PATH. It skips elements of PATH that are not absolute:
// the workspace is no place to look for programs.
func lookUp(name string, env []string) (string, *cannotRun) {
	if strings.Contains(name, "/") {
		return name, executable(name)
	}
	var list string
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			list = value
		}
	}
	cannot := notFound("%q: it is not in the PATH %q", name, list)
	for dir := range strings.SplitSeq(list, ":") {
		if !path.IsAbs(dir) {
			continue
		}
		candidate := path.Join(dir, name)
		switch c := executable(candidate); {
		case c == nil:
			return candidate, nil
		case c.code == codeNotExecutable && cannot.code == codeNotFound:
			cannot = c
		}
	}
	return "", cannot
}

// executable returns nil if the kernel may be asked to run the file, and otherwise the reason why not.
func executable(name string) *cannotRun {
	var stat unix.Stat_t
	err := unix.Stat(name, &stat)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return notFound("%q: there is no such file", name)
	case err == nil && stat.Mode&unix.S_IFMT == unix.S_IFDIR:
		err = unix.EISDIR
	case err == nil:
		err = unix.Access(name, unix.X_OK)
	}
	if err != nil {
		return notExecutable("%q: %v", name, err)
	}
	return nil
}

// maxArgument returns the kernel's MAX_ARG_STRLEN, which includes the zero byte at the end.
func maxArgument() int { return 32 * os.Getpagesize() }

// explain says in words why the kernel refuses to execute a file that exists.
func explain(program string, argv, env []string, err error) *cannotRun {
	switch {
	case errors.Is(err, unix.E2BIG):
		return notExecutable("%q: %s: %v", program, tooBig(argv, env), err)
	case errors.Is(err, unix.ENOENT):
		return notExecutable("%q: its interpreter or loader is missing: %v", program, err)
	case errors.Is(err, unix.EAGAIN):
		return notExecutable("%q: the limit of processes leaves no room: %v", program, err)
	default:
		return notExecutable("%q: %v", program, err)
	}
}

func tooBig(argv, env []string) string {
	total := 0
	for i, arg := range argv {
		if len(arg) >= maxArgument() {
			return fmt.Sprintf("argument %d has %d bytes and may have %d", i, len(arg), maxArgument()-1)
		}
		total += len(arg) + 1
	}
	for _, entry := range env {
		if len(entry) >= maxArgument() {
			name, _, _ := strings.Cut(entry, "=")
			return fmt.Sprintf("the environment's %q has %d bytes and may have %d", name, len(entry), maxArgument()-1)
		}
		total += len(entry) + 1
	}
	return fmt.Sprintf("arguments and environment have %d bytes together", total)
}
