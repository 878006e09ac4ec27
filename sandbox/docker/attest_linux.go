package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/docker/names"
	"torno/sandbox/docker/recipe"
	"torno/sandbox/local/attest"
	"torno/sandbox/local/hostroot"
)

// Attest looks at a sandbox that holds: at its init, which is the container's only process.
func (l *Launcher) Attest(ctx context.Context, h sandbox.Handle) (sandbox.Attestation, error) {
	if err := h.On(l.identity.Name()); err != nil {
		return sandbox.Attestation{}, err
	}
	b := l.known(h.ID)
	if b == nil || b.wanted == nil {
		return sandbox.Attestation{}, fmt.Errorf("attest container %s, which an earlier life has made: %w", h.ID, sandbox.ErrUncertain)
	}
	if l.unattested != "" {
		return sandbox.Attestation{Why: l.unattested}, nil
	}
	found, err := l.engine.Inspect(ctx, h.ID)
	if err != nil {
		return sandbox.Attestation{}, l.identity.Wrap(err, "look at", h)
	}
	if found.State == nil || !found.State.Running {
		return sandbox.Attestation{}, fmt.Errorf("attest container %s: %w", h.ID, sandbox.ErrNotHeld)
	}
	attestation, err := l.attest(h.ID, found.State.Pid, b)
	if errors.Is(err, fs.ErrNotExist) && b.id != names.RoleTrial { // the trial has seen such things: this init has ended
		err = sandbox.ErrNotHeld
	}
	if err != nil {
		return sandbox.Attestation{}, fmt.Errorf("attest container %s: %w", h.ID, err)
	}
	return attestation, nil
}

// namespaces are those that a sandbox has for itself.
var namespaces = []string{"pid", "ipc", "uts", "mnt", "net", "cgroup"}

// attest looks at the process that the engine names.
func (l *Launcher) attest(container string, pid int, b *box) (sandbox.Attestation, error) {
	want := b.wanted
	init, err := attest.Open(pid)
	if err != nil {
		return sandbox.Attestation{}, err
	}
	defer init.Close()
	death, err := init.Death()
	if err != nil {
		death = nil // the kernel knows no handles, or it has ended
	}
	defer func() { death.Close() }()
	if err := l.proveInit(container, init); err != nil {
		return sandbox.Attestation{}, err
	}
	var look attest.Look
	look.See("init", fmt.Sprintf("process %d, in the container's control group, the program that was stored", pid))
	for _, check := range []func(*attest.Look) error{
		func(look *attest.Look) error { return init.CheckIdentity(look, want.identity) },
		func(look *attest.Look) error { return init.CheckNamespaces(look, "init", namespaces...) },
		func(look *attest.Look) error { return init.CheckNetwork(look, "init") },
		func(look *attest.Look) error { return l.checkLimits(look, init, b) },
		func(look *attest.Look) error { return checkMounts(look, init, want) },
	} {
		if err := check(&look); err != nil {
			return sandbox.Attestation{}, err
		}
	}
	attestation, err := look.Attestation()
	if err == nil {
		b.mu.Lock()
		b.watchEnd(death)
		b.mu.Unlock()
		death = nil
	}
	return attestation, err
}

// proveInit makes sure that a process is the init of the container: it is in its control group, which no process leaves, and
// executes the program that we have stored.
func (l *Launcher) proveInit(container string, init *attest.Process) error {
	groups, err := init.Groups()
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(slices.Collect(maps.Values(groups)), func(path string) bool { return isGroupOf(path, container) }) {
		return &attest.CannotLookError{
			What:  "the process that the engine names is not in the container's control group, so the engine's processes are not this host's",
			Needs: "it needs the host's process ids and control groups, or to run on the engine's machine",
		}
	}
	return l.init.Check(init)
}

// checkLimits compares what the kernel bounds with what was asked for. What the engine's kernel has not is known, and said by
// the guarantees.
func (l *Launcher) checkLimits(look *attest.Look, init *attest.Process, b *box) error {
	got, err := init.Bounds()
	if err != nil {
		return err
	}
	const page = 4096
	want := b.wanted.limits
	if b.id == names.RoleTrial && !got.Counted { // engines say that they bound swap where the kernel does not count it
		l.facts.Limits[sandbox.SwapLimit] = false
	}
	for _, limit := range []struct {
		key       sandbox.GuaranteeKey
		want, got int64
	}{
		{sandbox.MemoryLimit, want.Memory / page * page, got.Memory},
		{sandbox.CPULimit, want.CPUs, got.CPUs},
		{sandbox.PidsLimit, want.Pids + runfile.Tasks, got.Pids},
		{sandbox.SwapLimit, 0, got.Swap},
	} {
		if l.facts.Limits[limit.key] {
			look.Compare(string(limit.key)+" limit", fmt.Sprint(limit.want), fmt.Sprint(limit.got))
		}
	}
	return nil
}

// checkMounts compares every mount that init sees.
func checkMounts(look *attest.Look, init *attest.Process, want *wanted) error {
	return init.CheckMounts(look, "mounts", want.mounts, func(m attest.Mount) bool {
		private := slices.Contains(want.private, m.Point)
		if private && m.Kind != "tmpfs" {
			look.Differ(m.Point, "tmpfs", m.Kind)
		}
		return private || isRuntimes(m)
	})
}

// runtimeMounts are those that every runtime makes by itself, by their places.
var runtimeMounts = map[string]string{
	"/proc": "proc", "/dev": "tmpfs", "/dev/pts": "devpts", "/dev/mqueue": "mqueue", "/sys": "sysfs",
}

// isRuntimes says whether a mount is one of those that come with every container: kernel file systems, covers over what tells
// of the host, and read-only parts.
func isRuntimes(m attest.Mount) bool {
	readOnly := m.Has("ro")
	switch {
	case runtimeMounts[m.Point] == m.Kind && (readOnly || m.Point != "/sys"):
		return true
	case m.Point == "/sys/fs/cgroup" && m.Kind == "tmpfs": // of version 1, which holds the mounts of the controllers
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
