//go:build linux

package gvisor

import (
	"fmt"

	"github.com/opencontainers/runtime-spec/specs-go"

	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/local"
	"torno/sandbox/local/hostroot"
)

// recipe is what a bundle is made from. Everything else in it is constant: a bundle has no network, no capability and no
// device that is not gVisor's own, because nothing here could say so (I1).
type recipe struct {
	root     string // directories and files that lie under all mounts
	nonce    string
	uid, gid uint32
	mounts   []bind // what the host gives, outermost first
	covers   []string
	doors    []string // where the agent finds sockets of the host's
	limits   sandbox.Limits
}

// bind is a place of the host's. Writable says that something in it can be written: the kernel's mounts in it say what.
type bind struct {
	source, target string
	writable, dir  bool
	deep           bool // with what is mounted below it
}

// bundle is the runtime's configuration of a sandbox. It has no filter of system calls: gVisor's way with a list costs
// every start some hundredths of a second, so init brings the program, and refuses to go on without one.
func bundle(r recipe) *specs.Spec {
	return &specs.Spec{
		Version:  specs.Version,
		Hostname: hostroot.Hostname,
		Root:     &specs.Root{Path: r.root, Readonly: true},
		Process:  process(r),
		Mounts:   append(ownMounts(r), hostMounts(r.mounts)...),
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
}

func process(r recipe) *specs.Process {
	return &specs.Process{
		Args: []string{runfile.Init, r.nonce},
		Env:  []string{runfile.InitEnv}, // the agent's is in the run file
		Cwd:  "/",
		User: specs.User{UID: r.uid, GID: r.gid},
		// Empty sets, and not none: without them a runtime may have a default.
		Capabilities:    &specs.LinuxCapabilities{},
		NoNewPrivileges: true,
		Rlimits: []specs.POSIXRlimit{
			rlimit("RLIMIT_CORE", 0),
			rlimit("RLIMIT_FSIZE", r.limits.FileSize),
			rlimit("RLIMIT_NOFILE", r.limits.OpenFiles),
			rlimit("RLIMIT_NPROC", r.limits.Pids+runfile.Tasks),
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
func ownMounts(r recipe) []specs.Mount {
	own := []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc", Options: []string{"nosuid", "nodev", "noexec"}},
		{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "noexec"}},
		{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"nosuid", "nodev", "noexec", "ro"}},
		private(r, "/dev/shm", 0o1777, r.limits.Shm),
		private(r, "/tmp", 0o1777, r.limits.Tmp),
		private(r, sandbox.Home, 0o700, r.limits.Home),
	}
	for _, target := range hidden {
		own = append(own, specs.Mount{Destination: target, Type: "tmpfs", Source: "tmpfs", Options: []string{"ro", "mode=0000", "size=4096"}})
	}
	if len(r.doors) > 0 {
		own = append(own, private(r, runfile.DoorsDir, 0o700, doorsSize))
	}
	for _, target := range r.covers {
		own = append(own, private(r, target, 0o700, r.limits.Tmp))
	}
	return own
}

// doorsSize is room for the names of sockets.
const doorsSize = 64 << 10

// private is a writable file system in the sandbox's memory. How many files it holds runsc takes no bound for: a file
// without a byte takes memory, too, and that of the sandbox is bounded.
func private(r recipe, target string, mode int, size int64) specs.Mount {
	return specs.Mount{Destination: target, Type: "tmpfs", Source: "tmpfs", Options: []string{
		"nosuid", "nodev", fmt.Sprintf("mode=%04o", mode), fmt.Sprintf("uid=%d", r.uid), fmt.Sprintf("gid=%d", r.gid),
		fmt.Sprintf("size=%d", size),
	}}
}

func hostMounts(binds []bind) []specs.Mount {
	var all []specs.Mount
	for _, b := range binds {
		mode, how := "ro", "bind"
		if b.writable {
			mode = "rw"
		}
		if b.deep {
			how = "rbind"
		}
		all = append(all, specs.Mount{
			Destination: b.target, Type: "bind", Source: b.source, Options: []string{how, "nosuid", "nodev", mode},
		})
	}
	return all
}
