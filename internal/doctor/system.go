package doctor

import "torno/sandbox"

// System holds the facts about a machine. A fact that nobody looked at is left empty.
type System struct {
	Host Host

	Launchers []Launcher // the launchers that profiles name or may get

	// Guarantees holds the guarantees of each launcher. Asked names their source.
	Guarantees    map[string]sandbox.Guarantees
	Asked         string
	LauncherError string // why there is no launcher

	// The configuration.
	User     uint32 // the watcher's user
	Profiles []Profile
	Outboxes []Outbox
	Accept   []sandbox.GuaranteeKey // the limits that the operator does without
	UIDs     UIDs
	Problems []string // of the configuration, on this machine; also Warnings
	Warnings []string

	Running *Running // nil if no watcher runs

	Reaches []Reach
	Roots   []Root
	Left    []Leftover

	LeftError string // why nothing is known about leftovers
}

// Host holds facts about the machine. Settings of the kernel are as the kernel writes them, and "" if it does not have
// them.
type Host struct {
	Kernel       string // its release
	Root         bool   // we are root
	MayMount     bool   // we have the capability to mount
	Distribution string // the name that it gives itself

	MaxUserNamespaces  string // user.max_user_namespaces
	UnprivilegedUserns string // kernel.unprivileged_userns_clone, of Debian and its kin
	AppArmorUserns     string // kernel.apparmor_restrict_unprivileged_userns
	CorePattern        string // kernel.core_pattern
	InotifyInstances   string // fs.inotify.max_user_instances
	SwapKiB            int64
}

// Nature holds the facts about a launcher that never change.
type Nature struct {
	Title          string // "Docker"
	Program        bool   // it is a program that runs once for each sandbox, and not a daemon that takes commands
	UserNamespaces bool   // without root it mounts in a user namespace
	Fixes          string // for a Program: how its fixes are published
	Install        string // how to make it usable, in a few words
	Remedy         string // the step to take if it cannot be used
}

// Launcher holds the facts about a launcher on this machine, as its daemon or its program reports them.
type Launcher struct {
	Nature

	Name    string // as profiles call it
	Trouble string // why it cannot be used; nothing else is known then
	Spare   bool   // no profile names it, but some leave the choice to the watcher

	Socket      string
	Version     string
	API         string
	Machine     string // the architecture, as the kernel names it
	Arch        string // the architecture, as Go names it; "" if Torno has no sandboxes for it
	Runtime     string // the runtime that starts its sandboxes
	RunsGVisor  bool   // the runtime is gVisor's
	Seccomp     bool
	AppArmor    bool
	SELinux     bool
	Rootless    bool
	Remapped    bool // userns-remap
	Cgroups     string
	SwapLimit   bool
	BoundedLogs bool // it has the log driver "local"
	Warnings    []string
}

type (
	// Profile is a recipe that the operator offers.
	Profile struct {
		Name, Launcher string
		Chosen         string // why the watcher chose this launcher; "" if the operator named it
		AtLeast        []sandbox.GuaranteeKey
	}
	// Outbox is a directory that the watcher is to serve.
	Outbox struct {
		Name     string
		Profiles []string
		Owners   []uint32 // the users to whom workspaces may belong
	}
)

// UIDs is the range of the sandboxes' ids, with the users of this machine that have ids in it.
type UIDs struct {
	First, Last int64
	Users       []string // from passwd(5), in words
	Ranges      []string // from subuid(5), in words
}

// Reach is the result of a child that tried to reach an address.
type Reach struct {
	Profile string
	Address string // "unix:/path" or "tcp:1.2.3.4:80"
	What    string // the thing at this address
	Child   string // why the child did not reach it; "" means that it did
	Host    string // why the same program did not reach it outside of a sandbox; "", which proves the most, means that it did
	Error   string // why no child could try
}

// Root is a directory that the configuration names.
type Root struct {
	Path       string
	Missing    bool
	FileSystem string // the kind of file system, by its number in the kernel
	Kind       string // the kind as the mount names it, such as fuse.sshfs or virtiofs; "" if it is not known
	IDMap      string // why it cannot be mounted with exchanged ids; "" means that it was, unless NotTried
	NotTried   bool   // IDMap is not known, because we may not mount
	Free, Size uint64 // bytes
	Quota      bool
	Error      string // why nothing else is known
}

// Running describes the running watcher.
type Running struct {
	PID     int
	Version string
	Ours    string   // the version of this program
	Hidden  bool     // it has a mount namespace of its own
	Lines   []string // the lines of its unit that give it one, as FILE: SETTING=VALUE
}

// Leftover lists the things that an installation has left with a launcher.
type Leftover struct {
	Installation string
	State        string // the installation's state directory, if the launcher knows it
	Fate         Fate
	Containers   int
	Running      int
	Volumes      int
	Images       int
	Slots        []string
	Removal      string // the command that removes it; "" means the engine's own commands
}

// Fate tells whether an installation still has its state directory.
type Fate string

// The fates.
const (
	Alive    Fate = "alive"    // its state directory is there
	Gone     Fate = "gone"     // its state directory is not there
	Replaced Fate = "replaced" // another installation has its state directory
	Unclear  Fate = "unclear"  // nothing tells where its state directory was, or we may not look
)
