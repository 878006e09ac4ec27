//go:build linux

package initproc

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"torno/internal/runfile"
)

// applyFilter puts init, and everything that it starts, under the sandbox's filter of system calls. If there is no
// filter, init ends the run: the launcher has forgotten it, or the kernel has dropped it.
func applyFilter() error {
	filter, err := runfile.ReadFilter(runfile.FilterPath)
	if err == nil {
		err = installFilter(filter)
	}
	if err != nil {
		return refuse(runfile.FailureSetup, "cannot install the filter of system calls: %w", err)
	}
	mode, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0)
	switch {
	case err != nil:
		return refuse(runfile.FailureSetup, "cannot check the filter of system calls: %w", err)
	case mode != unix.SECCOMP_MODE_FILTER:
		return refuse(runfile.FailureSetup, "the kernel has dropped the filter of system calls")
	}
	return nil
}

// installFilter puts all threads, and the threads that they start, under a filter. proveIdentity has already proved
// no_new_privs.
func installFilter(filter []byte) error {
	program := make([]unix.SockFilter, len(filter)/runfile.StepSize)
	if _, err := binary.Decode(filter, binary.LittleEndian, program); err != nil {
		return err
	}
	list := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&list)))
	runtime.KeepAlive(program)
	switch {
	case errno != 0:
		return errno
	case thread != 0:
		return fmt.Errorf("thread %d has a different filter", thread)
	}
	return nil
}
