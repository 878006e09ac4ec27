package mounts

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWhatIsReadHasNoSockets: in a mount that is only read, its owner's files can be read, and no socket or FIFO can be used, whoever
// owns it and whatever its mode says. The oracle is the map of a workspace, on the same files.
func TestWhatIsReadHasNoSockets(t *testing.T) {
	const user, other = 1000, 1001
	w := newWorld(t)
	dir := w.dir("ctx", user)
	w.ok(unix.Chmod(w.file("ctx/closed", "the owner's", user), 0o600))
	for name, owner := range map[string]int{"of-owner": user, "of-other": other, "of-child": int(child.UID), "of-root": 0} {
		socket := filepath.Join(dir, name)
		listener, err := net.Listen("unix", socket)
		w.ok(err)
		defer listener.Close()
		fifo := socket + ".fifo"
		w.ok(unix.Mkfifo(fifo, 0o777))
		for _, path := range []string{socket, fifo} {
			w.ok(errors.Join(unix.Chown(path, owner, owner), unix.Chmod(path, 0o777)))
		}
	}
	reading, err := w.maps.Reading(user, child.UID)
	w.ok(err)
	defer reading.Close()
	tree, err := w.pin("ctx").Clone(CloneOptions{ReadOnly: true, IDMap: reading})
	w.ok(err)
	defer tree.Close()
	oracle := w.tree("ctx", true)

	for _, name := range []string{"of-owner", "of-other", "of-child", "of-root"} {
		for _, use := range []func(*Detached, string) error{connects, writesTo} {
			if err := asUser(child, func() error { return use(oracle, name) }); err != nil {
				t.Errorf("the oracle is dead: %s: %v", name, err)
			}
			if err := asUser(child, func() error { return use(tree, name) }); !errors.Is(err, unix.EACCES) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	w.ok(asUser(child, func() error {
		fd, err := unix.Openat(int(tree.file.Fd()), "closed", unix.O_RDONLY, 0)
		return errors.Join(err, unix.Close(fd))
	}))
}

// TestTheWayThroughWhatIsRead: root's capabilities do not count in such a mount, and the child's rights lead through it to what lies in it.
func TestTheWayThroughWhatIsRead(t *testing.T) {
	const user = 1000
	w := newWorld(t)
	w.dir("ctx/closed/ws", user)
	w.ok(errors.Join(os.Chown(filepath.Join(w.root, "ctx/closed"), user, user), os.Chmod(filepath.Join(w.root, "ctx/closed"), 0o700)))
	reading, err := w.maps.Reading(user, child.UID)
	w.ok(err)
	defer reading.Close()
	tree, err := w.pin("ctx").Clone(CloneOptions{ReadOnly: true, IDMap: reading})
	w.ok(err)
	defer tree.Close()
	slot, inner := w.slot(), w.tree("ctx/closed/ws", false)
	w.ok(slot.Place(tree, 0, "ctx"))
	if err := slot.Place(inner, 0, "ctx/closed/ws"); !errors.Is(err, unix.EACCES) {
		t.Errorf("as root: %v", err)
	}
	if err := slot.PlaceFor(inner, 0, "ctx/closed/ws", User{UID: child.UID + 1, GID: child.GID + 1}); !errors.Is(err, unix.EACCES) {
		t.Errorf("for another child: %v", err)
	}
	w.ok(slot.PlaceFor(inner, 0, "ctx/closed/ws", User{UID: child.UID, GID: child.GID}))
}

func connects(tree *Detached, name string) error {
	conn, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(conn)
	return unix.Connect(conn, &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d/%s", tree.file.Fd(), name)})
}

// writesTo opens a FIFO for writing. Without a reader the kernel has nothing against it but that.
func writesTo(tree *Detached, name string) error {
	fd, err := unix.Openat(int(tree.file.Fd()), name+".fifo", unix.O_WRONLY|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ENXIO) {
		return nil
	}
	return errors.Join(err, unix.Close(fd))
}
