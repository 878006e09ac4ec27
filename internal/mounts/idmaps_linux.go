package mounts

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxIDMaps bounds how many namespaces are kept; making one costs about as much as starting a process.
const maxIDMaps = 256

// IDMaps makes and keeps user namespaces that exchange ids. It is safe for concurrent use.
type IDMaps struct {
	noGroup uint32 // the only group in the maps of Reading; see Reading

	mu    sync.Mutex
	max   int
	held  map[exchange]*os.File
	order []exchange // oldest first
}

// exchange describes which ids a namespace exchanges.
type exchange struct {
	owner, child Identity
	reading      bool
}

// NewIDMaps returns an empty cache. Close empties it.
func NewIDMaps() *IDMaps {
	return &IDMaps{noGroup: 1<<31 + rand.Uint32N(1<<31-2), max: maxIDMaps, held: make(map[exchange]*os.File)}
}

// Get returns a namespace that exchanges owner and child, users and groups separately; every other id stays as it is.
// If both have the same group, only the users are exchanged. The caller closes the namespace.
func (m *IDMaps) Get(owner, child Identity) (*os.File, error) {
	return m.get(exchange{owner: owner, child: child})
}

// Reading returns a namespace for a mount that is only read. It exchanges the users owner and child, and gives no
// file's group a number. If a file's owner or group has no number, the kernel lets no process write to the file,
// whatever the file's mode and the process's rights are. Connecting to a socket and opening a FIFO for writing count as
// writing; a read-only mount does not forbid these. The caller closes the namespace.
//
// The kernel takes no empty map, so one group is in it. It is chosen at random, so that no parent can give it to a
// socket.
func (m *IDMaps) Reading(owner, child uint32) (*os.File, error) {
	return m.get(exchange{owner: Identity{UID: owner}, child: Identity{UID: child}, reading: true})
}

func (m *IDMaps) get(key exchange) (*os.File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.held[key]; f != nil {
		return dup(f)
	}
	f, err := m.makeIDMap(key)
	if err != nil {
		return nil, fmt.Errorf("exchange %d:%d and %d:%d: %w", key.owner.UID, key.owner.GID, key.child.UID, key.child.GID, err)
	}
	m.keep(key, f)
	return dup(f)
}

// keep remembers a namespace. If the cache is full, it forgets the oldest one.
func (m *IDMaps) keep(key exchange, f *os.File) {
	if len(m.order) == m.max {
		m.held[m.order[0]].Close()
		delete(m.held, m.order[0])
		m.order = m.order[1:]
	}
	m.held[key] = f
	m.order = append(m.order, key)
}

// Close closes all namespaces. Mounts that were made with them stay as they are.
func (m *IDMaps) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for _, f := range m.held {
		errs = append(errs, f.Close())
	}
	clear(m.held)
	m.order = nil
	return errors.Join(errs...)
}

func (m *IDMaps) makeIDMap(key exchange) (*os.File, error) {
	uids, err := swapped(key.owner.UID, key.child.UID)
	if err != nil {
		return nil, err
	}
	gids := []extent{{m.noGroup, m.noGroup, 1}}
	if !key.reading {
		if gids, err = swapped(key.owner.GID, key.child.GID); err != nil {
			return nil, err
		}
	}
	return newUserNamespace(mappings(uids), mappings(gids))
}

func mappings(extents []extent) []syscall.SysProcIDMap {
	maps := make([]syscall.SysProcIDMap, 0, len(extents))
	for _, e := range extents {
		maps = append(maps, syscall.SysProcIDMap{ContainerID: int(e.inside), HostID: int(e.outside), Size: int(e.size)})
	}
	return maps
}

// newUserNamespace makes a namespace without a process in it. A process has to be born into the new namespace, so we
// start our own program. It is traced, so it stops before its first instruction; we kill it as soon as we have a handle
// on the namespace. The death signal is for the case that we ourselves are killed in between: the traced process would
// otherwise run on.
func newUserNamespace(uids, gids []syscall.SysProcIDMap) (*os.File, error) {
	runtime.LockOSThread() // this thread must stay the traced process's parent and tracer
	defer runtime.UnlockOSThread()
	proc, err := os.StartProcess("/proc/self/exe", []string{"torno-idmap"}, &os.ProcAttr{
		Env: []string{},
		Sys: &syscall.SysProcAttr{
			Cloneflags: syscall.CLONE_NEWUSER, UidMappings: uids, GidMappings: gids,
			Ptrace: true, Pdeathsig: syscall.SIGKILL,
		},
	})
	if errors.Is(err, unix.ENOSPC) {
		return nil, fmt.Errorf("make a user namespace: the limit of user.max_user_namespaces is reached: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("make a user namespace: %w", err)
	}
	f, openErr := os.Open(fmt.Sprintf("/proc/%d/ns/user", proc.Pid))
	killErr := proc.Kill()
	if _, err := proc.Wait(); err != nil || killErr != nil {
		f.Close()
		return nil, fmt.Errorf("end the process that made a user namespace: %w", errors.Join(killErr, err))
	}
	return f, openErr
}

func dup(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}
