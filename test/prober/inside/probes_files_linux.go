package inside

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"
)

// fileProbes are about what a child may read and write beyond its own.
func fileProbes() []probe {
	write := func(paths ...string) func(*Ground) error { return opens(unix.O_WRONLY, paths...) }
	return []probe{
		{"C6", "write settings of the kernel", write("/proc/sys/kernel/printk", "/proc/sys/vm/drop_caches", "/proc/sys/kernel/hostname")},
		{"C6", "write /proc/sysrq-trigger", optional(write("/proc/sysrq-trigger"))},
		{"C6", "write interrupts", optional(write("/proc/irq/default_smp_affinity"))},
		{"C6", "write binary formats", optional(write("/proc/sys/fs/binfmt_misc/register"))},
		{"C6", "write the program for events", optional(write("/sys/kernel/uevent_helper"))},
		{"C6", "write anything in /sys", writable("/sys")},
		{"C6", "write anything in /proc that is no process", writable("/proc")},
		{"C6", "write process 1's place among victims of memory", write("/proc/1/oom_score_adj")},
		{"C13", "write the release agent", optional(write(controllers("release_agent")...))},
		{"C13", "write the tasks of a cgroup", write(controllers("cgroup.procs")...)},
		{"C13", "write the limits of memory", write(controllers("memory.limit_in_bytes", "memory.max", "memory.high")...)},
		{"C13", "make a cgroup", makeGroup},
		{"C14", "write the core pattern", write("/proc/sys/kernel/core_pattern")},
		{"C14", "leave a core", leaveCore},
		{"C17", "the engine's socket by its path", func(g *Ground) error { return dial("unix", g.Socket) }},
		{"C17", "any socket of the host", findSocket},
		{"C19", "a file of the host's, by its path", func(g *Ground) error { return opens(unix.O_RDONLY, g.Secret)(g) }},
		{"C19", "a file of the host's, by dots", func(g *Ground) error {
			return opens(unix.O_RDONLY, strings.Repeat("../", 40)+g.Secret)(g)
		}},
		{"C19", "the host's passwords", optional(opens(unix.O_RDONLY, "/etc/shadow", "/etc/gshadow"))},
		{"C19", "the host's own directories", lists("/root", "/var", "/opt", "/srv", "/boot", "/mnt", "/media")},
		{"X7", "space in the workspace without writing", onFile(func(fd int) error { return unix.Fallocate(fd, 0, 0, 1<<16) })},
		{"C19", "write the system's programs", write("/usr/bin/env", "/bin/sh", "/usr/bin", "/etc/passwd")},
		{"C19", "make a file beside the workspace", makes("/torno-probe", "/usr/torno-probe", "/etc/torno-probe", "/run/torno-probe", "/var/torno-probe")},
	}
}

// opens tries paths in turn. One success is enough; nothing is read or written.
func opens(flags int, paths ...string) func(*Ground) error {
	return func(*Ground) error {
		ways := make([]func() error, len(paths))
		for i, path := range paths {
			ways[i] = func() error {
				err := closed(unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NONBLOCK, 0))
				if errors.Is(err, unix.EISDIR) { // a directory cannot be opened for writing; access(2) tells the right
					err = unix.Access(path, unix.W_OK)
				}
				return err
			}
		}
		return anyOf(ways...)
	}
}

// reads wants a file that says something; a masked one is empty.
func reads(paths ...string) func(*Ground) error {
	return func(*Ground) error {
		ways := make([]func() error, len(paths))
		for i, path := range paths {
			ways[i] = func() error {
				content := make([]byte, 64)
				fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
				if err != nil {
					return err
				}
				defer unix.Close(fd)
				if n, err := unix.Read(fd, content); n <= 0 {
					return errors.Join(err, errAbsent)
				}
				return nil
			}
		}
		return anyOf(ways...)
	}
}

// lists wants a directory with anything in it.
func lists(dirs ...string) func(*Ground) error {
	return func(*Ground) error {
		for _, dir := range dirs {
			if len(names(dir)) > 0 {
				return nil
			}
		}
		return errAbsent
	}
}

func makes(paths ...string) func(*Ground) error {
	return func(*Ground) error {
		ways := make([]func() error, len(paths))
		for i, path := range paths {
			ways[i] = func() error {
				defer os.Remove(path)
				return closed(unix.Open(path, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o600))
			}
		}
		return anyOf(ways...)
	}
}

// controllers are files of every cgroup that is mounted, at its top.
func controllers(files ...string) (paths []string) {
	for _, dir := range cgroups() {
		for _, file := range files {
			paths = append(paths, filepath.Join(dir, file))
		}
	}
	return paths
}

func cgroups() []string {
	const top = "/sys/fs/cgroup"
	dirs := []string{top}
	for _, name := range names(top) {
		dirs = append(dirs, filepath.Join(top, name))
	}
	return dirs
}

func makeGroup(*Ground) error {
	var ways []func() error
	for _, dir := range cgroups() {
		ways = append(ways, func() error {
			made := filepath.Join(dir, "torno-probe")
			if err := unix.Mkdir(made, 0o755); err != nil {
				return err
			}
			return unix.Rmdir(made)
		})
	}
	return anyOf(ways...)
}

// leaveCore asks whether a crash would leave a core.
func leaveCore(*Ground) error {
	limit := unix.Rlimit{Cur: 1 << 20, Max: 1 << 20}
	return unix.Setrlimit(unix.RLIMIT_CORE, &limit)
}

// writable looks for any file below a place that could be opened for writing.
func writable(top string) func(*Ground) error {
	return func(*Ground) error {
		err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
			switch info, _ := os.Lstat(path); {
			case err != nil || info == nil || isProcess(path) || isMasked(path, info):
				return skip(entry)
			case info.Mode().IsRegular() && info.Mode()&0o222 != 0 && unix.Access(path, unix.W_OK) == nil:
				return errFound
			}
			return nil
		})
		if errors.Is(err, errFound) {
			return nil
		}
		return errAbsent
	}
}

// errFound ends a walk.
var errFound = errors.New("found")

func skip(entry fs.DirEntry) error {
	if entry != nil && entry.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// findSocket looks for a unix socket in the whole tree, and connects to it.
func findSocket(g *Ground) error {
	err := filepath.WalkDir("/", func(path string, entry fs.DirEntry, err error) error {
		switch info, _ := os.Lstat(path); { // the entry of a directory does not know of what is mounted there
		case err != nil || info == nil || path == "/proc" || path == "/sys" || path == filepath.Dir(g.Dir):
			return skip(entry)
		case info.Mode()&fs.ModeSocket != 0 && dial("unix", path) == nil:
			return errFound
		}
		return nil
	})
	if errors.Is(err, errFound) {
		return nil
	}
	return errAbsent
}

// engineID is how an engine names what it makes.
var engineID = regexp.MustCompile(`\b[0-9a-f]{64}\b`)
