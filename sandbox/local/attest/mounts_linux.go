package attest

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"torno/internal/mounts"
)

// Mount is a mount that a process sees.
type Mount struct {
	ID      uint64
	Root    string // the directory of its file system that is mounted
	Point   string
	Options []string // options of the mount itself
	Kind    string   // type of the file system
}

// Has reports whether the mount has an option, such as "ro" or "nosuid".
func (m Mount) Has(option string) bool { return slices.Contains(m.Options, option) }

func (m Mount) String() string {
	return fmt.Sprintf("%s at %s (%s)", m.Kind, m.Point, strings.Join(m.Options, ","))
}

// Mounts returns all mounts that the process sees below its root, in the kernel's order.
func (p *Process) Mounts() ([]Mount, error) {
	text, err := p.read("mountinfo")
	if err != nil {
		return nil, err
	}
	var all []Mount
	for line := range strings.Lines(string(text)) {
		before, after, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " - ")
		fields, kind := strings.Split(before, " "), strings.Split(after, " ")
		if !ok || len(fields) < 6 {
			return nil, fmt.Errorf("look at process %d: a line of its mounts is %q", p.pid, line)
		}
		id, err := strconv.ParseUint(fields[0], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("look at process %d: a line of its mounts is %q", p.pid, line)
		}
		all = append(all, Mount{
			ID: id, Root: unescape(fields[3]), Point: unescape(fields[4]), Options: strings.Split(fields[5], ","), Kind: kind[0],
		})
	}
	return all, nil
}

// unescape undoes the kernel's \ooo escapes.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`, `\043`, "#").Replace

// root opens the process's root directory.
func (p *Process) root() (*os.File, error) {
	fd, err := unix.Openat(int(p.dir.Fd()), "root", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, p.explain("root", err)
	}
	return os.NewFile(uintptr(fd), "root"), nil
}

// view is a process's root directory together with its user.
type view struct {
	root *os.File
	user mounts.User
}

func (p *Process) view() (v view, err error) {
	s, err := p.status()
	if err != nil {
		return v, err
	}
	if _, err := fmt.Sscan(s.of("Uid"), &v.user.UID); err != nil {
		return v, fmt.Errorf("look at process %d: its user ids are %q", p.pid, s.of("Uid"))
	}
	v.user.GID = mounts.NoGroup
	v.root, err = p.root()
	return v, err
}

// open finds a path without following a link. Some directories are closed to root because they lie in a mount where
// root's capabilities do not count (mounts.IDMaps.Reading). For these, open uses the rights of the process's user.
func (v view) open(path string) (fd int, err error) {
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	find := func() (err error) {
		fd, err = unix.Openat2(int(v.root.Fd()), path, &how)
		return err
	}
	if err = find(); errors.Is(err, unix.EACCES) {
		err = v.user.Do(find)
	}
	return fd, err
}

// CheckMounts compares every mount that the process sees. Each wanted mount must lie at its target, any other mount
// must be known, and no mount may cover another mount.
func (p *Process) CheckMounts(look *Look, what string, wants []Want, known func(Mount) bool) error {
	all, err := p.Mounts()
	if err != nil {
		return err
	}
	view, err := p.view()
	if err != nil {
		return err
	}
	defer view.root.Close()
	for _, want := range wants {
		if err := want.check(look, view, all); err != nil {
			return err
		}
	}
	for i, m := range all {
		if isOverAnother(m, all[:i], wants) {
			look.Differ("a mount over another mount", "none", m.String())
		}
		if !known(m) && !slices.ContainsFunc(wants, func(want Want) bool { return want.Target == m.Point }) {
			look.Differ("a mount that was not asked for", "none", m.String())
		}
	}
	look.See(what, fmt.Sprintf("%d, all of them known", len(all)))
	return nil
}

// isOverAnother reports whether a mount covers an earlier mount that it may not cover.
func isOverAnother(m Mount, earlier []Mount, wants []Want) bool {
	var over []uint64
	for _, other := range earlier {
		if other.Point == m.Point {
			over = append(over, other.ID)
		}
	}
	return len(over) > 0 && !slices.ContainsFunc(wants, func(w Want) bool {
		return w.Target == m.Point && w.Over != 0 && slices.Equal(over, []uint64{w.Over})
	})
}

// check compares the file or directory at the target, found without following a link, with the wanted one. The mount
// around it must begin exactly there, and its flags must be right.
func (w Want) check(look *Look, view view, all []Mount) error {
	fd, err := view.open(w.Target)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		look.Differ(w.Target, w.String(), "not there ("+err.Error()+")")
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at %s in the sandbox: %w", w.Target, err)
	}
	defer unix.Close(fd)
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_INO|unix.STATX_MNT_ID, &st); err != nil {
		return fmt.Errorf("look at %s in the sandbox: %w", w.Target, err)
	}
	got := Want{Target: w.Target, Device: unix.Mkdev(st.Dev_major, st.Dev_minor), Inode: st.Ino}
	if w.Device == 0 && w.Inode == 0 {
		got.Device, got.Inode = 0, 0
	}
	at := slices.IndexFunc(all, func(m Mount) bool { return m.ID == st.Mnt_id })
	if at < 0 || all[at].Point != w.Target {
		look.Differ(w.Target, "a mount", "a part of another mount")
		return nil
	}
	got.Writable = !all[at].Has("ro")
	got.Hardened = w.Hardened && all[at].Has("nosuid") && all[at].Has("nodev")
	look.Compare(w.Target, w.String(), got.String())
	return nil
}

// readlink reads a link in the process's directory.
func (p *Process) readlink(name string) (string, error) {
	var buffer [unix.PathMax]byte
	n, err := unix.Readlinkat(int(p.dir.Fd()), name, buffer[:])
	if err != nil {
		return "", err
	}
	return string(buffer[:n]), nil
}
