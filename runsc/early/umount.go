// Package early does a small thing without the rest of the program.
//
// A sentry that has gone into its own root leaves it to a process, this program once more, to unmount /proc when it is told.
// As all of gVisor that takes 7 ms of processor time, most of it for packages that are initialized for nothing. Go
// initializes packages in the order of their import paths, as soon as what they import is: this one comes before what costs
// time of github.com and gvisor.dev, which is why it is a module with such a short name. Should that change, gVisor's own
// command does the same.
package early

import (
	"errors"
	"os"
	"slices"
	"syscall"
)

// asked is how gVisor calls it.
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

// unmountWhenTold waits for one byte. The end of the pipe is the end of the sentry, and no word of it.
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
