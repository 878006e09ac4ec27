package sandboxtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"torno/sandbox"
	"torno/test/prober/inside"
)

// check is one thing that a report from a sandbox must show. Outside of a sandbox every check must be false, and a test
// of ours makes sure of it: a check that also passes there would prove nothing.
type check struct {
	key  sandbox.GuaranteeKey // "" if every launcher must pass the check
	what string
	ok   func(inside.Report, scene) bool
}

// scene holds the facts that the host knows about the sandbox of a report.
type scene struct {
	spec       sandbox.Spec
	namespaces map[string]string // of the host
	ownKernel  bool              // the sandbox's kernel knows no nodev: it opens no device but its own
}

var checks = []check{
	{sandbox.NoCapabilities, "the agent has no capability", func(r inside.Report, _ scene) bool { return powerless(r.Agent) }},
	{sandbox.NoCapabilities, "init has no capability", func(r inside.Report, _ scene) bool { return powerless(r.Init) }},
	{sandbox.NoNewPrivileges, "nobody gains privileges", func(r inside.Report, _ scene) bool { return r.Agent.NoNewPrivs && r.Init.NoNewPrivs }},
	{sandbox.SyscallFilter, "agent and init are filtered", func(r inside.Report, _ scene) bool { return r.Agent.Seccomp == 2 && r.Init.Seccomp == 2 }},

	{"", "the agent is not root", func(r inside.Report, _ scene) bool { return ordinary(r.Agent) && ordinary(r.Init) }},
	{sandbox.OwnIdentity, "the agent is nobody of the host", func(r inside.Report, _ scene) bool { return everyID(r.Agent, 1<<16) }},
	{"", "the agent has a name, and it is the only one", func(r inside.Report, _ scene) bool {
		return r.User == "agent" && slices.Equal(r.Users, []string{"agent"})
	}},

	{"", "process 1 is init", func(r inside.Report, _ scene) bool { return r.InitName == "sandbox-init" }},
	{"", "the agent leads its session", func(r inside.Report, _ scene) bool { return r.SessionLeader }},
	{"", "the environment is the spec's", environmentIsTheSpecs},
	{"", "nothing is open but the standard streams", func(r inside.Report, _ scene) bool { return len(r.Descriptors) == 0 }},
	{"", "the directory is the spec's", func(r inside.Report, s scene) bool { return r.Dir == s.spec.Process.Dir }},
	{"", "the umask is the spec's", func(r inside.Report, s scene) bool { return r.Umask == s.spec.Process.Umask }},
	{sandbox.Namespaces, "the host's name is hidden", func(r inside.Report, _ scene) bool { return r.Hostname == "sandbox" }},
	{sandbox.Namespaces, "no namespace is the host's", ownNamespaces},

	{sandbox.NoNetwork, "only the loopback device is up", func(r inside.Report, _ scene) bool { return len(r.Up) == 0 || slices.Equal(r.Up, []string{"lo"}) }},
	{sandbox.NoNetwork, "no route leads anywhere", func(r inside.Report, _ scene) bool { return len(r.Routes) == 0 }},
	{sandbox.NoNetwork, "nobody is asked for names", func(r inside.Report, _ scene) bool { return len(r.Nameservers) == 0 }},

	{sandbox.ReadOnlyRoot, "the root is read-only", func(r inside.Report, _ scene) bool { return slices.Contains(r.Mounts["/"].Options, "ro") }},
	{sandbox.ReadOnlyRoot, "nothing can be written that is not the agent's", onlyPrivateWritable},
	{"", "no device but the harmless", onlyHarmlessDevices},
	{"", "nothing that was installed by hand is to be seen", func(r inside.Report, _ scene) bool { return len(r.Listings["/usr/local"]) == 0 }},
	{"", "no place of the host is to be seen", onlyKnownPlaces},
	{sandbox.MountsByHandle, "the workspace gives no privileges", workspaceHardened},
	{sandbox.PrivateTmp, "private file systems are bounded", privateBounded},

	{sandbox.OpenFilesLimit, "open files are bounded", func(r inside.Report, s scene) bool { return r.Rlimits["nofile"] == uint64(s.spec.Limits.OpenFiles) }},
	{sandbox.FileSizeLimit, "the size of a file is bounded", func(r inside.Report, s scene) bool { return r.Rlimits["fsize"] == uint64(s.spec.Limits.FileSize) }},
}

