package doctor

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"torno/sandbox"
)

// fit is a machine with nothing to be said against it.
func fit() System {
	return System{
		Host: Host{
			Kernel: "6.1.0-18-amd64", MayMount: true, MaxUserNamespaces: "1000", CorePattern: "core", InotifyInstances: "128",
		},
		Launchers: []Launcher{{
			Nature: Nature{Title: "Docker", Remedy: "start Docker"},
			Socket: "/run/docker.sock", Version: "29.5.1", API: "1.51", Machine: "x86_64", Arch: "amd64", Runtime: "runc",
			Seccomp: true, AppArmor: true, Cgroups: "2", BoundedLogs: true,
		}},
		Guarantees: map[string]sandbox.Guarantees{"docker": all(sandbox.GuaranteeKeys)},
		Asked:      "the test",
		Profiles:   []Profile{{Name: "p", Launcher: "docker", AtLeast: []sandbox.GuaranteeKey{sandbox.MemoryLimit}}},
		Outboxes:   []Outbox{{Name: "o", Profiles: []string{"p"}, Owners: []uint32{1000}}},
		UIDs:       UIDs{First: 2_000_000_000, Last: 2_000_000_256},
		Reaches:    []Reach{{Profile: "p", Address: "unix:/run/docker.sock", What: "the engine's socket", Child: "no such file"}},
		Roots:      []Root{{Path: "/srv/o", FileSystem: "ext4", Free: 50 << 30, Size: 100 << 30, Quota: true}},
		Left:       []Leftover{{Installation: "0123456789abcdef", State: "/s", Fate: Alive, Volumes: 1}},
	}
}

func all(keys []sandbox.GuaranteeKey) sandbox.Guarantees {
	g := sandbox.Guarantees{}
	for _, key := range keys {
		g[key] = sandbox.Guarantee{Enforced: true, By: "the test"}
	}
	return g
}

// without makes a launcher that does not enforce a key.
func without(s *System, keys ...sandbox.GuaranteeKey) {
	for _, key := range keys {
		s.Guarantees["docker"][key] = sandbox.Guarantee{By: "there is a reason"}
	}
}

// byPath makes a launcher that mounts by path, and shares the host's kernel with its children.
func byPath(s *System) {
	without(s, sandbox.OwnIdentity, sandbox.MountsByHandle, sandbox.KernelIsolation)
}

// ordinary makes the watcher an ordinary user's, user 1000's, with gVisor.
func ordinary(s *System) {
	s.Host.MayMount, s.Roots[0].NotTried, s.User = false, true, 1000
	s.Launchers = []Launcher{gVisor("")}
	without(s, sandbox.OwnIdentity)
}

func TestNothingIsSaidAgainstAFitMachine(t *testing.T) {
	s := fit()
	found := Examine(s)
	for _, f := range found {
		if f.Verdict != OK || f.Refuses || f.Seen == "" || f.Means == "" || f.Group == "" {
			t.Errorf("%+v", f)
		}
	}
	for _, name := range Names() {
		if !slices.ContainsFunc(found, func(f Finding) bool { return f.Name == name }) {
			t.Errorf("nothing is said of %s", name)
		}
	}
	if IsBad(found) || Unfit(s.Launchers[0]) != nil || Start(s) != nil {
		t.Errorf("it is refused: %v, %v", Unfit(s.Launchers[0]), Start(s))
	}
}

// complaint is what the doctor has to say of one thing that is wrong.
type complaint struct {
	check   string
	verdict Verdict
	says    string // in what was seen, what it means or what to do
	refuses bool
	spoil   func(*System)
}

