// Command guest is process 1 of a machine: it mounts what tests need, runs those that it is given by name, one after the
// other, reports what came of each, and ends the machine. It is told by the kernel's command line, behind "--".
package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"torno/test/machine/report"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "guest:", err)
	}
	unix.Sync()
	fmt.Fprintln(os.Stderr, "guest: the machine cannot be ended:", unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART)) // there is no second start
}

// What the kernel's command line says: reports names the serial line that nothing but process 1 writes to, and patience is the time
// that the host has for the whole machine. A test that hangs is ended, and told of, before that is over.
const (
	reports  = "REPORTS"
	patience = "PATIENCE"
)

func run(tests []string) error {
	syscall.Umask(0o022)
	if err := errors.Join(mountAll(), ownAll("/")); err != nil {
		return err
	}
	line, err := os.OpenFile(os.Getenv(reports), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer line.Close()
	go beat(line)
	if err := warm(); err != nil {
		return err
	}
	all, err := time.ParseDuration(os.Getenv(patience))
	if err != nil {
		return err
	}
	for began, i := time.Now(), 0; i < len(tests); i++ {
		fmt.Println("guest:", tests[i])
		if err := report.Write(line, one(tests[i], all-time.Since(began))); err != nil {
			return err
		}
	}
	return nil
}

// warm has gVisor read from the disk, and its program translated once, before a watcher asks for its version and wants it within seconds.
// Here it may take as long as it takes.
func warm() error {
	pid, err := syscall.ForkExec("/programs/runsc", []string{"runsc", "--version"}, &syscall.ProcAttr{Dir: "/"})
	if err != nil {
		return err
	}
	_, err = wait(pid)
	return err
}

// beat tells the host that the machine goes on, until it ends. A machine whose kernel stands still says nothing.
func beat(line io.Writer) {
	for range time.Tick(time.Second) {
		if err := report.Beat(line); err != nil {
			fmt.Fprintln(os.Stderr, "guest: the host cannot be told that the machine goes on:", err)
			return
		}
	}
}

// places are the mounts, as systemd makes them.
var places = []struct{ kind, at, options string }{
	{"proc", "/proc", ""},
	{"sysfs", "/sys", ""},
	{"devtmpfs", "/dev", "mode=755"},
	{"devpts", "/dev/pts", "mode=620"},
	{"tmpfs", "/dev/shm", "mode=1777"},
	{"tmpfs", "/run", "mode=755"},
	{"cgroup2", "/sys/fs/cgroup", "nsdelegate,memory_recursiveprot"},
}

func mountAll() error {
	for _, p := range places {
		if err := os.MkdirAll(p.at, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(p.kind, p.at, p.kind, unix.MS_NOSUID, p.options); err != nil && !errors.Is(err, unix.EBUSY) { // the kernel's own
			return fmt.Errorf("mount %s: %w", p.at, err)
		}
	}
	return unix.Sethostname([]byte("machine"))
}

// ownAll makes root the owner of the disk's files: any user may have made the disk.
func ownAll(top string) error {
	var disk unix.Stat_t
	if err := unix.Stat(top, &disk); err != nil {
		return err
	}
	return filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		var at unix.Stat_t
		if err == nil {
			err = unix.Lstat(path, &at)
		}
		if err == nil && at.Dev != disk.Dev {
			return fs.SkipDir
		}
		return errors.Join(err, os.Lchown(path, 0, 0))
	})
}

// environment is that of the tests. Nothing that matters is skipped.
var environment = []string{
	"PATH=/usr/sbin:/usr/bin", "HOME=/root", "TMPDIR=/tmp", "CI=true", "TORNO_TEST_PROGRAMS=/programs", "TORNO_TEST_ROOT=/programs",
}

// patient is how long a test waits for what it wants to come true, see package house.
const patient = "TORNO_TEST_PATIENCE"

// maxOutput is how much of a test's output is reported.
const maxOutput = 256 << 10

// one runs a test for as long as is allowed, and reaps whatever has lost its parent meanwhile.
func one(test string, allowed time.Duration) report.Result {
	r, begun := report.Result{Test: test, Exit: -1}, time.Now()
	output, err := os.CreateTemp("/run", "output-")
	if err != nil {
		r.Error = err.Error()
		return r
	}
	defer output.Close()
	pid, err := syscall.ForkExec("/programs/inside.test", []string{"inside.test", "-test.v", "-test.run=^" + test + "$", "-test.timeout=" + max(allowed, time.Second).String()}, &syscall.ProcAttr{
		Env: append(slices.Clone(environment), patient+"="+(allowed/2).String()), Dir: "/root", Files: []uintptr{0, output.Fd(), output.Fd()}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		r.Error = err.Error()
		return r
	}
	if status, err := wait(pid); err != nil {
		r.Error = err.Error()
	} else {
		r.Exit = status.ExitStatus()
	}
	r.Took = time.Since(begun)
	if r.Output, err = end(output); err != nil {
		r.Error += err.Error()
	}
	return r
}

// wait waits for a process, as the parent of all.
func wait(pid int) (status syscall.WaitStatus, err error) {
	for {
		ended, err := syscall.Wait4(-1, &status, 0, nil)
		if ended == pid || err != nil && !errors.Is(err, unix.EINTR) {
			return status, err
		}
	}
}

// end is the end of a file.
func end(file *os.File) (string, error) {
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.NewSectionReader(file, max(0, info.Size()-maxOutput), maxOutput))
	return string(text), err
}
