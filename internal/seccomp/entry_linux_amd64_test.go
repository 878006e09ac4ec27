package seccomp

import (
	"errors"
	"os/exec"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// askInTheOldWay asks for the process's number by the entry for 32-bit programs, which has numbers of its own.
func askInTheOldWay() {
	page, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		panic(err)
	}
	copy(page, "\xb8\x14\x00\x00\x00\xcd\x80\xc3") // mov eax, 20; int 0x80; ret
	code := &page[0]
	entry := &code
	(*(*func())(unsafe.Pointer(&entry)))()
}

// TestOldEntryIsFatal: nothing looks at the numbers of 32-bit programs.
func TestOldEntryIsFatal(t *testing.T) {
	if said, err := child(t, oldEntry+unfiltered); err != nil || said != "came back\n" {
		t.Skipf("NOT SHOWN HERE: this kernel has no entry for 32-bit programs: %v, %q", err, said)
	}
	said, err := child(t, oldEntry+filtered)
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != unix.SIGSYS {
		t.Errorf("%v, %q", err, said)
	}
}
