package main

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// machines maps each known processor to its number in a filter, and to the calls that always start a process.
var machines = map[string]struct {
	audit uint32
	forks []uint32
}{
	"amd64": {unix.AUDIT_ARCH_X86_64, []uint32{57, 58}}, // fork, vfork
	"arm64": {unix.AUDIT_ARCH_AARCH64, nil},
}

// stayOneProcess keeps this process from starting others, or other programs; threads may begin. A gateway that is taken
// over could otherwise leave a process behind that outlives it, and rules the next gateway of this user.
func stayOneProcess() error {
	m, known := machines[runtime.GOARCH]
	if !known {
		return errors.New("the system calls of this processor are not known")
	}
	const (
		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		least = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
		bits  = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		end   = unix.BPF_RET | unix.BPF_K

		number, machine, flags = 0, 4, 16    // offsets in struct seccomp_data
		otherABI               = 0x4000_0000 // bit of the calls of x32, which have other numbers
		refused                = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
		unknown                = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS) // so that a caller of clone3 tries clone
	)
	program := []unix.SockFilter{
		{Code: load, K: machine},
		{Code: equal, K: m.audit, Jt: 1},
		{Code: end, K: unix.SECCOMP_RET_KILL_PROCESS},
		{Code: load, K: number},
		{Code: least, K: otherABI, Jf: 1},
		{Code: end, K: refused},
		{Code: equal, K: unix.SYS_CLONE3, Jf: 1},
		{Code: end, K: unknown},
	}
	for _, call := range append([]uint32{unix.SYS_EXECVE, unix.SYS_EXECVEAT}, m.forks...) {
		program = append(program, unix.SockFilter{Code: equal, K: call, Jf: 1}, unix.SockFilter{Code: end, K: refused})
	}
	program = append(program, []unix.SockFilter{
		{Code: equal, K: unix.SYS_CLONE, Jf: 3},
		{Code: load, K: flags},
		{Code: bits, K: unix.CLONE_THREAD, Jt: 1},
		{Code: end, K: refused},
		{Code: end, K: unix.SECCOMP_RET_ALLOW},
	}...)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil { // without this the kernel takes no filter
		return err
	}
	list := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&list)))
	runtime.KeepAlive(program)
	switch {
	case errno != 0:
		return fmt.Errorf("keep the gateway from starting processes: %w", errno)
	case thread != 0:
		return fmt.Errorf("keep the gateway from starting processes: thread %d has a different filter", thread)
	}
	return nil
}
