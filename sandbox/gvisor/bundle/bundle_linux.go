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

// Recipe holds the parts of a bundle that can differ. Everything else in it is constant. So a bundle has no network, no
// capability, and no device except gVisor's own: a Recipe has no field for them (I1).
type Recipe struct {
	Root     string // directories and files under all mounts
	Nonce    string
	UID, GID uint32
	Mounts   []Bind  // the host's mounts, outermost first
	Places   []Place // the sandbox's kernel binds mounts over them later
	Covers   []string
	Doors    []string // paths where the agent finds sockets of the host
	Limits   sandbox.Limits
	Ordinary bool // an ordinary user starts it
}

// Bind is a place of the host. Writable means that something in it can be written; the kernel's mounts inside decide
// what.
type Bind struct {
	Source, Target string
	Writable, Dir  bool
	Deep           bool // together with the mounts below it
}

// LateDir holds the views whose mounts the sandbox's kernel binds at Places. It is closed to the sandbox's users, so
// that they reach such a mount only at its Place.
const LateDir = "/run/torno/late"

// Place is a directory or an empty file of the root.
type Place struct {
	Target string
	Dir    bool
}

// Config returns the runtime's configuration of a sandbox. It contains no filter of system calls, because gVisor's way
// with a list costs every start some hundredths of a second. Instead init brings the filter, and refuses to go on
// without one.
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

// shutIn gives an ordinary user's sandbox a user namespace of its own, which has no other user. In such a namespace a
// bind cannot leave out mounts inside its source, so all binds become recursive.
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
		Env:  []string{runfile.InitEnv}, // the agent's environment is in the run file
		Cwd:  "/",
		User: specs.User{UID: r.UID, GID: r.GID},
		// Empty sets, not nil: without sets a runtime may use a default.
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

// hidden are directories of gVisor's own that no agent needs: one has a device for tunnels, the other can save the
// sandbox.
var hidden = []string{"/dev/net", "/proc/gvisor"}

// ownMounts returns the file systems that the sandbox's kernel makes itself.
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

// doorsSize leaves room for the names of sockets.
const doorsSize = 64 << 10

// private returns a writable file system in the sandbox's memory. runsc accepts no bound for its number of files. But
// an empty file takes memory too, and the sandbox's memory is bounded.
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
