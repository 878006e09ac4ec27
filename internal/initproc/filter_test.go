//go:build linux

package initproc

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// passes lets everything pass: BPF_RET with SECCOMP_RET_ALLOW.
const passes = "\x06\x00\x00\x00\x00\x00\xFF\x7F"

// TestThreadWithAnotherFilter: where a thread does not come along, the kernel installs nothing, and says so with the
// thread's number and without an error. It is tried in a process of its own, which nothing frees of a filter.
func TestThreadWithAnotherFilter(t *testing.T) {
	const variable = "TORNO_TEST_THREAD"
	if os.Getenv(variable) != "" {
		t.Fatalf("told: %v", installBesideAnother(t))
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestThreadWithAnotherFilter$")
	cmd.Env = append(os.Environ(), variable+"=1")
	if said, _ := cmd.CombinedOutput(); !strings.Contains(string(said), "told: thread ") {
		t.Errorf("it says %s", said)
	}
}

// installBesideAnother installs a filter in all threads when one of them has its own.
func installBesideAnother(t *testing.T) error {
	filtered, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	go func() {
		runtime.LockOSThread()
		step := []byte(passes)
		list := unix.SockFprog{Len: 1, Filter: (*unix.SockFilter)(unsafe.Pointer(&step[0]))}
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			t.Error(err)
		}
		if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&list))); errno != 0 {
			t.Error(errno)
		}
		close(filtered)
		<-release
	}()
	<-filtered
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return installFilter([]byte(passes))
}
