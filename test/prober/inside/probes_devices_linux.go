package inside

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// deviceProbes are about hardware, and about the terminal from which the watcher was started.
func deviceProbes() []probe {
	return []probe{
		{"C12", "a device that is not harmless", foreignDevice},
		{"C12", "a disk, by a node of one's own", disk},
		{"C12", "a node for memory, of one's own", makeNode(unix.S_IFCHR, unix.Mkdev(1, 1))},
		{"C12", "a node for a block device, of one's own", makeNode(unix.S_IFBLK, unix.Mkdev(7, 0))},
		{"C12", "a node for a device without a number", makeNode(unix.S_IFCHR, unix.Mkdev(0, 0))},
		{"C12", "the machine's memory", optional(reads("/proc/kcore"))},
		{"C26", "type into a terminal", typeIn},
	}
}

// harmless are the devices that every program may use.
var harmless = []string{"console", "full", "null", "ptmx", "random", "tty", "urandom", "zero"}

func foreignDevice(*Ground) error {
	for _, name := range names("/dev") {
		info, err := os.Lstat(filepath.Join("/dev", name))
		if err == nil && info.Mode()&os.ModeDevice != 0 && !slices.Contains(harmless, name) {
			return nil
		}
	}
	return errAbsent
}

// disk makes nodes for the block devices that the kernel tells of, and opens one to be read.
func disk(g *Ground) error {
	var ways []func() error
	for _, name := range names("/sys/class/block") {
		text, _ := os.ReadFile(filepath.Join("/sys/class/block", name, "dev"))
		var major, minor uint32
		if _, err := fmt.Sscanf(string(text), "%d:%d", &major, &minor); err != nil {
			continue
		}
		ways = append(ways, func() error {
			node := filepath.Join(g.Dir, "disk")
			defer os.Remove(node)
			if err := unix.Mknod(node, unix.S_IFBLK|0o600, int(unix.Mkdev(major, minor))); err != nil {
				return err
			}
			return closed(unix.Open(node, unix.O_RDONLY|unix.O_CLOEXEC, 0))
		})
	}
	return anyOf(ways...)
}

func makeNode(kind uint32, device uint64) func(*Ground) error {
	return func(g *Ground) error {
		node := filepath.Join(g.Dir, "node")
		defer os.Remove(node)
		return unix.Mknod(node, kind|0o600, int(device))
	}
}

// typeIn pushes a character into the input of a new terminal, which is not our controlling one, as a process would that shares
// one with its owner.
func typeIn(*Ground) error {
	return onTerminal(func(terminal uintptr) error {
		character := []byte{0}
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, terminal, unix.TIOCSTI, uintptr(unsafe.Pointer(&character[0])))
		if errno == unix.ENOTTY { // a kernel that has no such thing
			return errno
		}
		return verdictOf(errno)
	})
}

// onTerminal tries it on the inner end of a terminal of our own.
func onTerminal(try func(terminal uintptr) error) error {
	outer, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(outer)
	if err := unix.IoctlSetPointerInt(outer, unix.TIOCSPTLCK, 0); err != nil {
		return err
	}
	inner, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(outer), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if errno != 0 {
		return errno
	}
	defer unix.Close(int(inner))
	return try(inner)
}
