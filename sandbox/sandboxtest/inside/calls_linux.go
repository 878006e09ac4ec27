package inside

import (
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// call is a system call and arguments that change nothing, also for root on the host: they are wrong in a way that the
// kernel sees only after it looked at who asks.
type call struct {
	number uintptr
	args   [6]uintptr
}

const none = ^uintptr(0)

var root = []byte("/\x00")

func calls() map[string]call {
	slash := uintptr(unsafe.Pointer(&root[0]))
	return map[string]call{
		"add_key":           {unix.SYS_ADD_KEY, [6]uintptr{}},
		"bpf":               {unix.SYS_BPF, [6]uintptr{}},
		"clone3":            {unix.SYS_CLONE3, [6]uintptr{}},
		"fsopen":            {unix.SYS_FSOPEN, [6]uintptr{}},
		"init_module":       {unix.SYS_INIT_MODULE, [6]uintptr{}},
		"io_uring_setup":    {unix.SYS_IO_URING_SETUP, [6]uintptr{}},
		"kexec_load":        {unix.SYS_KEXEC_LOAD, [6]uintptr{0, 0, 0, none}},
		"keyctl":            {unix.SYS_KEYCTL, [6]uintptr{unix.KEYCTL_GET_KEYRING_ID, none - 2}}, // the session's
		"mount":             {unix.SYS_MOUNT, [6]uintptr{}},
		"move_mount":        {unix.SYS_MOVE_MOUNT, [6]uintptr{none, 0, none, 0, none}},
		"open_by_handle_at": {unix.SYS_OPEN_BY_HANDLE_AT, [6]uintptr{none}},
		"open_tree":         {unix.SYS_OPEN_TREE, [6]uintptr{none, slash, unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC}},
		"perf_event_open":   {unix.SYS_PERF_EVENT_OPEN, [6]uintptr{}},
		"pivot_root":        {unix.SYS_PIVOT_ROOT, [6]uintptr{}},
		"reboot":            {unix.SYS_REBOOT, [6]uintptr{}},
		"request_key":       {unix.SYS_REQUEST_KEY, [6]uintptr{}},
		"sethostname":       {unix.SYS_SETHOSTNAME, [6]uintptr{0, none}},
		"setns":             {unix.SYS_SETNS, [6]uintptr{none}},
		"swapon":            {unix.SYS_SWAPON, [6]uintptr{}},
		"syslog":            {unix.SYS_SYSLOG, [6]uintptr{3}}, // read everything
		"unshare mount":     {unix.SYS_UNSHARE, [6]uintptr{unix.CLONE_NEWNS}},
		"unshare network":   {unix.SYS_UNSHARE, [6]uintptr{unix.CLONE_NEWNET}},
		"unshare user":      {unix.SYS_UNSHARE, [6]uintptr{unix.CLONE_NEWUSER}},
		"userfaultfd":       {unix.SYS_USERFAULTFD, [6]uintptr{unix.O_CLOEXEC}},
	}
}

func tryCalls() map[string]Outcome {
	found := make(map[string]Outcome)
	for name, c := range calls() {
		found[name] = c.try()
	}
	found["clone user"] = cloneUser()
	return found
}

// try makes the call on a thread that ends with it, and with whatever the call did to it.
func (c call) try() Outcome {
	result := make(chan Outcome)
	go func() {
		runtime.LockOSThread()
		fd, _, errno := unix.Syscall6(c.number, c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], c.args[5])
		if errno != 0 {
			result <- outcome(errno)
			return
		}
		if c.number == unix.SYS_OPEN_TREE || c.number == unix.SYS_USERFAULTFD {
			_ = unix.Close(int(fd))
		}
		result <- Done
	}()
	return <-result
}

// cloneUser starts a process in a user namespace of its own.
func cloneUser() Outcome {
	cmd := exec.Command("/proc/self/exe", "nothing")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
	return outcome(cmd.Run())
}
