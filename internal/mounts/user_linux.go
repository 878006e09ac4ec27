package mounts

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Do runs f with the user's rights to files and without any of root's. f must not start a goroutine that touches files.
// If the watcher is not root, it cannot become another user, so f runs with the watcher's own rights. The same holds if
// the user is root.
//
// Linux keeps the identity for files per thread. Do changes it for one thread, and changes it back afterwards. If it
// cannot change it back, the thread ends together with its goroutine. The main thread cannot end; in this case it runs
// no Go code any more.
func (u User) Do(f func() error) error {
	if os.Geteuid() != 0 || u.UID == 0 {
		return f()
	}
	groups, err := os.Getgroups()
	if err != nil {
		return fmt.Errorf("find our own groups: %w", err)
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		err := u.become()
		if err == nil {
			err = f()
		}
		if back := restore(groups); back != nil {
			done <- errors.Join(err, back)
			return // still locked: the thread ends here
		}
		runtime.UnlockOSThread()
		done <- err
	}()
	return <-done
}

// ourselves returns the watcher's own user.
func ourselves() User { return User{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())} }

// become gives this thread the user's rights. The user id comes last, because only root may change groups.
func (u User) become() error {
	groups := make([]int, len(u.Groups))
	for i, gid := range u.Groups {
		groups[i] = int(gid)
	}
	err := setThread(groups, int(u.GID), int(u.UID))
	if err == nil {
		err = checkPowers()
	}
	if err != nil {
		return fmt.Errorf("look at files as user %d, which takes CAP_SETUID and CAP_SETGID: %w", u.UID, err)
	}
	return nil
}

// restore gives this thread root's rights again.
func restore(groups []int) error {
	if err := setThread(groups, os.Getegid(), os.Geteuid()); err != nil {
		return fmt.Errorf("become root again: %w", err)
	}
	return nil
}

// setThread gives this thread a user's rights to files. Package syscall would set the groups of all threads.
func setThread(groups []int, gid, uid int) error {
	if err := unix.Setgroups(groups); err != nil {
		return os.NewSyscallError("setgroups", err)
	}
	if err := setID("setfsgid", unix.SetfsgidRetGid, gid); err != nil {
		return err
	}
	return setID("setfsuid", unix.SetfsuidRetUid, uid)
}

// setID calls setfsuid or setfsgid. These calls report no failure, but both return the previous id, so a second call
// with an impossible id shows whether the first one worked.
func setID(name string, set func(int) (int, error), id int) error {
	if _, err := set(id); err != nil {
		return os.NewSyscallError(name, err)
	}
	now, err := set(-1)
	if err == nil && uint32(now) != uint32(id) {
		err = unix.EPERM
	}
	return os.NewSyscallError(name, err)
}

// checkPowers fails if this thread may still pass closed directories. The kernel removes that right when the user
// changes, unless the securebits of the process say otherwise.
func checkPowers() error {
	const powers = 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH
	var sets [2]unix.CapUserData
	if err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &sets[0]); err != nil {
		return os.NewSyscallError("capget", err)
	}
	if sets[0].Effective&powers != 0 {
		return errors.New("the thread has kept root's right to pass closed directories: run the watcher without SECURE_NO_SETUID_FIXUP")
	}
	return nil
}
