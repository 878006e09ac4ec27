package serve

import (
	"os"

	"golang.org/x/sys/unix"

	"torno/internal/mounts"
)

// makeFor makes a directory that belongs to the owner of the directory around it. Root makes it with that owner's
// rights. A later chown would give away anything that the owner has put under the name meanwhile.
func makeFor(around *os.File, name string, mode uint32) error {
	return asOwnerOf(around, func() error { return makeIn(around, name, mode) })
}

// asOwnerOf calls a function with the rights of a directory's owner, if we are root.
func asOwnerOf(dir *os.File, call func() error) error {
	var owner unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &owner); err != nil {
		return err
	}
	if os.Geteuid() != 0 || owner.Uid == 0 {
		return call()
	}
	who := mounts.User{UID: owner.Uid, GID: owner.Gid}
	return who.Do(call)
}

// makeIn makes a directory with a mode, whatever our umask is. The owner may exchange the directory before makeIn sets
// the mode. Then makeIn changes the other file with nothing but the owner's own rights.
func makeIn(around *os.File, name string, mode uint32) error {
	if err := unix.Mkdirat(int(around.Fd()), name, 0o700); err != nil {
		return err
	}
	fd, err := unix.Openat(int(around.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Fchmod(fd, mode)
}
