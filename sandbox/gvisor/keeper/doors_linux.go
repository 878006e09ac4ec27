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

// door is an open Door. The runtime passes the sandbox's end of the channel on.
type door struct {
	ours, theirs *os.File
	leads        atomic.Pointer[passage] // nil until its socket is known
}

// passage is the target of an open door: a Door with a handle on its socket.
type passage struct {
	Door
	held *os.File // the socket's file, or its directory, with O_PATH
}

// openDoors makes the channels. It finds the known sockets again and holds them open. If a path leads to a different
// file now, openDoors fails.
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

// leadTo finds a door's socket and holds it open.
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
		return nil, fmt.Errorf("it was replaced after the sandbox was made (it was device %d inode %d)", d.Device, d.Inode)
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

// serve answers each request from init with a connection, or with the answer that there is none, until the sandbox is
// gone.
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

// connect goes through the handle. If the handle is a directory, its owner may be a gateway that was taken over, and
// may put anything under the name. So the sandbox gets a connection only to a socket that belongs to this owner.
// connect does not wait for a socket whose queue is full.
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

// as calls do as the sandbox's user and in no other group, on a thread that ends afterwards. Only root's keeper does
// this: an ordinary user's keeper runs as the sandbox's user already.
func (d *passage) as(do func() error) error {
	if os.Geteuid() != 0 {
		return do()
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends, and its identity with it
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
