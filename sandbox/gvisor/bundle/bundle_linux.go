package bundle

import (
	"fmt"
	"slices"

	"github.com/opencontainers/runtime-spec/specs-go"

	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/local"
	"torno/sandbox/local/hostroot"
)

// Recipe is what a bundle is made from. Everything else in it is constant: a bundle has no network, no capability and no
// device that is not gVisor's own, because nothing here could say so (I1).
type Recipe struct {
	Root     string // directories and files that lie under all mounts
	Nonce    string
	UID, GID uint32
	Mounts   []Bind  // what the host gives, outermost first
	Places   []Place // over which the sandbox's kernel is to bind something later
	Covers   []string
	Doors    []string // where the agent finds sockets of the host's
	Limits   sandbox.Limits
	Ordinary bool // an ordinary user starts it
}

// Bind is a place of the host's. Writable says that something in it can be written: the kernel's mounts in it say what.
type Bind struct {
	Source, Target string
	Writable, Dir  bool
	Deep           bool // with what is mounted below it
}

// LateDir is where views lie whose mounts the sandbox's kernel binds at Places. To the sandbox's users it is closed, so that they find what
// was bound there and nowhere else.
const LateDir = "/run/torno/late"

// Place is a directory or an empty file of the root.
type Place struct {
	Target string
	Dir    bool
}

// Config is the runtime's configuration of a sandbox. It has no filter of system calls: gVisor's way with a list costs
// every start some hundredths of a second, so init brings the program, and refuses to go on without one.
func (r Recipe) Config() *specs.Spec {
	spec := &specs.Spec{
		Version:  specs.Version,
		Hostname: hostroot.Hostname,
		Root:     &specs.Root{Path: r.Root, Readonly: true},
		Process:  process(r),
		Mounts:   append(ownMounts(r), hostMounts(r.Mounts)...),
		Linux: &specs.Linux{
			Namespaces: []specs.LinuxNamespace{
				{Type: specs.PIDNamespace},
				{Type: specs.NetworkNamespace},
				{Type: specs.IPCNamespace},
				{Type: specs.UTSNamespace},
				{Type: specs.MountNamespace},
				{Type: specs.CgroupNamespace},
			},
		},
	}
	if r.Ordinary {
		shutIn(spec, r)
	}
	return spec
}

// shutIn gives an ordinary user's sandbox a user namespace of its own, without any other user. A mount that was placed in another
// one cannot be left out there when that is bound again.
func shutIn(spec *specs.Spec, r Recipe) {
	spec.Linux.Namespaces = append(spec.Linux.Namespaces, specs.LinuxNamespace{Type: specs.UserNamespace})
	spec.Linux.UIDMappings = []specs.LinuxIDMapping{{ContainerID: r.UID, HostID: r.UID, Size: 1}}
	spec.Linux.GIDMappings = []specs.LinuxIDMapping{{ContainerID: r.GID, HostID: r.GID, Size: 1}}
	for _, mount := range spec.Mounts {
		if at := slices.Index(mount.Options, "bind"); at >= 0 {
			mount.Options[at] = "rbind"
		}
	}
}

func process(r Recipe) *specs.Process {
	return &specs.Process{
		Args: []string{runfile.Init, r.Nonce},
		Env:  []string{runfile.InitEnv}, // the agent's is in the run file
		Cwd:  "/",
		User: specs.User{UID: r.UID, GID: r.GID},
		// Empty sets, and not none: without them a runtime may have a default.
		Capabilities:    &specs.LinuxCapabilities{},
		NoNewPrivileges: true,
		Rlimits: []specs.POSIXRlimit{
			rlimit("RLIMIT_CORE", 0),
			rlimit("RLIMIT_FSIZE", r.Limits.FileSize),
			rlimit("RLIMIT_NOFILE", r.Limits.OpenFiles),
			rlimit("RLIMIT_NPROC", r.Limits.Pids+runfile.Tasks),
			rlimit("RLIMIT_MSGQUEUE", local.MessageBytes),
			rlimit("RLIMIT_SIGPENDING", local.PendingSignals),
		},
	}
}

func rlimit(name string, value int64) specs.POSIXRlimit {
	return specs.POSIXRlimit{Type: name, Hard: uint64(value), Soft: uint64(value)}
}

// hidden are directories of gVisor's own that no agent needs: a device for tunnels, and how to save the sandbox.
var hidden = []string{"/dev/net", "/proc/gvisor"}

// ownMounts are file systems that the sandbox's kernel makes itself.
func ownMounts(r Recipe) []specs.Mount {
	own := []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc", Options: []string{"nosuid", "nodev", "noexec"}},
		{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "noexec"}},
		{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"nosuid", "nodev", "noexec", "ro"}},
		private(r, "/dev/shm", 0o1777, r.Limits.Shm),
		private(r, "/tmp", 0o1777, r.Limits.Tmp),
		private(r, sandbox.Home, 0o700, r.Limits.Home),
	}
	for _, target := range hidden {
		own = append(own, specs.Mount{Destination: target, Type: "tmpfs", Source: "tmpfs", Options: []string{"ro", "mode=0000", "size=4096"}})
	}
	if len(r.Doors) > 0 {
		own = append(own, private(r, runfile.DoorsDir, 0o700, doorsSize))
	}
	for _, target := range r.Covers {
		own = append(own, private(r, target, 0o700, r.Limits.Tmp))
	}
	return own
}

// doorsSize is room for the names of sockets.
const doorsSize = 64 << 10

// private is a writable file system in the sandbox's memory. How many files it holds runsc takes no bound for: a file
// without a byte takes memory, too, and that of the sandbox is bounded.
func private(r Recipe, target string, mode int, size int64) specs.Mount {
	return specs.Mount{Destination: target, Type: "tmpfs", Source: "tmpfs", Options: []string{
		"nosuid", "nodev", fmt.Sprintf("mode=%04o", mode), fmt.Sprintf("uid=%d", r.UID), fmt.Sprintf("gid=%d", r.GID),
		fmt.Sprintf("size=%d", size),
	}}
}

func hostMounts(binds []Bind) []specs.Mount {
	var all []specs.Mount
	for _, b := range binds {
		mode, how := "ro", "bind"
		if b.Writable {
			mode = "rw"
		}
		if b.Deep {
			how = "rbind"
		}
		all = append(all, specs.Mount{
			Destination: b.Target, Type: "bind", Source: b.Source, Options: []string{how, "nosuid", "nodev", mode},
		})
	}
	return all
}
