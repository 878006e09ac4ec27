package docker

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

// recipe is all that one sandbox's container differs in from another's. There is no place in it for network, privilege,
// capabilities, devices or namespaces of the host (I1).
type recipe struct {
	labels  map[string]string
	image   string
	runtime string
	nonce   string
	uid     uint32
	gid     uint32
	limits  sandbox.Limits
	cpus    int64 // thousandths that the engine's machine has; it refuses to be asked for more
	seccomp string
	mounts  []mount.Mount
	covers  []string // the image's VOLUMEs, which would otherwise be unbounded directories on the host
}

// maskedPaths tell of the host and are hidden; readOnlyPaths reach into it. The engine's own lists, longer with
// each version, are here in full, so that an old engine hides what a new one does.
var (
	maskedPaths = []string{
		"/proc/acpi", "/proc/asound", "/proc/cmdline", "/proc/config.gz", "/proc/interrupts", "/proc/kcore",
		"/proc/key-users", "/proc/keys", "/proc/latency_stats", "/proc/locks", "/proc/pressure", "/proc/sched_debug",
		"/proc/scsi", "/proc/timer_list", "/proc/timer_stats",
		"/sys/devices/virtual/powercap", "/sys/firmware",
	}
	readOnlyPaths = []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
)

// containerConfig is the container of a recipe: constants, limits, and what is ours. It is pure. A test holds every
// field of the engine's types against a table of which is which.
func containerConfig(r recipe) (*container.Config, *container.HostConfig) {
	config := &container.Config{
		Hostname: hostroot.Hostname,
		User:     fmt.Sprintf("%d:%d", r.uid, r.gid),
		// No network is set up at all. The runtime still makes a namespace with nothing but loopback in it, and does it
		// in half the time that the engine needs for its network "none".
		NetworkDisabled: true,
		OpenStdin:       true, // the release comes on it
		StdinOnce:       true, // the end of our stream is the end of init's input, and of the agent's
		Image:           r.image,
		WorkingDir:      "/",
		Entrypoint:      []string{runfile.Init},
		Cmd:             []string{r.nonce},
		// What an image says about its environment is in init's; the agent gets that of the run file and no other.
		Env:         []string{runfile.InitEnv},
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
		StopSignal:  "SIGTERM",
		Labels:      r.labels,
	}
	host := &container.HostConfig{
		Runtime:        r.runtime,
		NetworkMode:    "none",
		CapDrop:        []string{"ALL"},
		SecurityOpt:    []string{"no-new-privileges", "seccomp=" + r.seccomp},
		ReadonlyRootfs: true,
		IpcMode:        container.IPCModePrivate,
		CgroupnsMode:   container.CgroupnsModePrivate,
		RestartPolicy:  container.RestartPolicy{Name: container.RestartPolicyDisabled},
		LogConfig:      logConfig(r.limits.Log),
		MaskedPaths:    maskedPaths,
		ReadonlyPaths:  readOnlyPaths,
		ShmSize:        r.limits.Shm,
		Tmpfs:          privateDirs(r),
		Mounts:         r.mounts,
		Resources:      resources(r),
		Init:           new(bool), // no: process 1 is our own
	}
	return config, host
}

func resources(r recipe) container.Resources {
	pids := r.limits.Pids + runfile.Tasks // what was promised is the agent's
	return container.Resources{
		Memory:     r.limits.Memory,
		MemorySwap: r.limits.Memory, // both together: no swap
		NanoCPUs:   min(r.limits.CPUs, r.cpus) * 1_000_000,
		PidsLimit:  &pids,
		Ulimits: []*container.Ulimit{
			{Name: "core", Soft: 0, Hard: 0},
			{Name: "fsize", Soft: r.limits.FileSize, Hard: r.limits.FileSize},
			{Name: "nofile", Soft: r.limits.OpenFiles, Hard: r.limits.OpenFiles},
			{Name: "msgqueue", Soft: local.MessageBytes, Hard: local.MessageBytes},
			{Name: "sigpending", Soft: local.PendingSignals, Hard: local.PendingSignals},
		},
	}
}

// logConfig has two files, because the engine throws away a whole one when there are too many.
func logConfig(size int64) container.LogConfig {
	const files = 2
	return container.LogConfig{Type: "local", Config: map[string]string{
		"max-size": strconv.FormatInt(max(size/files, 1), 10),
		"max-file": strconv.Itoa(files),
		"compress": "false",
	}}
}

// privateDirs are the sandbox's own writable file systems, in its memory. Programs may be run from them: builds and
// package managers do, and what can be written to the workspace can be run from there all the same. They belong to the
// child, because runtimes give them the mode of the directory that they cover. A file without a byte takes memory, too, so
// there are only as many as there are pages.
func privateDirs(r recipe) map[string]string {
	const page = 4096
	private := func(mode string, size int64) string {
		return fmt.Sprintf("rw,exec,nosuid,nodev,mode=%s,uid=%d,gid=%d,size=%d,nr_inodes=%d", mode, r.uid, r.gid, size, max(size/page, 2))
	}
	dirs := map[string]string{"/tmp": private("1777", r.limits.Tmp), sandbox.Home: private("0700", r.limits.Home)}
	for _, target := range r.covers {
		dirs[target] = private("0700", r.limits.Tmp)
	}
	return dirs
}

// readOnlyBind shows a place of the host, as it is and without what is mounted below it.
func readOnlyBind(source, target string) mount.Mount {
	return mount.Mount{
		Type: mount.TypeBind, Source: source, Target: target, ReadOnly: true,
		BindOptions: &mount.BindOptions{NonRecursive: true},
	}
}
