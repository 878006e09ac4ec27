package tree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// CopyTo fills an empty directory with a copy of d, within bounds. It does everything on one thread. As sets the rights
// of that thread, and these decide which files can be read and who owns the copy. If the thread has root's rights, the
// copy still takes only files that user 0 could read as an ordinary user, by their modes.
//
// It copies only directories, regular files and links; a link stays a link and is never followed. It never opens a
// device or a FIFO, whatever takes a file's place meanwhile. It drops set-id bits and keeps holes. Each name of a file
// becomes a file of its own. A file is copied up to the size that it had when it was opened. Copied counts the entries
// that are left out, and names the first few.
//
// A git directory comes without hooks, settings, alternates and everything else that leads out of it; see part.
//
// The copy does not show one moment: a file that changes meanwhile is copied either as it was or as it is. An error
// means that the copy is not whole.
func (d *Dir) CopyTo(ctx context.Context, to *os.File, bounds CopyBounds) (Copied, error) {
	c := copying{ctx: ctx, bounds: bounds, buffer: make([]byte, copyBuffer)}
	run := func() (err error) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		return c.run(d, int(to.Fd()))
	}
	as := bounds.As
	if as == nil {
		as = func(do func() error) error { return do() }
	}
	if err := as(run); err != nil {
		return c.Copied, fmt.Errorf("copy a workspace: %w", err)
	}
	return c.Copied, nil
}

// copying is one CopyTo under way. Its thread is locked.
type copying struct {
	ctx      context.Context
	bounds   CopyBounds
	deadline time.Time
	began    time.Duration // processor time that the thread had used at the start
	to       ID            // the directory that is filled; it is never copied into itself
	user     uint32        // the thread has this user's rights to files
	entries  int64
	unasked  int64 // bytes written since the last look at the free space
	buffer   []byte
	Copied
}

const (
	copyBuffer   = 256 << 10
	maxCopyDepth = 256      // levels of directories; each level takes two open handles
	askRoomEvery = 16 << 20 // bytes
)

func (c *copying) run(d *Dir, to int) (err error) {
	c.began = threadTime()
	if c.bounds.Time > 0 {
		c.deadline = time.Now().Add(c.bounds.Time)
	}
	if c.user, err = threadUser(); err != nil {
		return err
	}
	if c.to, err = idOf(to); err != nil {
		return err
	}
	from, err := open(int(d.file.Fd()), ".", readDir, beneath)
	if err != nil {
		return err
	}
	defer unix.Close(from)
	var st unix.Stat_t
	if err := unix.Fstat(from, &st); err != nil {
		return err
	}
	if st.Uid != c.user {
		return &NoCopyError{fmt.Sprintf("it belongs to user %d, but the copy would belong to user %d", st.Uid, c.user)}
	}
	if is, err := isGitDirectory(from, ""); err != nil || is {
		return errors.Join(err, &NoCopyError{"it is itself a git directory, and git directories are not copied"})
	}
	if err := c.askRoom(to); err != nil {
		return err
	}
	return c.directory(from, to, "", 0, ordinary)
}

// threadUser returns the user whose rights to files this thread has. The call with an impossible id changes nothing and
// returns the current user.
func threadUser() (uint32, error) {
	user, err := unix.SetfsuidRetUid(-1)
	return uint32(user), err
}

// directory copies the content of an open directory.
func (c *copying) directory(from, to int, at string, depth int, in part) error {
	l := level{fd: from, page: make([]byte, pageSize)}
	for {
		name, err := l.read()
		if err != nil || name == "" {
			return err
		}
		c.entries++
		if err := c.goesOn(to); err != nil {
			return err
		}
		next, take, why := in.of(name)
		if !take {
			c.leave(path.Join(at, name), why)
			continue
		}
		err = c.entry(from, to, name, path.Join(at, name), depth, next)
		if errors.Is(err, unix.EEXIST) {
			continue // while a directory is changing, its listing may show a name twice
		}
		if err != nil {
			return fmt.Errorf("%q: %w", shownPath(path.Join(at, name)), err)
		}
	}
}

// goesOn returns an error when a bound is reached.
func (c *copying) goesOn(to int) error {
	switch b := c.bounds; {
	case c.ctx.Err() != nil:
		return c.ctx.Err()
	case b.Entries > 0 && c.entries > b.Entries:
		return &NoCopyError{fmt.Sprintf("it has more than %d entries", b.Entries)}
	case !c.deadline.IsZero() && time.Now().After(c.deadline):
		return &NoCopyError{fmt.Sprintf("it takes longer than %s", b.Time)}
	case b.Processor > 0 && c.entries%checkEvery == 0 && threadTime()-c.began > b.Processor:
		return &NoCopyError{fmt.Sprintf("it takes more than %s of a processor", b.Processor)}
	case c.entries%checkEvery == 0:
		return c.askRoom(to)
	}
	return nil
}

