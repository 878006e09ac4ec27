package lay

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"torno/internal/mounts"
)

// Apart returns the attributes for starting a process that lays a plan. The process gets a session and namespaces of
// its own, in which it keeps our user and may mount.
func Apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Setsid:      true,
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN},
	}
}

// ErrNoNamespace says that this machine gives an ordinary user no namespace to mount in.
var ErrNoNamespace = errors.New("this machine gives ordinary users no namespace to mount in: allow it " +
	"(user.max_user_namespaces, kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns), or run the watcher as root")

// Lay mounts everything in the plan, and then gives up the right to mount. It is called once, by a process that was
// started with Apart. This process has the handles of Mounts open, in order, from descriptor first on; Lay closes them.
func (p Plan) Lay(first int) error {
	err := p.lay(first)
	if errors.Is(err, unix.EPERM) {
		err = fmt.Errorf("%w: %w", ErrNoNamespace, err)
	}
	return errors.Join(err, dropCapabilities())
}

func (p Plan) lay(first int) error {
	slots, err := mounts.OpenSlots(p.Slots, p.Slot, true)
	if err != nil {
		return err
	}
	defer slots.Close() // its mount stays, because a slot is in use
	slot, err := slots.Adopt(p.Slot)
	if err != nil {
		return err
	}
	if err := p.layViews(first, slot); err != nil {
		return err
	}
	if p.Layers != nil {
		if err := p.Layers.stack(slot); err != nil {
			return err
		}
	}
	for _, shown := range p.Shown {
		if err := slot.ShowCovered(shown.Source, shown.Rel, p.Covers); err != nil {
			return err
		}
	}
	return nil
}

// layViews moves the mounts of the request into the slot and checks the result.
func (p Plan) layViews(first int, slot *mounts.Slot) error {
	if err := p.Frame(slot); err != nil {
		return err
	}
	for i, m := range p.Mounts {
		if err := m.moveIn(os.NewFile(uintptr(first+i), "held by the launcher"), slot); err != nil {
			return err
		}
	}
	if err := p.Seal(slot); err != nil {
		return err
	}
	return p.Prove(slot)
}

// moveIn finds again the file that the launcher holds open, and moves a clone of it into the slot.
func (m Mount) moveIn(held *os.File, slot *mounts.Slot) error {
	defer held.Close()
	pin, err := mounts.FindAgain(held)
	if err != nil {
		return err
	}
	defer pin.Close()
	if pin.Dev != m.Device || pin.Ino != m.Inode {
		return fmt.Errorf("%q beneath %q was moved: its place now has device %d inode %d, but it was device %d inode %d",
			m.Source.Rel, m.Source.Base, pin.Dev, pin.Ino, m.Device, m.Inode)
	}
	tree, err := pin.Clone(mounts.CloneOptions{ReadOnly: !m.Writable})
	if err != nil {
		return err
	}
	defer tree.Close()
	return slot.Place(tree, m.View, m.Rel)
}

// stack finds the lower directory again, without following a link, and makes the root.
func (l Layers) stack(slot *mounts.Slot) error {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, l.Lower, &how)
	if err != nil {
		return &os.PathError{Op: "find again", Path: l.Lower, Err: err}
	}
	lower := os.NewFile(uintptr(fd), l.Lower)
	defer lower.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return &os.PathError{Op: "look at", Path: l.Lower, Err: err}
	}
	if st.Dev != l.Device || st.Ino != l.Inode {
		return fmt.Errorf("%s was replaced: it is device %d inode %d, and not device %d inode %d", l.Lower, st.Dev, st.Ino, l.Device, l.Inode)
	}
	return slot.Stack(l.Upper, lower)
}

// dropCapabilities drops the capabilities of all threads, because any of them may start a program.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0)
	switch errno {
	case 0:
		return nil
	case unix.ENOTSUP:
		return errors.New("give up the right to mount: this program was built with cgo; make build builds it without")
	}
	return os.NewSyscallError("capset", errno)
}
