// Package early does the work of one small helper process, without initializing the rest of the program.
//
// A sentry that has moved into its own root does not unmount /proc itself. It starts a process, this program once more,
// which unmounts /proc when the sentry tells it to. If all of gVisor were initialized for this, it would take 7 ms of
// processor time, mostly for packages that the helper never uses. Go initializes packages in the order of their import
// paths, each as soon as its imports are ready. So this package comes before the expensive ones of github.com and
// gvisor.dev; that is why it is a module with such a short name. If this order ever changes, gVisor's own command does
// the same work.
package early

import (
	"errors"
	"os"
	"slices"
	"syscall"
)

// asked holds gVisor's arguments for the helper.
var asked = []string{"umount", "--sync-fd=3", "/proc"}

func init() {
	if len(os.Args) == 0 || !slices.Equal(os.Args[1:], asked) {
		return
	}
	if err := unmountWhenTold(3, "/proc"); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// unmountWhenTold waits for one byte. If the pipe ends without a byte, the sentry has ended and has not asked for
// anything.
func unmountWhenTold(pipe int, dir string) error {
	word := make([]byte, 1)
	for {
		n, err := syscall.Read(pipe, word)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return err
		case n != 1:
			return errors.New("nobody gave the word")
		}
		return syscall.Unmount(dir, syscall.MNT_DETACH)
	}
}
