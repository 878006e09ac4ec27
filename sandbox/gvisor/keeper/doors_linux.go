package keeper

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"torno/internal/runfile"
	"torno/internal/socket/connect"
)

// door is an open one. The sandbox's end of the channel is the runtime's to hand over.
type door struct {
	ours, theirs *os.File
	leads        atomic.Pointer[passage] // nil until its socket is known
}

// passage is where a door leads.
type passage struct {
	Door
	held *os.File // the socket's file, or its directory, with O_PATH
}

// openDoors makes the channels, finds the sockets again that are known, and holds them. A path that leads elsewhere by now opens no door.
func openDoors(wanted []Door) (doors []*door, err error) {
	defer func() {
		if err != nil {
			closeDoors(doors)
		}
	}()
	for _, w := range wanted {
		d := new(door)
		doors = append(doors, d)
		if err := d.makeChannel(); err != nil {
			return doors, err
		}
		if w.Path == "" {
			continue
		}
		if err := d.leadTo(w); err != nil {
			return doors, err
		}
	}
	return doors, nil
}

// leadTo finds a door's socket, and holds it.
func (d *door) leadTo(wanted Door) error {
	held, err := wanted.find()
	if err != nil {
		return fmt.Errorf("socket of the profile %s: %w", wanted.Path, err)
	}
	d.leads.Store(&passage{wanted, held})
	return nil
}

func (d Door) find() (held *os.File, err error) {
	fd, err := unix.Open(d.Path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	held = os.NewFile(uintptr(fd), d.Path)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, errors.Join(err, held.Close())
	}
	kind := uint32(unix.S_IFSOCK)
	if d.Name != "" {
		kind = unix.S_IFDIR
	}
	if st.Mode&unix.S_IFMT != kind || uint64(st.Dev) != d.Device || st.Ino != d.Inode {
		held.Close()
		return nil, fmt.Errorf("it is no longer what was found when the sandbox was made (device %d inode %d)", d.Device, d.Inode)
	}
	return held, nil
}

func (d *door) makeChannel() error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	d.ours, d.theirs = os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	return nil
}

func closeDoors(doors []*door) {
	for _, d := range doors {
		closeFiles(d.ours, d.theirs)
		if to := d.leads.Load(); to != nil {
			to.held.Close()
		}
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
		conn, err := d.leads.Load().connect()
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

// connect goes through the handle. Where that is a directory's, its owner may be a gateway that was taken over, which puts what it likes under
// the name: the sandbox gets a connection to that owner's own socket, or none. A socket whose queue is full does not keep it waiting.
func (d *passage) connect() (fd int, err error) {
	if d == nil {
		return -1, errors.New("its socket is not known yet")
	}
	err = d.as(func() (err error) {
		if d.Name == "" {
			fd, err = connect.Held(d.held)
		} else {
			fd, err = connect.To(d.held, d.Name)
		}
		return err
	})
	return fd, err
}

// as does something as the sandbox's user and in no other group, in a thread that ends with it. Root's keeper only: an ordinary
// user's is the sandbox's user already.
func (d *passage) as(do func() error) error {
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
