// Package recipe turns a recipe for one sandbox's container into the engine's configuration of it. It is a pure
// function, without an engine. So the complete configuration of sandboxes can be read and tested in one place.
package recipe

import (
	"fmt"
	"strconv"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/local"
	"torno/sandbox/local/hostroot"
)

// Recipe holds everything that differs from one sandbox's container to the next. It has no place for network,
// privilege, capabilities, devices or namespaces of the host (I1).
type Recipe struct {
	Labels  map[string]string
	Image   string
	Runtime string
	Nonce   string
	UID     uint32
	GID     uint32
	Limits  sandbox.Limits
	CPUs    int64 // of the engine's machine, in thousandths; the engine refuses a request for more
	Seccomp string
	Mounts  []mount.Mount
	Lasting bool     // standard input outlives the connections to it
	Covers  []string // the image's VOLUMEs, which would otherwise be unbounded directories on the host
}

// MaskedPaths tell about the host and are hidden. ReadOnlyPaths reach into the host. The engine's own lists grow with
// each version. They are here in full, so that an old engine hides as much as a new engine does.
var (
	MaskedPaths = []string{
		"/proc/acpi", "/proc/asound", "/proc/cmdline", "/proc/config.gz", "/proc/interrupts", "/proc/kcore",
		"/proc/key-users", "/proc/keys", "/proc/latency_stats", "/proc/locks", "/proc/pressure", "/proc/sched_debug",
		"/proc/scsi", "/proc/timer_list", "/proc/timer_stats",
		"/sys/devices/virtual/powercap", "/sys/firmware",
	}
	ReadOnlyPaths = []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
)

// Container returns the configuration of a recipe's container: constants, limits, and the parts that are ours. It is
// pure. A test checks every field of the engine's types against a table that tells these apart.
func (r Recipe) Container() (*container.Config, *container.HostConfig) {
	config := &container.Config{
		Hostname: hostroot.Hostname,
		User:     fmt.Sprintf("%d:%d", r.UID, r.GID),
		// No network is set up at all. The runtime still makes a namespace with nothing but loopback in it. This takes
		// half the time that the engine needs for its network "none".
		NetworkDisabled: true,
		OpenStdin:       true,       // the release comes on it
		StdinOnce:       !r.Lasting, // unless lasting, init's and the agent's input end with our stream
		Image:           r.Image,
		WorkingDir:      "/",
		Entrypoint:      []string{runfile.Init},
		Cmd:             []string{r.Nonce},
		// Init's environment includes the image's variables. The agent gets only the environment in the run file.
		Env:         []string{runfile.InitEnv},
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
		StopSignal:  "SIGTERM",
		Labels:      r.Labels,
	}
	host := &container.HostConfig{
		Runtime:        r.Runtime,
		NetworkMode:    "none",
		CapDrop:        []string{"ALL"},
		SecurityOpt:    []string{"no-new-privileges", "seccomp=" + r.Seccomp},
		ReadonlyRootfs: true,
		IpcMode:        container.IPCModePrivate,
		CgroupnsMode:   container.CgroupnsModePrivate,
		RestartPolicy:  container.RestartPolicy{Name: container.RestartPolicyDisabled},
		LogConfig:      logConfig(r.Limits.Log),
		MaskedPaths:    MaskedPaths,
		ReadonlyPaths:  ReadOnlyPaths,
		ShmSize:        r.Limits.Shm,
		Tmpfs:          privateDirs(r),
		Mounts:         r.Mounts,
		Resources:      resources(r),
		Init:           new(bool), // no: process 1 is our own
	}
	return config, host
}

func resources(r Recipe) container.Resources {
	pids := r.Limits.Pids + runfile.Tasks // the promised number is for the agent alone
	return container.Resources{
		Memory:     r.Limits.Memory,
		MemorySwap: r.Limits.Memory, // memory and swap together, so no swap
		NanoCPUs:   min(r.Limits.CPUs, r.CPUs) * 1_000_000,
		PidsLimit:  &pids,
		Ulimits: []*container.Ulimit{
			{Name: "core", Soft: 0, Hard: 0},
			{Name: "fsize", Soft: r.Limits.FileSize, Hard: r.Limits.FileSize},
			{Name: "nofile", Soft: r.Limits.OpenFiles, Hard: r.Limits.OpenFiles},
			{Name: "msgqueue", Soft: local.MessageBytes, Hard: local.MessageBytes},
			{Name: "sigpending", Soft: local.PendingSignals, Hard: local.PendingSignals},
		},
	}
}

// logConfig uses two files, because the engine throws away a whole file when there are too many.
func logConfig(size int64) container.LogConfig {
	const files = 2
	return container.LogConfig{Type: "local", Config: map[string]string{
		"max-size": strconv.FormatInt(max(size/files, 1), 10),
		"max-file": strconv.Itoa(files),
		"compress": "false",
	}}
}

// privateDirs returns the sandbox's own writable file systems, in its memory. Programs may be run from them: builds and
// package managers do so, and a child can run anything from the workspace anyway. They belong to the child, because
// runtimes give them the mode of the directory that they cover. Even an empty file takes memory, so there can be only
// as many files as pages.
func privateDirs(r Recipe) map[string]string {
	const page = 4096
	private := func(mode string, size int64) string {
		return fmt.Sprintf("rw,exec,nosuid,nodev,mode=%s,uid=%d,gid=%d,size=%d,nr_inodes=%d", mode, r.UID, r.GID, size, max(size/page, 2))
	}
	dirs := map[string]string{"/tmp": private("1777", r.Limits.Tmp), sandbox.Home: private("0700", r.Limits.Home)}
	for _, target := range r.Covers {
		dirs[target] = private("0700", r.Limits.Tmp)
	}
	return dirs
}

// ReadOnlyBind shows a place of the host as it is, without the mounts below it.
func ReadOnlyBind(source, target string) mount.Mount {
	return mount.Mount{
		Type: mount.TypeBind, Source: source, Target: target, ReadOnly: true,
		BindOptions: &mount.BindOptions{NonRecursive: true},
	}
}

// ReadOnlyBinds translates binds into the engine's form.
func ReadOnlyBinds(binds []hostroot.Bind) (all []mount.Mount) {
	for _, b := range binds {
		all = append(all, ReadOnlyBind(b.Source, b.Target))
	}
	return all
}
