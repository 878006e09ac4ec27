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
	numberAt  = 0
	letPass   = 0x7fff0000 // SECCOMP_RET_ALLOW
	isMissing = 0x00050000 | uint32(unix.ENOSYS)
)

// hideCalls has the kernel say of system calls, to init and to all that it starts, that there are none.
func hideCalls(numbers []int) error {
	if len(numbers) == 0 {
		return nil
	}
	program := hidingProgram(numbers)
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&filter)))
	runtime.KeepAlive(program)
	if errno != 0 {
		return refuse(runfile.FailureSetup, "hide system calls: %w", errno)
	}
	return nil
}

// hidingProgram compares the number of a call with each, and jumps to the last line, which refuses.
func hidingProgram(numbers []int) []unix.SockFilter {
	program := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: numberAt}}
	for i, number := range numbers {
		program = append(program, unix.SockFilter{
			Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: uint8(len(numbers) - i), K: uint32(number),
		})
	}
	return append(program,
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: letPass},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: isMissing})
}
