package doctor

import "torno/sandbox"

// System holds the facts about a machine. A fact that was not looked at is left out.
type System struct {
	Host Host

	Launchers []Launcher // what the profiles need, or may take

	// Guarantees is what each launcher enforces, and Asked by whose word.
	Guarantees    map[string]sandbox.Guarantees
	Asked         string
	LauncherError string // why there is no launcher

	// What is configured.
	User     uint32 // the watcher's user
	Profiles []Profile
	Outboxes []Outbox
	Accept   []sandbox.GuaranteeKey // what the operator does without
	UIDs     UIDs
	Problems []string // of the configuration, on this machine
	Warnings []string

	Running *Running // nil where no watcher runs

	Reaches []Reach
	Roots   []Root
	Left    []Leftover

	LeftError string // why nothing is known of what is left
}

// Host is the machine. Settings of the kernel are as they are written, and "" where the kernel does not have them.
type Host struct {
	Kernel       string // its release
	Root         bool   // we are root
	MayMount     bool   // we have the capability
	Distribution string // by its own name

	MaxUserNamespaces  string // user.max_user_namespaces
	UnprivilegedUserns string // kernel.unprivileged_userns_clone, of Debian and its kin
	AppArmorUserns     string // kernel.apparmor_restrict_unprivileged_userns
	CorePattern        string // kernel.core_pattern
	InotifyInstances   string // fs.inotify.max_user_instances
	SwapKiB            int64
}

// Nature is what never changes about a launcher.
type Nature struct {
	Title          string // "Docker"
	Program        bool   // it is a program that runs for each sandbox, and no daemon that takes commands
	UserNamespaces bool   // without root it mounts in a user namespace
	Fixes          string // of a Program: how its fixes are published
	Install        string // what makes it usable, in a few words
	Remedy         string // what to do where it cannot be used
}

// Launcher is a launcher as this machine has it: what its daemon or its program says of itself.
type Launcher struct {
	Nature

	Name    string // as profiles call it
	Trouble string // why it cannot be used; nothing else is known then
	Spare   bool   // no profile names it: some take what there is

	Socket      string
	Version     string
	API         string
	Machine     string // as the kernel calls it
	Arch        string // as Go does; "" where there are no sandboxes for it
	Runtime     string // that it starts sandboxes with
	RunsGVisor  bool   // that runtime is gVisor's
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
		Chosen         string // why it is this launcher, where the operator has left it to the watcher
		AtLeast        []sandbox.GuaranteeKey
	}
	// Outbox is a directory that the operator has served.
	Outbox struct {
		Name     string
		Profiles []string
		Owners   []uint32 // of workspaces
	}
)

// UIDs is the range of the sandboxes, and the users that have ids in it.
type UIDs struct {
	First, Last int64
	Users       []string // as in passwd(5)
	Ranges      []string // as in subuid(5)
}

// Reach is what a child found at an address.
type Reach struct {
	Profile string
	Address string // "unix:/path" or "tcp:1.2.3.4:80"
	What    string // is there
	Child   string // why the child did not reach it; "" is that it did
	Host    string // the same of the same program outside of a sandbox; "" is the oracle
	Error   string // why no child could try
}

// Root is a directory of the operator's.
type Root struct {
	Path       string
	Missing    bool
	FileSystem string // its kind
	Kind       string // the same as the mount has it, such as fuse.sshfs or virtiofs; "" where that is not known
	IDMap      string // why it cannot be mounted with exchanged ids; "" is that it was
	NotTried   bool   // whether it can: we may not mount
	Free, Size uint64 // bytes
	Quota      bool
	Error      string // why nothing else is known
}

// Running is the watcher that runs.
type Running struct {
	PID     int
	Version string
	Ours    string   // the version of this program
	Hidden  bool     // it has a mount namespace of its own
	Lines   []string // of its unit, that give it one: FILE: SETTING=VALUE
}

// Leftover is what an installation has left with a launcher.
type Leftover struct {
	Installation string
	State        string // the directory, as the label says
	Fate         Fate
	Containers   int
	Running      int
	Volumes      int
	Images       int
	Slots        []string
	Removal      string // what removes it; "" is the engine's own commands
}

// Fate is what became of an installation.
type Fate string

// The fates.
const (
	Alive    Fate = "alive"    // its state is there
	Gone     Fate = "gone"     // its state is not
	Replaced Fate = "replaced" // another installation has its state directory
	Unclear  Fate = "unclear"  // nothing says where its state was, or we may not look
)
