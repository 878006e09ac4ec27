package doctor

import (
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// LookAtHost reads the facts about a machine from its files. root is the machine's root directory.
func LookAtHost(root fs.FS) Host {
	setting := func(name string) string { return line(root, "proc/sys/"+strings.ReplaceAll(name, ".", "/")) }
	return Host{
		Kernel: setting("kernel.osrelease"), Root: os.Geteuid() == 0, MayMount: mayMount(line(root, "proc/self/status")),
		Distribution:       distribution(line(root, "etc/os-release")),
		MaxUserNamespaces:  setting("user.max_user_namespaces"),
		UnprivilegedUserns: setting("kernel.unprivileged_userns_clone"),
		AppArmorUserns:     setting("kernel.apparmor_restrict_unprivileged_userns"),
		CorePattern:        setting("kernel.core_pattern"),
		InotifyInstances:   setting("fs.inotify.max_user_instances"),
		SwapKiB:            swap(line(root, "proc/meminfo")),
	}
}

// line returns a file's text without the white space around it, or "" if the file cannot be read.
func line(root fs.FS, name string) string {
	data, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// field returns the value of a name in a text with a name and a value on each line, or "".
func field(text, name, separator string) string {
	for entry := range strings.Lines(text) {
		if found, value, ok := strings.Cut(entry, separator); ok && found == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// capSysAdmin is the bit of CAP_SYS_ADMIN, the capability for mounting.
const capSysAdmin = 21

func mayMount(status string) bool {
	bits, err := strconv.ParseUint(field(status, "CapEff", ":"), 16, 64)
	return err == nil && bits&(1<<capSysAdmin) != 0
}

func distribution(release string) string {
	return strings.Trim(field(release, "PRETTY_NAME", "="), `"`)
}

func swap(meminfo string) int64 {
	kib, err := strconv.ParseInt(strings.TrimSuffix(field(meminfo, "SwapTotal", ":"), " kB"), 10, 64)
	if err != nil {
		return 0
	}
	return kib
}
