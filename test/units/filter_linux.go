package units

import (
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// filter is a program of the kernel's for looking at system calls. Each of systemd's settings installs one of its own, as here.
type filter []unix.SockFilter

// Where the kernel shows a call. Arguments are looked at in their lower half, which is where all of these have what counts.
const (
	atCall         = 0
	atArchitecture = 4
	atArguments    = 16
)

// check is about one argument: with the mask it is the value, or it is not.
type check struct {
	argument    uint32
	mask, value uint32
	not         bool
}

const whole = ^uint32(0)

// refusal answers a call with an error if all of its checks hold.
type refusal struct {
	call   uint32
	errno  unix.Errno
	checks []check
}

func load(at uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
}

func answer(what uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: what}
}

// ifNot skips so many instructions unless what is loaded is the value, or if it is.
func ifNot(value uint32, skip int, not bool) unix.SockFilter {
	f := unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: value, Jf: uint8(skip)}
	if not {
		f.Jt, f.Jf = f.Jf, f.Jt
	}
	return f
}

// refuse looks at the calls of the native architecture only, as filters of systemd for one architecture do.
func refuse(all ...refusal) filter {
	f := filter{load(atArchitecture), ifNot(native, 1, true), answer(unix.SECCOMP_RET_ALLOW)}
	for _, r := range all {
		f = append(f, load(atCall), ifNot(r.call, 3*len(r.checks)+1, false))
		for i, c := range r.checks {
			f = append(f, load(atArguments+8*c.argument),
				unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: c.mask},
				ifNot(c.value, 3*(len(r.checks)-i-1)+1, c.not))
		}
		f = append(f, answer(unix.SECCOMP_RET_ERRNO|uint32(r.errno)))
	}
	return append(f, answer(unix.SECCOMP_RET_ALLOW))
}

// oneABI kills a thread that makes a system call of another architecture.
func oneABI() filter {
	return filter{load(atArchitecture), ifNot(native, 1, false), answer(unix.SECCOMP_RET_ALLOW), answer(unix.SECCOMP_RET_KILL_THREAD)}
}

var families = map[string]uint32{"AF_UNIX": unix.AF_UNIX, "AF_INET": unix.AF_INET, "AF_INET6": unix.AF_INET6, "AF_NETLINK": unix.AF_NETLINK}

func onlyFamilies(names []string) (filter, error) {
	r := refusal{call: unix.SYS_SOCKET, errno: unix.EAFNOSUPPORT}
	for _, name := range names {
		family, ok := families[name]
		if !ok {
			return nil, fmt.Errorf("the family %s is not known here", name)
		}
		r.checks = append(r.checks, check{0, whole, family, true})
	}
	return refuse(r), nil
}

func noRealtime() filter {
	return refuse(refusal{unix.SYS_SCHED_SETSCHEDULER, unix.EPERM, []check{
		{1, whole, unix.SCHED_NORMAL, true}, {1, whole, unix.SCHED_BATCH, true}, {1, whole, unix.SCHED_IDLE, true},
	}})
}

func lockPersonality() filter {
	return refuse(refusal{unix.SYS_PERSONALITY, unix.EPERM, []check{{0, whole, 0, true}}})
}

// noSetID refuses modes with either bit. openat2 has its mode in memory, where no filter sees it, and is refused as a whole.
func noSetID() filter {
	all := []refusal{{call: unix.SYS_OPENAT2, errno: unix.ENOSYS}}
	for _, bit := range []uint32{unix.S_ISUID, unix.S_ISGID} {
		set := func(argument uint32) check { return check{argument, bit, bit, false} }
		for _, call := range slices.Concat(olderModes, []modeCall{
			{unix.SYS_FCHMOD, 1}, {unix.SYS_FCHMODAT, 2}, {unix.SYS_MKDIRAT, 2}, {unix.SYS_MKNODAT, 2},
		}) {
			all = append(all, refusal{call.number, unix.EPERM, []check{set(call.argument)}})
		}
		all = append(all, refusal{unix.SYS_OPENAT, unix.EPERM, []check{{2, unix.O_CREAT, unix.O_CREAT, false}, set(3)}})
	}
	return refuse(all...)
}

// modeCall is a call that takes a mode.
type modeCall struct{ number, argument uint32 }

// install puts the filter before the calling thread and what it becomes.
func (f filter) install() error {
	program := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(f)
	if errno != 0 {
		return fmt.Errorf("install a filter: %w", errno)
	}
	return nil
}
