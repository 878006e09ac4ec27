package processes

import (
	"fmt"
	"slices"
	"strings"

	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/docker/recipe"
	"torno/sandbox/local/attest"
	"torno/sandbox/local/hostroot"
)

// Unseen is "": the host can look, unless a trial shows that it cannot.
const Unseen = ""

// namespaces lists the namespaces that a sandbox has to itself.
var namespaces = []string{"pid", "ipc", "uts", "mnt", "net", "cgroup"}

// Look looks at the process that the engine names, and compares it with the wanted state.
func (s Subject) Look() (seen Seen, err error) {
	init, err := attest.Open(s.Pid)
	if err != nil {
		return Seen{}, err
	}
	defer init.Close()
	defer func() { err = attest.OrEnded(err, init) }()
	death, err := init.Death()
	if err != nil {
		death = nil // the kernel has no such handles, or init has ended
	}
	defer func() { death.Close() }()
	group, err := s.proveInit(init)
	if err != nil {
		return Seen{}, err
	}
	var look attest.Look
	look.See("init", fmt.Sprintf("process %d, in the container's control group, the program that was stored", s.Pid))
	for _, check := range []func() error{
		func() error { return init.CheckIdentity(&look, s.Wanted.Identity) },
		func() error { return init.CheckNamespaces(&look, "init", namespaces...) },
		func() error { return init.CheckNetwork(&look, "init") },
		func() error { return s.checkLimits(&look, init, &seen) },
		func() error { return checkMounts(&look, init, s.Wanted) },
	} {
		if err := check(); err != nil {
			return seen, err
		}
	}
	seen.Attestation, err = look.Attestation()
	if err == nil {
		seen.Floors, err = s.numberFloors(init)
	}
	if err == nil {
		seen.Attestation.Group = group
		seen.Death, death = death, nil
	}
	return seen, err
}

// numberFloors returns the numbers of the mounts at the floors; each floor has one mount.
func (s Subject) numberFloors(init *attest.Process) (map[string]uint64, error) {
	if len(s.Wanted.Floors) == 0 {
		return nil, nil
	}
	mounts, err := init.Mounts()
	floors := map[string]uint64{}
	for _, m := range mounts {
		if slices.Contains(s.Wanted.Floors, m.Point) {
			floors[m.Point] = m.ID
		}
	}
	return floors, err
}

// proveInit makes sure that a process is the container's init: it is in the container's control group, which no process
// leaves, and it executes the program that we stored.
func (s Subject) proveInit(init *attest.Process) (group string, err error) {
	groups, err := init.Groups()
	if err != nil {
		return "", err
	}
	for _, path := range groups {
		if isGroupOf(path, s.Container) {
			group = path
		}
	}
	if group == "" {
		return "", &attest.CannotLookError{
			What:  "the process that the engine names is not in the container's control group, so the engine's processes are not this host's",
			Needs: "it needs the host's process ids and control groups, or to run on the engine's machine",
		}
	}
	return group, s.Program.Check(init)
}

// checkLimits compares the kernel's limits with the wanted ones. It skips limits that the engine's kernel does not
// have: these are known, and the guarantees say so.
func (s Subject) checkLimits(look *attest.Look, init *attest.Process, seen *Seen) error {
	got, err := init.Bounds()
	if err != nil {
		return err
	}
	const page = 4096
	want := s.Wanted.Limits
	seen.SwapUncounted = s.Trial && !got.Counted
	for _, limit := range []struct {
		key       sandbox.GuaranteeKey
		want, got int64
	}{
		{sandbox.MemoryLimit, want.Memory / page * page, got.Memory},
		{sandbox.CPULimit, want.CPUs, got.CPUs},
		{sandbox.PidsLimit, want.Pids + runfile.Tasks, got.Pids},
		{sandbox.SwapLimit, 0, got.Swap},
	} {
		if limit.key == sandbox.SwapLimit && seen.SwapUncounted {
			continue
		}
		if s.Enforced[limit.key] {
			look.Compare(string(limit.key)+" limit", fmt.Sprint(limit.want), fmt.Sprint(limit.got))
		}
	}
	return nil
}

// checkMounts compares every mount that init sees.
func checkMounts(look *attest.Look, init *attest.Process, want *Wanted) error {
	return init.CheckMounts(look, "mounts", want.Mounts, func(m attest.Mount) bool {
		private := slices.Contains(want.Private, m.Point)
		if private && m.Kind != "tmpfs" {
			look.Differ(m.Point, "tmpfs", m.Kind)
		}
		return private || isRuntimes(m)
	})
}

// runtimeMounts maps the mounts that every runtime makes by itself, from their place to their kind.
var runtimeMounts = map[string]string{
	"/proc": "proc", "/dev": "tmpfs", "/dev/pts": "devpts", "/dev/mqueue": "mqueue", "/sys": "sysfs",
}

// isRuntimes reports whether a mount comes with every container: a kernel file system, a cover over a file that tells
// about the host, or a read-only part.
func isRuntimes(m attest.Mount) bool {
	readOnly := m.Has("ro")
	switch {
	case runtimeMounts[m.Point] == m.Kind && (readOnly || m.Point != "/sys"):
		return true
	case m.Point == "/sys/fs/cgroup" && m.Kind == "tmpfs": // cgroup version 1: it holds the mounts of the controllers
		return true
	case m.Point == "/sys/fs/cgroup" || strings.HasPrefix(m.Point, "/sys/fs/cgroup/"):
		return readOnly && (m.Kind == "cgroup" || m.Kind == "cgroup2")
	case slices.Contains(hostroot.ImageEtc(), strings.TrimPrefix(m.Point, "/etc/")): // the engine writes some of them itself
		return readOnly
	case slices.Contains(recipe.MaskedPaths, m.Point):
		return readOnly && m.Kind == "tmpfs" || m.Root == "/null" && (m.Kind == "tmpfs" || m.Kind == "devtmpfs")
	case slices.Contains(recipe.ReadOnlyPaths, m.Point):
		return readOnly && m.Kind == "proc"
	}
	return false
}
