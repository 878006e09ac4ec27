//go:build linux

package initproc

import (
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"torno/internal/runfile"
)

// identity holds a process's ids and privileges.
type identity struct {
	pid           int
	ids           []int // user and group ids of every kind
	capabilities  uint64
	noNewPrivs    bool
	boundingEmpty bool
}

// proveIdentity makes sure that neither init nor anything that it runs is or becomes privileged.
func proveIdentity() error {
	id, err := readIdentity()
	if err == nil {
		err = id.check()
	}
	if err != nil {
		return &failure{runfile.FailureIdentity, err}
	}
	return nil
}

// shutOut keeps the agent, which has the same uid, out of init's memory. Before the release it would also stop the
// host's look.
func shutOut() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return &failure{runfile.FailureIdentity, err}
	}
	return nil
}

func (id identity) check() error {
	switch {
	case id.pid != 1:
		return errors.New("is not process 1 of its sandbox")
	case slices.Contains(id.ids, 0):
		return errors.New("has root's user or group id")
	case id.capabilities != 0:
		return errors.New("has a capability")
	case !id.boundingEmpty:
		return errors.New("has a capability in its bounding set")
	case !id.noNewPrivs:
		return errors.New("could gain privileges: no_new_privs is not set")
	}
	return nil
}

func readIdentity() (identity, error) {
	id := identity{pid: os.Getpid()}
	ruid, euid, suid := unix.Getresuid()
	rgid, egid, sgid := unix.Getresgid()
	groups, err := unix.Getgroups()
	if err != nil {
		return id, err
	}
	id.ids = append(groups, ruid, euid, suid, rgid, egid, sgid)
	if id.capabilities, err = capabilities(); err != nil {
		return id, err
	}
	nnp, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	id.noNewPrivs = nnp == 1
	id.boundingEmpty = boundingEmpty()
	return id, err
}

// capabilities returns the union of all capability sets. It need not ask for the ambient set, because that never holds
// a capability that the permitted and inheritable sets do not hold.
func capabilities() (uint64, error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return 0, err
	}
	var all uint64
	for i, d := range data {
		all |= uint64(d.Permitted|d.Effective|d.Inheritable) << (32 * i)
	}
	return all, nil
}

// boundingEmpty reports whether the bounding set is empty. It asks for one capability after the other until the kernel
// knows no more.
func boundingEmpty() bool {
	for c := uintptr(0); c < 64; c++ {
		has, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0)
		if err != nil {
			return c > 0 && errors.Is(err, unix.EINVAL)
		}
		if has != 0 {
			return false
		}
	}
	return true
}
