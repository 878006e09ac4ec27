package mounts

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mountInfo has the fields that we need from one line of /proc/self/mountinfo.
type mountInfo struct {
	id, parent uint64
	device     string // major:minor of the file system
	root       string // the directory of the file system that is mounted
	point      string // where it is mounted
	shared     bool
	kind       string // type of the file system
	source     string // the source, as the process that mounted it named it
}

var errMountInfo = errors.New("a line of /proc/self/mountinfo is not of the form that is known")

func readMountInfo() (map[uint64]mountInfo, error) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	return parseMountInfo(data)
}

func parseMountInfo(data []byte) (map[uint64]mountInfo, error) {
	infos := map[uint64]mountInfo{}
	for line := range bytes.Lines(data) {
		// One blank separates two fields. Other white space is not escaped, so it is part of a name.
		fields := strings.Split(strings.TrimSuffix(string(line), "\n"), " ")
		if len(fields) < 7 || slices.Contains(fields[:7], "") {
			return nil, errMountInfo
		}
		id, err1 := strconv.ParseUint(fields[0], 10, 64)
		parent, err2 := strconv.ParseUint(fields[1], 10, 64)
		if err1 != nil || err2 != nil {
			return nil, errMountInfo
		}
		info := mountInfo{id: id, parent: parent, device: fields[2], root: unescape(fields[3]), point: unescape(fields[4])}
		for i, tag := range fields[6:] {
			if tag == "-" { // the optional fields end here
				info.kind, info.source = fileSystem(fields[6+i+1:])
				break
			}
			info.shared = info.shared || strings.HasPrefix(tag, "shared:")
		}
		infos[id] = info
	}
	return infos, nil
}

func fileSystem(fields []string) (kind, source string) {
	if len(fields) < 2 {
		return "", ""
	}
	return fields[0], unescape(fields[1])
}

// unescape undoes the kernel's \ooo escapes.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`, `\043`, "#").Replace(s)
}

// bindsItself reports whether the mount is a directory that was bound onto itself.
func bindsItself(infos map[uint64]mountInfo, id uint64) bool {
	mount := infos[id]
	parent, ok := infos[mount.parent]
	if !ok || mount.id == parent.id || mount.device != parent.device {
		return false
	}
	rel, err := filepath.Rel(parent.point, mount.point)
	return err == nil && mount.root == filepath.Join(parent.root, rel)
}

// mountOf returns the id of the mount around fd, and whether fd is its root.
func mountOf(fd int) (id uint64, isRoot bool, err error) {
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &st); err != nil {
		return 0, false, os.NewSyscallError("statx", err)
	}
	if st.Mask&unix.STATX_MNT_ID == 0 || st.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT == 0 {
		return 0, false, fmt.Errorf("statx does not name the mount: the kernel is older than 5.8")
	}
	return st.Mnt_id, st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0, nil
}