// took counts bytes that the copy takes. Every askRoomEvery bytes it asks whether there is room for more.
func (c *copying) took(bytes int64, to int) error {
	c.Bytes += bytes
	c.unasked += bytes
	if c.bounds.Bytes > 0 && c.Bytes > c.bounds.Bytes {
		return &NoCopyError{fmt.Sprintf("it holds more than %d bytes", c.bounds.Bytes)}
	}
	if c.unasked < askRoomEvery {
		return nil
	}
	return c.askRoom(to)
}

// askRoom asks bounds.Room whether there is room for more.
func (c *copying) askRoom(to int) error {
	c.unasked = 0
	if c.bounds.Room == nil {
		return nil
	}
	var st unix.Statfs_t
	if err := retry(func() error { return unix.Fstatfs(to, &st) }); err != nil {
		return err
	}
	s := Space{Dev: c.to.Dev, Bytes: int64(st.Bavail) * st.Frsize, Files: int64(st.Ffree)}
	if st.Files == 0 {
		s.Files = -1
	}
	return c.bounds.Room(s)
}

// entry looks at a name once and copies exactly the entry that it saw there.
func (c *copying) entry(from, to int, name, at string, depth int, in part) error {
	pin, err := open(from, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, beneath)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil // removed meanwhile
	case errors.Is(err, unix.EXDEV):
		c.leave(at, "it is on another file system")
		return nil
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		c.leave(at, unreadable)
		return nil
	case err != nil:
		return err
	}
	defer unix.Close(pin)
	var st unix.Stat_t
	if err := unix.Fstat(pin, &st); err != nil {
		return err
	}
	if !c.mayRead(&st) {
		c.leave(at, unreadable)
		return nil
	}
	kind := st.Mode & unix.S_IFMT
	if kind == unix.S_IFDIR {
		return c.subdirectory(pin, to, name, at, depth, in, &st)
	}
	if why := in.leadsAway(name, kind == unix.S_IFLNK); why != "" {
		c.leave(at, why)
		return nil
	}
	switch kind {
	case unix.S_IFREG:
		return c.file(pin, to, name, at, &st)
	case unix.S_IFLNK:
		return c.link(pin, to, name, at)
	}
	c.leave(at, "it is neither a directory, a regular file nor a link")
	return nil
}

const unreadable = "it cannot be read with the rights of the workspace's owner"

// mayRead reports whether the modes let the thread's user read an entry. It asks only if that user is root, because the
// kernel lets root read everything.
func (c *copying) mayRead(st *unix.Stat_t) bool {
	if c.user != 0 || os.Geteuid() != 0 || st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return true
	}
	needs := uint32(0o4)
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		needs = 0o5
	}
	if st.Uid == 0 {
		needs <<= 6
	}
	return st.Mode&needs == needs
}

func (c *copying) subdirectory(pin, to int, name, at string, depth int, in part, st *unix.Stat_t) error {
	if (ID{st.Dev, st.Ino}) == c.to {
		return nil
	}
	if depth >= maxCopyDepth {
		c.leave(at, fmt.Sprintf("it lies deeper than %d directories", maxCopyDepth))
		return nil
	}
	from, err := open(pin, ".", readDir, beneath)
	if errors.Is(err, unix.EACCES) {
		c.leave(at, unreadable)
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(from)
	git := false
	if in == ordinary {
		if git, err = isGitDirectory(from, name); err != nil {
			return err
		}
	}
	if git && c.bounds.NoGit {
		return nil
	}
	made, err := c.makeDirectory(to, name)
	if err != nil {
		return err
	}
	defer unix.Close(made)
	if git {
		c.Git++
		in = gitTop
	}
	if err := c.directory(from, made, at, depth+1, in); err != nil {
		return err
	}
	if git {
		if err := writeGitSettings(made, name); err != nil {
			return err
		}
	}
	c.Directories++
	return unix.Fchmod(made, st.Mode&0o777|0o700)
}

// makeDirectory makes a directory and opens it. It fails if the opened directory belongs to another user: then somebody
// put it in the place of ours.
func (c *copying) makeDirectory(at int, name string) (int, error) {
	if err := retry(func() error { return unix.Mkdirat(at, name, 0o700) }); err != nil {
		return -1, err
	}
	made, err := open(at, name, readDir, beneath)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(made, &st); err != nil || st.Uid != c.user {
		unix.Close(made)
		return -1, errors.Join(err, errors.New("another directory was put in the place of the copy"))
	}
	return made, nil
}

func (c *copying) link(pin, to int, name, at string) error {
	target := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(pin, "", target)
	if err != nil {
		return err
	}
	if n == 0 || n == len(target) {
		c.leave(at, "it is a link that cannot be read")
		return nil
	}
	if err := unix.Symlinkat(string(target[:n]), to, name); err != nil {
		return err
	}
	c.Links++
	return nil
}

// leave records an entry that is left out, unless why is "".
func (c *copying) leave(at, why string) {
	if why == "" {
		return
	}
	if c.LeftCount++; len(c.Left) < maxLeft {
		c.Left = append(c.Left, LeftOut{shownPath(at), why})
	}
}

// shownPath returns a path, or only its end if it is too long to be shown.
func shownPath(at string) string {
	if len(at) > maxShown {
		return cutPath + at[len(at)-maxShown+len(cutPath):]
	}
	return at
}
