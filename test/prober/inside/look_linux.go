package inside

import (
	"errors"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Look writes the report. private are directories that the agent may write, whose content is of no interest.
func Look(private []string) (Report, error) {
	r := Report{Descriptors: descriptors()} // before anything else opens one
	for _, look := range []func(*Report) error{lookAtProcesses, lookAtSelf, lookAtFiles(private), lookAtNetwork} {
		if err := look(&r); err != nil {
			return r, err
		}
	}
	return r, nil
}

func lookAtProcesses(r *Report) error {
	agent, agentErr := status("self")
	init, initErr := status("1")
	name, nameErr := os.ReadFile("/proc/1/comm")
	r.Agent, r.Init, r.InitName = agent, init, strings.TrimSpace(string(name))
	return errors.Join(agentErr, initErr, nameErr)
}

func lookAtSelf(r *Report) (err error) {
	r.Environ = slices.Sorted(slices.Values(os.Environ()))
	sid, err := unix.Getsid(0)
	if err != nil {
		return err
	}
	r.SessionLeader = sid == os.Getpid()
	r.Umask = unix.Umask(0)
	unix.Umask(r.Umask)
	if r.Dir, err = os.Getwd(); err != nil {
		return err
	}
	if r.Hostname, err = os.Hostname(); err != nil {
		return err
	}
	if self, err := user.Current(); err == nil { // a uid without a name is a finding, not an error
		r.User = self.Username
	}
	r.Users = firstFields("/etc/passwd", ":")
	r.Namespaces = namespaces()
	r.Rlimits, err = rlimits()
	return err
}

func namespaces() map[string]string {
	all := make(map[string]string)
	for _, kind := range []string{"cgroup", "ipc", "mnt", "net", "pid", "uts"} {
		all[kind], _ = os.Readlink("/proc/self/ns/" + kind) // "" where it cannot be read
	}
	return all
}

func rlimits() (map[string]uint64, error) {
	all := make(map[string]uint64)
	for name, which := range map[string]int{"fsize": unix.RLIMIT_FSIZE, "nofile": unix.RLIMIT_NOFILE} {
		var limit unix.Rlimit
		if err := unix.Getrlimit(which, &limit); err != nil {
			return nil, err
		}
		all[name] = limit.Max
	}
	return all, nil
}

// descriptors are the open descriptors beyond the standard streams, without those of the runtime and of this function.
func descriptors() []string {
	var found []string
	entries, _ := os.ReadDir("/proc/self/fd") // without /proc the rest of the report fails loudly
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name()))
		if err == nil && !runtimes(target) && !slices.Contains([]string{"0", "1", "2"}, e.Name()) {
			found = append(found, target)
		}
	}
	return found
}

// runtimes says whether a descriptor is the Go runtime's, or the one that lists descriptors.
func runtimes(target string) bool {
	return strings.HasPrefix(target, "anon_inode:[event") || strings.HasPrefix(target, "/sys/fs/cgroup/") || strings.HasSuffix(target, "/fd")
}

// firstFields are the first fields of a file's lines; a file that cannot be read has none.
func firstFields(name, separator string) (fields []string) {
	content, _ := os.ReadFile(name)
	for line := range strings.Lines(string(content)) {
		field, _, _ := strings.Cut(strings.TrimSpace(line), separator)
		fields = append(fields, field)
	}
	return fields
}

// names are the entries of a directory, sorted; none where it cannot be read.
func names(dir string) []string {
	entries, _ := os.ReadDir(dir)
	all := make(map[string]bool)
	for _, e := range entries {
		all[e.Name()] = true
	}
	return slices.Sorted(maps.Keys(all))
}
