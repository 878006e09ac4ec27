//go:build linux

package initproc

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"torno/internal/runfile"
)

// Where a filter finds the number of a call, and what it answers.
const (
	numberAt = 0
	letPass  = unix.SECCOMP_RET_ALLOW
	refusal  = unix.SECCOMP_RET_ERRNO // and the error
)

// hideCalls has the kernel say of system calls, to init and to all that it starts, that there are none, or with which
// error it refuses them.
func hideCalls(calls map[int]int) error {
	if len(calls) == 0 {
		return nil
	}
	program := hidingProgram(calls)
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&filter)))
	runtime.KeepAlive(program)
	if errno != 0 {
		return refuse(runfile.FailureSetup, "hide system calls: %w", errno)
	}
	return nil
}

// hidingProgram compares the number of a call with each, and answers with its error, or goes on behind that.
func hidingProgram(calls map[int]int) []unix.SockFilter {
	program := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: numberAt}}
	for number, errno := range calls {
		program = append(program,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: uint32(number)},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: refusal | uint32(errno)})
	}
	return append(program, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: letPass})
}