var complaints = map[string]complaint{
	"another version runs": {"watcher", Warn, "v1, and this program of v2", false, func(s *System) { s.Running = &Running{PID: 7, Version: "v1", Ours: "v2"} }},
	"a unit hides mounts": {"watcher", Warn, "take out of its unit /etc/x.conf: PrivateTmp=yes; then", false, func(s *System) {
		byPath(s)
		s.Running = &Running{PID: 7, Hidden: true, Lines: []string{"/etc/x.conf: PrivateTmp=yes"}}
	}},
	"a virtual machine's share":           {"file_system", Warn, "is on virtiofs, which is", false, func(s *System) { s.Roots[0].FileSystem, s.Roots[0].Kind = "fuse", "virtiofs" }},
	"a share without a word of its mount": {"file_system", Warn, "is on nfs, which is", false, func(s *System) { s.Roots[0].FileSystem = "nfs" }},
	"no engine": {"engine", Bad, "nobody listens", true, func(s *System) {
		s.Launchers[0] = Launcher{Nature: Nature{Title: "Docker", Remedy: "start Docker"}, Trouble: "nobody listens"}
	}},
	"no spare engine": {"engine", OK, "nobody listens", false, func(s *System) {
		s.Launchers = append(s.Launchers, gVisor(""))
		s.Launchers[0] = Launcher{Nature: Nature{Title: "Docker", Remedy: "start Docker"}, Trouble: "nobody listens", Spare: true}
	}},
	"a spare launcher too many": {"engine", OK, "gVisor release-20260901.0, at /usr/bin/runsc", false, func(s *System) { s.Launchers = append(s.Launchers, gVisor("")) }},
	"neither launcher": {"engine", Bad, "there is no runsc", true, func(s *System) {
		s.Launchers = []Launcher{{Trouble: "nobody listens", Spare: true}, gVisor("there is no runsc")}
	}},
	"no gVisor": {"engine", Bad, "launched by Docker", true, func(s *System) {
		s.Launchers[0] = Launcher{Nature: program, Name: "gvisor", Trouble: "there is no runsc"}
	}},
	"gVisor elsewhere": {"architecture", Bad, "riscv64", true, func(s *System) { s.Launchers[0] = Launcher{Nature: program, Name: "gvisor", Machine: "riscv64"} }},
	"an old gVisor":    {"runtime", OK, "few months", false, func(s *System) { s.Launchers = []Launcher{gVisor("")} }},
	"gVisor is taken": {"choice", OK, "profile p takes gvisor: no Docker engine answers", false, func(s *System) {
		s.Profiles[0].Launcher, s.Profiles[0].Chosen = "gvisor", "no Docker engine answers"
	}},
	"neither will do": {"demands", Bad, "offers q (docker does not enforce cpu; gvisor does not enforce cpu)", true, func(s *System) {
		demand(s, "q")
		s.Profiles[1].Chosen, s.Outboxes[0].Profiles = "docker does not enforce cpu; gvisor does not enforce cpu", []string{"q"}
	}},
	"what gVisor has left": {"left_behind", Warn, "kill it", false, func(s *System) { s.Left[0].Fate, s.Left[0].Removal = Gone, "kill it" }},
	"another processor":    {"architecture", Bad, "riscv64", true, func(s *System) { s.Launchers[0].Arch, s.Launchers[0].Machine = "", "riscv64" }},
	"no seccomp":           {"seccomp", Bad, "filters no system calls", true, func(s *System) { s.Launchers[0].Seccomp = false }},
	"rootless":             {"user_remapping", Bad, "rootless", true, func(s *System) { s.Launchers[0].Rootless = true }},
	"userns-remap":         {"user_remapping", Bad, "foreign owners", true, func(s *System) { s.Launchers[0].Remapped = true }},
	"endless logs":         {"log_driver", Bad, "fill the disk", true, func(s *System) { s.Launchers[0].BoundedLogs = false }},
	"no module":            {"security_module", Warn, "neither AppArmor nor SELinux", false, func(s *System) { s.Launchers[0].AppArmor = false }},
	"SELinux":              {"security_module", OK, "container_file_t", false, func(s *System) { s.Launchers[0].AppArmor, s.Launchers[0].SELinux = false, true }},
	"no cgroups":           {"cgroups", Unknown, `"none"`, false, func(s *System) { s.Launchers[0].Cgroups = "none" }},
	"another runtime":      {"runtime", Unknown, "kata", false, func(s *System) { s.Launchers[0].Runtime = "kata" }},
	"gVisor":               {"runtime", Bad, "look", true, func(s *System) { s.Launchers[0].Runtime, s.Launchers[0].RunsGVisor = "runsc", true }},

	"a user in the range":   {"uids", Bad, "user x has uid 5", true, func(s *System) { s.UIDs.Users = []string{"user x has uid 5"} }},
	"a user, by path":       {"uids", Warn, "no child gets one of these uids", false, func(s *System) { s.UIDs.Users = []string{"user x"}; byPath(s) }},
	"a range in the range":  {"uids", Warn, "subuid of x", false, func(s *System) { s.UIDs.Ranges = []string{"subuid of x"} }},
	"a network":             {"walls", Bad, "no_network: there is a reason", true, func(s *System) { without(s, sandbox.NoNetwork) }},
	"no filter":             {"walls", Bad, "syscall_filter", true, func(s *System) { without(s, sandbox.SyscallFilter) }},
	"no pids limit":         {"bounds", Bad, "--accept pids", true, func(s *System) { without(s, sandbox.PidsLimit) }},
	"no memory limit":       {"bounds", Bad, "accept: [memory]", true, func(s *System) { without(s, sandbox.MemoryLimit); s.Accept = []sandbox.GuaranteeKey{sandbox.PidsLimit} }},
	"it is accepted":        {"bounds", Bad, "accepts that", false, func(s *System) { without(s, sandbox.PidsLimit); s.Accept = []sandbox.GuaranteeKey{sandbox.PidsLimit} }},
	"a demand":              {"demands", Bad, "profile q demands cpu: there is a reason", false, func(s *System) { demand(s, "q"); s.Outboxes[0].Profiles = []string{"p", "q"} }},
	"an outbox for nobody":  {"demands", Bad, "nothing could ever run", true, func(s *System) { demand(s, "q"); s.Outboxes[0].Profiles = []string{"q"} }},
	"by path":               {"owners", Warn, "as user 1000: there is a reason", false, byPath},
	"by path, as root":      {"owners", Bad, "no child runs as root", true, func(s *System) { byPath(s); s.Outboxes[0].Owners = []uint32{0} }},
	"by path, not yet":      {"owners", Unknown, "does not exist yet", false, func(s *System) { byPath(s); s.Outboxes[0].Owners = nil }},
	"not root":              {"owners", Warn, "as a user with nothing else here", false, ordinary},
	"not root, not yet":     {"owners", Warn, "as user 1000", false, func(s *System) { ordinary(s); s.Outboxes[0].Owners = nil }},
	"not root, nor owner":   {"owners", Bad, "give the outbox to user 1000", true, func(s *System) { ordinary(s); s.Outboxes[0].Owners = []uint32{0, 7} }},
	"one of two is not":     {"owners", Bad, "give the outbox to user 1000", false, oneOfTwo},
	"not root, no groups":   {"bounds", Bad, "Delegate=yes", true, func(s *System) { ordinary(s); without(s, sandbox.MemoryLimit) }},
	"not root, no idmaps":   {"idmap", OK, "no ids are exchanged", false, ordinary},
	"not root, inotify":     {"inotify", OK, "a kernel of its own", false, ordinary},
	"not root, namespaces":  {"user_namespaces", OK, "for each sandbox of gVisor", false, ordinary},
	"not root, and none":    {"unprivileged_namespaces", Warn, "apparmor_restrict", false, func(s *System) { ordinary(s); s.Host.AppArmorUserns = "1" }},
	"nothing is known":      {"walls", Unknown, "it broke", false, func(s *System) { s.Guarantees, s.LauncherError = nil, "it broke" }},
	"mounts do not arrive":  {"mounting", Warn, "we may mount; there is a reason", false, func(s *System) { without(s, sandbox.MountsByHandle) }},
	"we may not mount":      {"mounting", Warn, "we may not mount", false, func(s *System) { s.Host.MayMount = false; without(s, sandbox.MountsByHandle) }},
	"a hole":                {"reach", Bad, "the wall has a hole", false, func(s *System) { s.Reaches[0].Child = "" }},
	"a dead oracle":         {"reach", OK, "proves little", false, func(s *System) { s.Reaches[0].Host = "connection refused" }},
	"no child":              {"reach", Unknown, "it broke", false, func(s *System) { s.Reaches[0].Error = "it broke" }},
	"nobody tried":          {"reach", Unknown, "no child has tried", false, func(s *System) { s.Reaches = nil }},
	"a wrong configuration": {"configuration", Bad, "outboxes.o.dir: is gone", false, func(s *System) { s.Problems = []string{"outboxes.o.dir: is gone"} }},
	"an odd configuration":  {"configuration", Warn, "holds .ssh", false, func(s *System) { s.Warnings = []string{"holds .ssh"} }},

	"an old kernel":       {"kernel", Warn, "5.12", false, func(s *System) { s.Host.Kernel = "5.10.0-28-amd64" }},
	"an odd kernel":       {"kernel", Unknown, `"next"`, false, func(s *System) { s.Host.Kernel = "next" }},
	"no namespaces":       {"user_namespaces", Warn, "= 0", false, func(s *System) { s.Host.MaxUserNamespaces = "0" }},
	"hidden namespaces":   {"user_namespaces", Unknown, "cannot be read", false, func(s *System) { s.Host.MaxUserNamespaces = "" }},
	"Debian's switch":     {"unprivileged_namespaces", OK, "unprivileged_userns_clone = 0", false, func(s *System) { s.Host.UnprivilegedUserns = "0" }},
	"Ubuntu's switch":     {"unprivileged_namespaces", OK, "apparmor_restrict", false, func(s *System) { s.Host.AppArmorUserns = "1" }},
	"a crash handler":     {"core_pattern", Warn, "apport", false, func(s *System) { s.Host.CorePattern = "|/usr/share/apport/apport" }},
	"a hidden pattern":    {"core_pattern", Unknown, "cannot be read", false, func(s *System) { s.Host.CorePattern = "" }},
	"inotify by path":     {"inotify", Warn, "128, by path", false, byPath},
	"hidden inotify":      {"inotify", Unknown, "unknown", false, func(s *System) { s.Host.InotifyInstances = "" }},
	"swap":                {"swap", Warn, "1024 MiB of swap", false, func(s *System) { without(s, sandbox.SwapLimit); s.Host.SwapKiB = 1 << 20 }},
	"no swap to count":    {"swap", OK, "has no swap", false, func(s *System) { without(s, sandbox.SwapLimit) }},
	"swap and nobody":     {"swap", Unknown, "no launcher", false, func(s *System) { s.Guarantees, s.Host.SwapKiB = nil, 1 }},
	"no idmap":            {"idmap", Warn, "mount_setattr: invalid argument", false, func(s *System) { s.Roots[0].IDMap = "mount_setattr: invalid argument" }},
	"idmap not tried":     {"idmap", Unknown, "was not tried", false, func(s *System) { s.Roots[0].NotTried = true }},
	"a root is missing":   {"space", Unknown, "does not exist yet", false, func(s *System) { s.Roots[0].Missing = true }},
	"a root is shut":      {"quota", Unknown, "permission denied", false, func(s *System) { s.Roots[0].Error = "permission denied" }},
	"little space":        {"space", Warn, "0.5 GiB", false, func(s *System) { s.Roots[0].Free, s.Roots[0].Size = 512<<20, 2<<30 }},
	"a small share":       {"space", Warn, "can fill", false, func(s *System) { s.Roots[0].Free = 4 << 30 }},
	"no quota":            {"quota", OK, "prjquota", false, func(s *System) { s.Roots[0].Quota = false }},
	"quotas out of sight": {"quota", Unknown, "btrfs", false, func(s *System) { s.Roots[0].FileSystem = "btrfs" }},
	"a lost installation": {"left_behind", Warn, "docker -H 'unix:///run/docker.sock' volume rm $(", false, func(s *System) { s.Left[0].Fate = Gone }},
	"a replaced one":      {"left_behind", Warn, "belongs to another installation", false, func(s *System) { s.Left[0].Fate = Replaced }},
	"an unclear one":      {"left_behind", Unknown, "watcher purge --state DIR", false, func(s *System) { s.Left[0].Fate = Unclear }},
	"nobody answers":      {"left_behind", Unknown, "it broke", false, func(s *System) { s.Left, s.LeftError = nil, "it broke" }},
	"nobody was asked":    {"left_behind", Unknown, "no engine", false, func(s *System) { s.Launchers, s.Left = nil, nil }},
}

