package serve

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// makeFor makes a directory that belongs to the owner of the one around it. Root makes it as that owner: giving away
// what was made would give away whatever the owner has put in its place meanwhile.
func makeFor(around *os.File, name string, mode uint32) error {
	var owner unix.Stat_t
	if err := unix.Fstat(int(around.Fd()), &owner); err != nil {
		return err
	}
	if os.Geteuid() != 0 || owner.Uid == 0 {
		return makeIn(around, name, mode)
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with its identity
		if err := become(owner.Uid, owner.Gid); err != nil {
			done <- err
			return
		}
		done <- makeIn(around, name, mode)
	}()
	return <-done
}

// become takes the identity of a user for what this thread does with files.
func become(uid, gid uint32) error {
	if _, err := unix.SetfsgidRetGid(int(gid)); err != nil {
		return err
	}
	if _, err := unix.SetfsuidRetUid(int(uid)); err != nil {
		return err
	}
	// Neither call says whether it did anything; asked for what is impossible, it tells who we are.
	if now, err := unix.SetfsuidRetUid(-1); err != nil || now != int(uid) {
		return fmt.Errorf("become user %d: %w", uid, err)
	}
	return nil
}

// makeIn makes a directory of a mode, whatever our umask is. What somebody else puts in its place is changed with their
// own rights.
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
