package delegation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Dir is an open outbox. Every method works through the open directory and takes the bare name of an entry. So it leads
// nowhere else, whatever happens to the path and whatever somebody plants in the directory. Several goroutines may use
// a Dir at once; Close comes last.
type Dir struct {
	path  string
	root  *os.Root // the same directory twice: a Root for renameio,
	file  *os.File // and a descriptor for calls where a Root would follow a link
	uid   uint32
	gid   uint32
	stamp Stamp
	clock fsClock
	why   error // why the outbox could not be opened, for a Dir from OpenNowhere; otherwise nil
}

// OpenDir opens the outbox at path. The path must be a directory itself, not a link to one.
func OpenDir(path string) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open outbox: %w", err)
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("outbox %q is not a directory; a link to one must be given as what it points to: %w", path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open outbox %q: %w", path, err)
	}
	d := &Dir{path: path, file: os.NewFile(uintptr(fd), path)}
	if err := d.bind(); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// bind opens the Root of the directory that the descriptor holds. It goes through /proc. It opens the path a second
// time only if there is no /proc, because a FIFO planted at the path meanwhile would make that open wait for ever.
func (d *Dir) bind() error {
	var here, there unix.Stat_t
	if err := unix.Fstat(d.fd(), &here); err != nil {
		return fmt.Errorf("stat outbox %q: %w", d.path, err)
	}
	root, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", d.fd()))
	if errors.Is(err, fs.ErrNotExist) { // /proc is not mounted
		root, err = os.OpenRoot(d.path)
	}
	if err != nil {
		return fmt.Errorf("open outbox %q: %w", d.path, err)
	}
	d.root, d.uid, d.gid, d.stamp = root, here.Uid, here.Gid, stampOf(&here)
	self, err := root.Open(".")
	if err != nil {
		return fmt.Errorf("open outbox %q: %w", d.path, err)
	}
	defer self.Close()
	if err := unix.Fstat(int(self.Fd()), &there); err != nil {
		return fmt.Errorf("stat outbox %q: %w", d.path, err)
	}
	if here.Dev != there.Dev || here.Ino != there.Ino {
		return fmt.Errorf("outbox %q: %w", d.path, ErrMoved)
	}
	return nil
}

// Close closes the directory.
func (d *Dir) Close() error {
	err := d.file.Close()
	if d.root != nil {
		err = errors.Join(err, d.root.Close())
	}
	return err
}

// Path returns the absolute path under which the outbox was opened.
func (d *Dir) Path() string { return d.path }

// Owner returns the user and group that owned the outbox when it was opened. Publish gives files to them.
func (d *Dir) Owner() (uid, gid uint32) { return d.uid, d.gid }

// Info describes the open directory itself, even if it has been moved.
func (d *Dir) Info() (os.FileInfo, error) { return d.file.Stat() }

// Reopen opens the directory once more. A lock taken on the returned file ends when that file is closed.
func (d *Dir) Reopen() (*os.File, error) {
	root, err := d.root.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.Open(".")
}

// OpenRoot opens the directory once more, as a Root that reaches into the directories below it.
func (d *Dir) OpenRoot() (*os.Root, error) { return d.root.OpenRoot(".") }

// Alive fails with ErrMoved when the path no longer leads to the open directory: somebody removed or replaced the
// directory, or mounted something over it. Reading and writing files would still work, but the other side would not see
// them.
func (d *Dir) Alive() error {
	if d.why != nil {
		return fmt.Errorf("outbox %q: %w: %w", d.path, ErrMoved, d.why)
	}
	var now unix.Stat_t
	err := unix.Lstat(d.path, &now)
	switch {
	case errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR):
		return fmt.Errorf("outbox %q: %w", d.path, ErrMoved)
	case err != nil:
		return fmt.Errorf("stat outbox %q: %w", d.path, err)
	}
	if s := stampOf(&now); s.Dev != d.stamp.Dev || s.Ino != d.stamp.Ino {
		return fmt.Errorf("outbox %q: %w", d.path, ErrMoved)
	}
	return nil
}

// Writable fails if nothing can be published, because the file system is read-only or the right to write is missing.
func (d *Dir) Writable() error {
	if err := unix.Faccessat(d.fd(), ".", unix.W_OK, 0); err != nil {
		return fmt.Errorf("outbox %q cannot be written: %w", d.path, err)
	}
	return nil
}

// Stat describes an entry of any type. It does not follow a link.
func (d *Dir) Stat(name string) (Stamp, error) {
	if err := checkName(name); err != nil {
		return Stamp{}, fmt.Errorf("stat %w", err)
	}
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return Stamp{}, fmt.Errorf("stat %q: %w", name, err)
	}
	return stampOf(&st), nil
}

// Remove removes an entry. If the entry is a directory it returns ErrDirectory. A missing entry is no error.
func (d *Dir) Remove(name string) error {
	if err := checkName(name); err != nil {
		return fmt.Errorf("remove %w", err)
	}
	err := unix.Unlinkat(d.fd(), name, 0)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	if d.isDirectory(name) {
		err = ErrDirectory
	}
	return fmt.Errorf("remove %q: %w", name, err)
}

// Names calls each with the names in the outbox, at most chunk of them at a time and in no order. It keeps none of
// them. It stops at the first error of each.
func (d *Dir) Names(ctx context.Context, chunk int, each func([]string) error) error {
	listing, err := d.root.Open(".")
	if err != nil {
		return fmt.Errorf("list outbox %q: %w", d.path, err)
	}
	defer listing.Close()
	for ctx.Err() == nil {
		names, err := listing.Readdirnames(max(chunk, 1))
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list outbox %q: %w", d.path, err)
		}
		if err := each(names); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (d *Dir) isDirectory(name string) bool {
	stamp, err := d.Stat(name)
	return err == nil && stamp.Mode.IsDir()
}

// fd returns the descriptor, which is valid until Close.
func (d *Dir) fd() int { return int(d.file.Fd()) }