// program is what gVisor is.
var program = Nature{
	Title: "gVisor", Program: true, UserNamespaces: true, Fixes: "keep it younger than a few months",
	Remedy: "mend that, or have profiles launched by Docker",
}

// gVisor is a launcher without a daemon.
func gVisor(trouble string) Launcher {
	if trouble != "" {
		return Launcher{Nature: program, Name: "gvisor", Trouble: trouble, Spare: true}
	}
	return Launcher{Nature: program, Name: "gvisor", Runtime: "runsc", Socket: "/usr/bin/runsc", Version: "release-20260901.0", Arch: "amd64", Spare: true}
}

// oneOfTwo is an outbox that Docker can have children for, and gVisor cannot.
func oneOfTwo(s *System) {
	ordinary(s)
	s.Outboxes[0].Owners = []uint32{7}
	s.Guarantees["gvisor"], s.Guarantees["docker"] = s.Guarantees["docker"], all(sandbox.GuaranteeKeys)
}

// demand adds a profile that demands what is not enforced.
func demand(s *System, name string) {
	s.Profiles = append(s.Profiles, Profile{Name: name, Launcher: "docker", AtLeast: []sandbox.GuaranteeKey{sandbox.CPULimit}})
	without(s, sandbox.CPULimit)
}

func TestComplaints(t *testing.T) {
	for name, want := range complaints {
		t.Run(name, func(t *testing.T) {
			s := fit()
			want.spoil(&s)
			found := slices.DeleteFunc(Examine(s), func(f Finding) bool { return f.Name != want.check || f.Verdict != want.verdict })
			i := slices.IndexFunc(found, func(f Finding) bool { return strings.Contains(f.Seen+"\n"+f.Means+"\n"+f.Do+"\n"+f.Accept, want.says) })
			if i < 0 {
				t.Fatalf("%s is not %s for %q: %+v", want.check, want.verdict, want.says, found)
			}
			f := found[i]
			if f.Refuses != want.refuses || f.Means == "" || f.Do == "" && (f.Verdict == Bad || f.Verdict == Warn) {
				t.Errorf("%+v", f)
			}
			var refused *RefusedError
			isRefused := errors.As(Start(s), &refused) || len(s.Launchers) > 0 && s.Launchers[0].Trouble == "" && errors.As(Unfit(s.Launchers[0]), &refused)
			if isRefused != (want.refuses && len(s.Launchers) > 0 && s.Launchers[0].Trouble == "") {
				t.Errorf("a start is refused: %v, %v", isRefused, refused)
			}
		})
	}
}

