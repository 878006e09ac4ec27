//go:build linux

package main_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"torno/internal/runfile"
)

const (
	planVariable = "TORNO_TEST_BOX"
	boxFailed    = 99
)

// plan is what the process in the new namespaces does before it becomes init. What begins with No is done unless a test
// says otherwise: it is what makes a sandbox of it.
type plan struct {
	UID, GID     int
	Groups       []int
	Args, Env    []string
	Binds        []bind
	Links        map[string]string // name → where it points
	RunDir, Init string

	Capability  bool // keep one
	Inheritable bool // keep one in the inheritable set only
	Bounding    bool // keep the bounding set
	NewPrivs    bool // do not set no_new_privs
	SharePIDs   bool // be an ordinary process, not process 1

	Ignore []int // signals that are ignored
	Block  []int // signals that are blocked
	Leak   bool  // leave a descriptor of /etc open
}

type bind struct {
	Source, Target     string
	ReadOnly, Hardened bool
}

func (p plan) namespaces() uintptr {
	flags := uintptr(unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWNET)
	if !p.SharePIDs {
		flags |= unix.CLONE_NEWPID
	}
	return flags
}

// enter becomes init, or returns why not.
func enter(text string) error {
	runtime.LockOSThread()
	var p plan
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return err
	}
	for _, step := range []func() error{raiseLoopback, p.mount, p.inherit, p.drop} {
		if err := step(); err != nil {
			return err
		}
	}
	return unix.Exec(runfile.Init, p.Args, p.Env)
}

// raiseLoopback has the network namespace's own addresses answer.
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

// mount makes the file system of the sandbox: the host's, with its own /run, /srv and /proc.
func (p plan) mount() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	for _, dir := range []string{"/run", "/srv"} {
		if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
			return fmt.Errorf("tmpfs on %s: %w", dir, err)
		}
	}
	if !p.SharePIDs {
		if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
			return fmt.Errorf("proc: %w", err)
		}
	}
	binds := append([]bind{
		{Source: p.RunDir, Target: runfile.Dir, ReadOnly: true, Hardened: true},
		{Source: p.Init, Target: runfile.Init, ReadOnly: true, Hardened: true},
	}, p.Binds...)
	for _, b := range binds {
		if err := b.mount(); err != nil {
			return fmt.Errorf("bind %s: %w", b.Target, err)
		}
	}
	for name, target := range p.Links {
		if err := os.Symlink(target, name); err != nil {
			return err
		}
	}
	return nil
}

func (b bind) mount() error {
	if err := b.makeTarget(); err != nil {
		return err
	}
	if err := unix.Mount(b.Source, b.Target, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	flags := uintptr(unix.MS_REMOUNT | unix.MS_BIND)
	if b.ReadOnly {
		flags |= unix.MS_RDONLY
	}
	if b.Hardened {
		flags |= unix.MS_NOSUID | unix.MS_NODEV
	}
	return unix.Mount("", b.Target, "", flags, "")
}

// makeTarget makes what the source is, where nothing is.
func (b bind) makeTarget() error {
	if _, err := os.Lstat(b.Target); err == nil {
		return nil
	}
	info, err := os.Stat(b.Source)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.MkdirAll(b.Target, 0o755)
	}
	return errors.Join(os.MkdirAll(filepath.Dir(b.Target), 0o755), os.WriteFile(b.Target, nil, 0o644))
}

// inherit leaves behind what a careless engine might.
func (p plan) inherit() error {
	for _, n := range p.Ignore {
		signal.Ignore(unix.Signal(n))
	}
	if p.Leak {
		fd, err := unix.Open("/etc", unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			return err
		}
		if err := unix.Dup2(fd, 9); err != nil {
			return err
		}
	}
	return nil
}

// drop gives up what a sandbox must not have.
func (p plan) drop() error {
	if p.Capability || p.Inheritable {
		if err := makeInheritable(); err != nil {
			return fmt.Errorf("inheritable set: %w", err)
		}
	}
	for c := uintptr(0); !p.Bounding; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); errors.Is(err, unix.EINVAL) {
			break
		} else if err != nil {
			return fmt.Errorf("bounding set: %w", err)
		}
	}
	if err := p.become(); err != nil {
		return err
	}
	if p.NewPrivs {
		return nil
	}
	return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
}

// become changes the ids, by which the kernel takes the capabilities away.
func (p plan) become() error {
	if p.Capability {
		if err := unix.Prctl(unix.PR_SET_KEEPCAPS, 1, 0, 0, 0); err != nil {
			return err
		}
	}
	err := errors.Join(syscall.Setgroups(p.Groups), unix.Setresgid(p.GID, p.GID, p.GID), unix.Setresuid(p.UID, p.UID, p.UID))
	if err == nil && p.Capability {
		err = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, unix.CAP_CHOWN, 0, 0)
	}
	if err != nil {
		return fmt.Errorf("ids: %w", err)
	}
	return nil
}

func makeInheritable() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	data[0].Inheritable = 1 << unix.CAP_CHOWN
	return unix.Capset(&header, &data[0])
}
