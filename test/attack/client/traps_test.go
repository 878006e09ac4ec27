package client

import (
	"errors"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// trap is something that is no plain file. Its text is what the client says of it.
type trap struct {
	name, says string
	set        func(s *scene, path string) error
}

// traps are what can stand in the place of a file.
var traps = []trap{
	{"link", "symbolic link", func(s *scene, path string) error { return os.Symlink(s.secret(), path) }},
	{"link in a circle", "symbolic link", func(_ *scene, path string) error { return os.Symlink(filepath.Base(path), path) }},
	{"link inside", "symbolic link", func(_ *scene, path string) error {
		return errors.Join(os.WriteFile(path+".real", []byte(planted), 0o600), os.Symlink(filepath.Base(path)+".real", path))
	}},
	{"hard link", "more than one name", func(s *scene, path string) error { return os.Link(s.secret(), path) }},
	{"FIFO", "", func(_ *scene, path string) error { return unix.Mkfifo(path, 0o666) }},
	{"directory", "a directory", func(_ *scene, path string) error { return os.Mkdir(path, 0o777) }},
	{"socket", "a socket", listen},
	{"device", "a device", func(_ *scene, path string) error { return unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))) }},
	{"link to a device", "symbolic link", func(_ *scene, path string) error { return os.Symlink("/dev/zero", path) }},
}

// tenGB is a file that claims to be huge and has no blocks.
func tenGB(_ *scene, path string) error {
	return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 10<<30))
}

// listen leaves a socket. Its address is short, whatever the path is.
func listen(s *scene, path string) error {
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: dir + "/s"})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)
	s.Cleanup(func() { l.Close() })
	return os.Rename(dir+"/s", path)
}

// spring sets a trap in the place of whatever is at a path, and says whether it can be had here.
func (s *scene) spring(t trap, path string) bool {
	s.Helper()
	s.must(os.RemoveAll(path))
	err := t.set(s, path)
	if t.name == "device" && errors.Is(err, unix.EPERM) {
		return false // this test cannot make one, and neither can a child
	}
	s.must(err)
	return true
}
