package inside

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// nameProbes look for what tells where we are.
func nameProbes() []probe {
	return []probe{
		{"C20", "the host's name", hostName},
		{"C20", "an id of the engine's, as a host name", shortID},
		{"C20", "an id of the engine's, in cgroups", mentions(engineID.MatchString, "/proc/self/cgroup", "/proc/1/cgroup")},
		{"C20", "an id of the engine's, in the environment", func(*Ground) error { return found(engineID.MatchString(strings.Join(os.Environ(), "\n"))) }},
		{"C20", "the kernel's command line", reads("/proc/cmdline")},
		{"C20", "the machine's interrupts", reads("/proc/interrupts")},
		{"C20", "the machine's locks", optional(reads("/proc/locks"))},
		{"C20", "the machine's timers", optional(reads("/proc/timer_list"))},
		{"C20", "the machine's scheduler", optional(reads("/proc/sched_debug", "/sys/kernel/debug/sched/debug"))},
		{"C20", "the machine's pressure", optional(reads("/proc/pressure/cpu"))},
		{"C20", "the machine's firmware", optional(lists("/sys/firmware"))},
		{"C20", "the machine's id", optional(reads("/etc/machine-id", "/var/lib/dbus/machine-id", "/sys/class/dmi/id/product_uuid"))},
		{"C27", "the boot's id", reads("/proc/sys/kernel/random/boot_id")},
		{"C27", "the kernel's version", reads("/proc/version")},
		{"C27", "the machine's load", reads("/proc/loadavg")},
		{"C27", "where mounts lie on the host, and the engine's ids in that", mentions(engineID.MatchString, "/proc/self/mountinfo")},
	}
}

func found(yes bool) error {
	if yes {
		return nil
	}
	return errAbsent
}

// mentions wants a line in one of the files.
func mentions(what func(line string) bool, files ...string) func(*Ground) error {
	return func(*Ground) error {
		for _, file := range files {
			content, _ := os.ReadFile(file)
			for line := range strings.Lines(string(content)) {
				if what(line) {
					return nil
				}
			}
		}
		return errAbsent
	}
}

// ownNames are all that this machine says that it is called.
func ownNames() string {
	var own unix.Utsname
	_ = unix.Uname(&own)
	text := unix.ByteSliceToString(own.Nodename[:]) + "\n" + unix.ByteSliceToString(own.Domainname[:])
	for _, file := range []string{"/etc/hostname", "/etc/hosts"} {
		content, _ := os.ReadFile(file)
		text += "\n" + string(content)
	}
	return text
}

func hostName(g *Ground) error {
	for word := range strings.FieldsSeq(ownNames()) {
		if word == g.Hostname {
			return nil
		}
	}
	return errAbsent
}

// shortID is how engines name containers without a name.
func shortID(*Ground) error {
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	return found(len(name) == 12 && strings.Trim(name, "0123456789abcdef") == "")
}
