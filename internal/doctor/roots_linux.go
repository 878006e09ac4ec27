package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"torno/internal/mounts"
)

// LookAtRoots looks at the file systems of these directories. With mayMount it also tries whether ids can be exchanged
// there, on a detached clone of the mount.
func LookAtRoots(paths []string, mayMount bool) []Root {
	maps := mounts.NewIDMaps()
	defer maps.Close()
	mounted := mountedKinds()
	var all []Root
	for _, path := range paths {
		r := Root{Path: path, NotTried: !mayMount}
		if err := r.lookSoon(mounted); errors.Is(err, fs.ErrNotExist) {
			r.Missing = true
		} else if err != nil {
			r.Error = err.Error()
		} else if mayMount {
			r.IDMap = tryIDMap(path, maps)
		}
		all = append(all, r)
	}
	return all
}

// answerTime is how long to wait for a file system. A file system whose other side is gone never answers, and a thread
// that waits for it cannot be ended.
const answerTime = 5 * time.Second

// lookSoon does the same as look, but gives up after answerTime.
func (r *Root) lookSoon(mounted map[uint64]mountedKind) error {
	seen, looked := *r, make(chan error, 1)
	go func() { looked <- seen.look(mounted) }()
	select {
	case err := <-looked:
		*r = seen
		return err
	case <-time.After(answerTime):
		return fmt.Errorf("its file system has not answered for %v", answerTime)
	}
}

// look fills in the facts about the root's file system.
func (r *Root) look(mounted map[uint64]mountedKind) error {
	var fsys unix.Statfs_t
	var file unix.Stat_t
	if err := unix.Stat(r.Path, &file); err != nil {
		return &fs.PathError{Op: "look at", Path: r.Path, Err: err}
	}
	if err := unix.Statfs(r.Path, &fsys); err != nil {
		return &fs.PathError{Op: "look at the file system of", Path: r.Path, Err: err}
	}
	m := mounted[file.Dev]
	r.FileSystem, r.Kind, r.Quota = kindOf(int64(fsys.Type)), m.kind, m.quota
	r.Free, r.Size = fsys.Bavail*uint64(fsys.Bsize), fsys.Blocks*uint64(fsys.Bsize)
	return nil
}

// tryIDMap returns why a directory cannot be mounted with exchanged ids, or "" if it can.
func tryIDMap(path string, maps *mounts.IDMaps) string {
	bases, err := mounts.OpenBases([]string{path})
	if err != nil {
		return err.Error()
	}
	defer bases.Close()
	if err := bases.TryIDMap(path, maps); err != nil {
		return err.Error()
	}
	return ""
}

// kinds names the file systems on which people usually have workspaces.
var kinds = map[int64]string{
	unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs", unix.TMPFS_MAGIC: "tmpfs",
	unix.OVERLAYFS_SUPER_MAGIC: "overlay", unix.NFS_SUPER_MAGIC: "nfs", unix.FUSE_SUPER_MAGIC: "fuse", unix.F2FS_SUPER_MAGIC: "f2fs",
	unix.V9FS_MAGIC: "9p", 0x2fc12fc1: "zfs", unix.SMB_SUPER_MAGIC: "smb", unix.CIFS_SUPER_MAGIC: "cifs", unix.SMB2_SUPER_MAGIC: "smb2", unix.CEPH_SUPER_MAGIC: "ceph", unix.AFS_SUPER_MAGIC: "afs",
}

func kindOf(magic int64) string {
	if name, ok := kinds[magic]; ok {
		return name
	}
	return fmt.Sprintf("file system %#x", magic)
}

// mountedKind holds the facts that a mount tells about its file system.
type mountedKind struct {
	kind  string
	quota bool
}

// mountedKinds returns the kind of file system of each mount, by its device.
func mountedKinds() map[uint64]mountedKind {
	found := map[uint64]mountedKind{}
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return found
	}
	for entry := range strings.Lines(string(data)) {
		var id, parent int
		var major, minor uint32
		_, super, _ := strings.Cut(entry, " - ")
		kind, _, _ := strings.Cut(super, " ")
		if _, err := fmt.Sscanf(entry, "%d %d %d:%d ", &id, &parent, &major, &minor); err == nil {
			device := unix.Mkdev(major, minor)
			found[device] = mountedKind{kind, hasQuota(entry) || found[device].quota}
		}
	}
	return found
}

// quotaWords are the mount options for quotas of ext4, xfs and f2fs.
var quotaWords = []string{"prjquota", "pquota", "usrquota", "uquota", "grpquota", "gquota", "usrjquota", "grpjquota"}

func hasQuota(entry string) bool {
	_, super, _ := strings.Cut(entry, " - ")
	for option := range strings.FieldsFuncSeq(super, func(c rune) bool { return c == ',' || c == ' ' || c == '\n' }) {
		if name, _, _ := strings.Cut(option, "="); slices.Contains(quotaWords, name) {
			return true
		}
	}
	return false
}
