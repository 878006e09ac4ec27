package inside

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"torno/test/house"
)

// TestMain runs nothing elsewhere than on a machine of package machine, whose process 1 is known by its name.
func TestMain(m *testing.M) {
	if name, err := os.ReadFile("/proc/1/comm"); err != nil || string(name) != "guest\n" || os.Getpid() == 1 {
		fmt.Println("NOT SHOWN HERE: package machine runs these tests, on a machine of their own")
		return
	}
	if os.Args[0] == container {
		fmt.Fprintln(os.Stderr, contain(os.Args[1:]))
		os.Exit(1)
	}
	os.Exit(house.Main(m))
}

// container is what this program is called to shut itself in, and then to be another.
const container = "container"

// contain has the control groups begin with ours.
func contain(args []string) error {
	runtime.LockOSThread()
	for _, step := range []func() error{
		func() error { return unix.Unshare(unix.CLONE_NEWCGROUP | unix.CLONE_NEWNS) },
		func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") },
		func() error { return unix.Unmount(top, 0) },
		func() error { return unix.Mount("cgroup2", top, "cgroup2", 0, "") },
		func() error { return unix.Exec(args[0], args, os.Environ()) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
