package keeper

import (
	"fmt"
	"os"
	"path"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"torno/internal/runfile"
)

// door is an open one. The sandbox's end of the channel is the runtime's to hand over.
type door struct {
	Door
	held         *os.File // the socket's file, or its directory, with O_PATH
	ours, theirs *os.File
}

// openDoors finds the sockets again and holds them. A path that leads elsewhere by now opens no door.
func openDoors(wanted []Door) (doors []*door, err error) {
	defer func() {
		if err != nil {
			closeDoors(doors)
		}
	}()
	for _, w := range wanted {
		d := &door{Door: w}
		doors = append(doors, d)
		if err := d.open(); err != nil {
			return doors, fmt.Errorf("socket of the profile %s: %w", w.Path, err)
		}
	}
	return doors, nil
}

func (d *door) open() error {
	fd, err := unix.Open(d.Path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	d.held = os.NewFile(uintptr(fd), d.Path)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	kind := uint32(unix.S_IFSOCK)
	if d.Name != "" {
		kind = unix.S_IFDIR
	}
	if st.Mode&unix.S_IFMT != kind || uint64(st.Dev) != d.Device || st.Ino != d.Inode {
		return fmt.Errorf("it is no longer what was found when the sandbox was made (device %d inode %d)", d.Device, d.Inode)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	d.ours, d.theirs = os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	return nil
}

func closeDoors(doors []*door) {
	for _, d := range doors {
		closeFiles(d.held, d.ours, d.theirs)
	}
}

// serve answers each request of init's with a connection, or with the word that there is none, until the sandbox is gone.
func (d *door) serve() {
	var asked [1]byte
	for {
		n, err := d.ours.Read(asked[:])
		if n == 0 || err != nil {
			return
		}
		answer, rights := []byte{runfile.DoorShut}, []byte(nil)
		conn, err := d.connect()
		if err == nil {
			answer, rights = []byte{runfile.DoorOpen}, unix.UnixRights(conn)
		}
		err = unix.Sendmsg(int(d.ours.Fd()), answer, rights, nil, 0)
		if rights != nil {
			unix.Close(conn)
		}
		if err != nil {
			return
		}
	}
}

// connect goes through the handle, so that at most a name in one directory is looked up again. A socket whose queue is full does not keep it waiting.
func (d *door) connect() (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	err = d.as(func() error {
		return unix.Connect(fd, &unix.SockaddrUnix{Name: path.Join(fmt.Sprintf("/proc/self/fd/%d", d.held.Fd()), d.Name)})
	})
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// as does something as the sandbox's user and in no other group, in a thread that ends with it. Root's keeper only: an ordinary
// user's is the sandbox's user already.
func (d *door) as(do func() error) error {
	if os.Geteuid() != 0 {
		return do()
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends, and with it who it is
		for _, step := range [][2]uintptr{
			{unix.SYS_SETGROUPS, 0}, {unix.SYS_SETRESGID, uintptr(d.GID)}, {unix.SYS_SETRESUID, uintptr(d.UID)},
		} {
			id := step[1]
			if _, _, errno := syscall.RawSyscall(step[0], id, id, id); errno != 0 {
				done <- errno
				return
			}
		}
		done <- do()
	}()
	return <-done
}
