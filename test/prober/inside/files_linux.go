package inside

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// enough findings: on a file system that is open everywhere the list would be endless.
const enough = 200

func lookAtFiles(private []string) func(*Report) error {
	return func(r *Report) error {
		r.Listings = make(map[string][]string)
		for _, dir := range []string{"/", "/usr/local", "/home", "/run", "/run/torno"} {
			r.Listings[dir] = names(dir)
		}
		if err := r.readMounts(); err != nil {
			return err
		}
		for _, top := range []string{"/dev", "/"} { // devices before all that may fill the report
			err := filepath.WalkDir(top, func(path string, _ fs.DirEntry, _ error) error {
				return r.visit(path, slices.Contains(private, path) || path == "/dev" && top == "/")
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// visit notes what can be written and what is a device. What cannot be looked into has nothing to find. It asks the
// kernel what a path is and not the directory's entry, which does not know of what is mounted there.
func (r *Report) visit(path string, private bool) error {
	info, _ := os.Lstat(path)
	switch {
	case info == nil || info.Mode()&fs.ModeSymlink != 0 || isMasked(path, info):
		return nil
	case len(r.Writable) >= enough:
		return filepath.SkipAll
	case isProcess(path):
		return fs.SkipDir
	}
	if unix.Access(path, unix.W_OK) == nil && !slices.Contains(r.Writable, path) {
		r.Writable = append(r.Writable, path)
	}
	if info.Mode()&fs.ModeDevice != 0 {
		r.Devices = append(r.Devices, path)
	}
	if private {
		return fs.SkipDir
	}
	return nil
}

// isProcess says whether a path is that of a process below /proc.
func isProcess(path string) bool {
	name, below := strings.CutPrefix(path, "/proc/")
	return below && (name[0] >= '0' && name[0] <= '9' || name == "self" || name == "thread-self")
}

// isMasked says whether a file of the kernel's is covered by the null device, which is how engines hide one.
func isMasked(path string, info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && strings.HasPrefix(path, "/proc/") && info.Mode()&fs.ModeCharDevice != 0 && stat.Rdev == unix.Mkdev(1, 3)
}

// readMounts reads mountinfo: the fifth field is the path, the sixth the options.
func (r *Report) readMounts() error {
	content, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	r.Mounts = make(map[string]Mount)
	for line := range strings.Lines(string(content)) {
		fields := strings.Fields(line)
		path := fields[4]
		m := Mount{Options: strings.Split(fields[5], ",")}
		var stat unix.Statfs_t
		if unix.Statfs(path, &stat) == nil {
			m.Bytes, m.Files = stat.Blocks*uint64(stat.Bsize), stat.Files
		}
		r.Mounts[path] = m
	}
	return nil
}
