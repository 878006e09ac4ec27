package main

import "golang.org/x/sys/unix"

// bindToItself makes a directory a mount of its own, which is shared: what is mounted below it in one place is there in all.
func bindToItself(dir string) error {
	if err := unix.Mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	if err := unix.Mount("", dir, "", unix.MS_SHARED, ""); err != nil {
		_ = unix.Unmount(dir, 0) // the first error is the one to tell
		return err
	}
	return nil
}