// TestEveryVerdictIsTried: a check without a complaint in these cases was never seen to complain.
func TestEveryVerdictIsTried(t *testing.T) {
	for _, name := range Names() {
		tried := false
		for _, c := range complaints {
			tried = tried || c.check == name
		}
		if !tried {
			t.Errorf("nothing is ever wrong with %s", name)
		}
	}
	names := slices.Sorted(slices.Values(Names()))
	if len(slices.Compact(names)) != len(Names()) {
		t.Errorf("a name is there twice: %v", names)
	}
}

// TestNoSwitchTakesAWallDown: what can be accepted is limits.
func TestNoSwitchTakesAWallDown(t *testing.T) {
	for _, key := range walls {
		s := fit()
		s.Accept = append(slices.Clone(sandbox.GuaranteeKeys), key)
		without(&s, key)
		var refused *RefusedError
		if !errors.As(Start(s), &refused) || strings.Contains(refused.Next(), "accept") || refused.Findings[0].Accept != "" {
			t.Errorf("%s: %v", key, refused)
		}
		if slices.Contains(sandbox.Acceptable, key) {
			t.Errorf("%s is a wall and can be done without", key)
		}
	}
}

func TestARefusalSaysWhatToDo(t *testing.T) {
	s := fit()
	without(&s, sandbox.PidsLimit, sandbox.MemoryLimit)
	var refused *RefusedError
	if !errors.As(Start(s), &refused) {
		t.Fatal("it starts")
	}
	const limit = "one child can take the whole machine down (bounds: docker does not enforce a limit for memory: there is a reason; docker does not enforce a limit for pids: there is a reason)"
	if text := refused.Error(); !strings.Contains(text, limit) {
		t.Errorf("it says %q", text)
	}
	if got := refused.Accepting(); got != nil {
		t.Errorf("--accept %v does not help against the demands", got)
	}
	s.Profiles[0].AtLeast = nil
	if !errors.As(Start(s), &refused) || !slices.Equal(refused.Accepting(), []string{"memory", "pids"}) || !refused.OfMachine() {
		t.Errorf("without demands it is %v", refused)
	}
	if next := refused.Next(); strings.Count(next, "switch the cgroup controller on") != 1 || !strings.Contains(next, "--accept memory") || !strings.Contains(next, "--accept pids") {
		t.Errorf("next is %q", next)
	}
}

func TestLeftoversAreCounted(t *testing.T) {
	l := Leftover{Installation: "i", State: "/s", Fate: Gone, Containers: 3, Running: 1, Volumes: 2, Images: 1, Slots: []string{"1", "4"}}
	f := l.judge(Launcher{Socket: "/a b/it's.sock"})
	if want := "installation i has 3 containers, 2 volumes, 1 image, 1 of them running, in slots 1 4"; f.Seen != want {
		t.Errorf("seen is %q", f.Seen)
	}
	for _, command := range []string{`docker -H 'unix:///a b/it'\''s.sock' rm -fv $(`, "volume rm $(", " && ", "rmi $(", "label=torno.installation=i)"} {
		if !strings.Contains(f.Do, command) {
			t.Errorf("%q is not in %q", command, f.Do)
		}
	}
}
