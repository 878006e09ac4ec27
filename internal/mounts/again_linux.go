package mounts

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"torno/sandbox"
)

// FindAgain finds in our mount namespace a file that was opened in another mount namespace, because mounts of another
// namespace cannot be cloned. It opens the file by the name that the kernel reports, and follows no link. By now
// another file may have this name: the caller compares Dev and Ino.
func FindAgain(held *os.File) (*Pin, error) {
	name, err := pathOf(int(held.Fd()))
	if err != nil {
		return nil, fmt.Errorf("find a directory again: %w", err)
	}
	root, err := os.OpenFile("/", unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	rel := strings.TrimPrefix(name, "/")
	if rel == "" {
		rel = "."
	}
	fd, err := lookup(int(root.Fd()), rel, unix.O_PATH, across)
	if err != nil {
		return nil, fmt.Errorf("find %q again: %w", name, err)
	}
	return newPin(sandbox.Source{Base: "/", Rel: rel}, fd)
}