func powerless(s inside.Status) bool {
	return len(s.Capabilities) == 5 && !slices.ContainsFunc(slices.Collect(maps.Values(s.Capabilities)), func(set uint64) bool { return set != 0 })
}

func ordinary(s inside.Status) bool { return everyID(s, 1) }

// everyID reports whether every user and group id is at least bound.
func everyID(s inside.Status, bound int) bool {
	all := slices.Concat(s.Uids, s.Gids, s.Groups)
	return len(all) >= 8 && slices.Min(all) >= bound
}

func environmentIsTheSpecs(r inside.Report, s scene) bool {
	return slices.Equal(r.Environ, slices.Sorted(slices.Values(s.spec.Process.Env)))
}

func ownNamespaces(r inside.Report, s scene) bool {
	for kind, theirs := range s.namespaces {
		if r.Namespaces[kind] == theirs {
			return false
		}
	}
	return len(s.namespaces) > 0
}

// private lists the directories that an agent may write.
var private = []string{"/dev/shm", "/dev/mqueue", "/home/agent", "/tmp", "/workspace"}

// harmless lists the devices that an agent may see and write.
var harmless = []string{
	"/dev/console", "/dev/full", "/dev/null", "/dev/ptmx", "/dev/pts/ptmx", "/dev/random", "/dev/tty", "/dev/urandom", "/dev/zero",
}

func onlyPrivateWritable(r inside.Report, _ scene) bool {
	return len(others(r.Writable, append(private, harmless...))) == 0
}

func onlyHarmlessDevices(r inside.Report, _ scene) bool { return len(others(r.Devices, harmless)) == 0 }

// others returns the strings of all that are not in known.
func others(all, known []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(known, s) })
}

// places lists the names that a root may hold. Anything else there came from the host.
var places = []string{
	".dockerenv", "bin", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "proc", "run", "sbin", "sys", "tmp", "usr", "workspace",
}

func onlyKnownPlaces(r inside.Report, _ scene) bool {
	return len(others(r.Listings["/"], places)) == 0 && slices.Equal(r.Listings["/home"], []string{"agent"}) &&
		slices.Equal(r.Listings["/run"], []string{"torno"})
}

func workspaceHardened(r inside.Report, s scene) bool {
	m, mounted := r.Mounts[s.spec.WorkspaceMount().Target]
	return mounted && has(m, "nosuid") && (has(m, "nodev") || s.ownKernel) && has(m, "rw")
}

func has(m inside.Mount, option string) bool { return slices.Contains(m.Options, option) }

func privateBounded(r inside.Report, s scene) bool {
	for dir, size := range map[string]int64{
		"/tmp": s.spec.Limits.Tmp, "/home/agent": s.spec.Limits.Home, "/dev/shm": s.spec.Limits.Shm,
	} {
		m, mounted := r.Mounts[dir]
		if !mounted || m.Bytes != uint64(size) || !has(m, "nosuid") || !has(m, "nodev") && !s.ownKernel || !slices.Contains(r.Writable, dir) {
			return false
		}
	}
	return true
}

// found returns the part of a report that shows why a check failed.
func found(r inside.Report) string {
	lines := []string{
		"writable: " + strings.Join(others(r.Writable, append(private, harmless...)), " "),
		"devices: " + strings.Join(others(r.Devices, harmless), " "),
		"places: " + strings.Join(slices.Concat(r.Listings["/"], r.Listings["/home"], r.Listings["/run"]), " "),
	}
	for _, dir := range private {
		lines = append(lines, fmt.Sprintf("%s: writable %t, %d bytes, %v", dir, slices.Contains(r.Writable, dir), r.Mounts[dir].Bytes, r.Mounts[dir].Options))
	}
	return strings.Join(lines, "\n")
}
