package docker_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"

	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/docker"
	"torno/test/exhaust"
)

// TestSeenFromOutside looks at a running sandbox with the engine's eyes and with the kernel's, and at no code of ours.
func TestSeenFromOutside(t *testing.T) {
	f := newField(t, docker.MountAuto)
	api := needEngine(t)
	spec := f.spec("/bin/sh", "-c", "echo ready; exec sleep 1000000")
	spec.Process.Env = append(spec.Process.Env, "SECRET=of the profile")
	f.mkdir("notes")
	spec.Mounts = append(spec.Mounts, sandbox.Mount{
		Source: sandbox.Source{Base: f.base, Rel: "notes"}, Target: "/parent/notes", Prefix: "/parent",
	})
	h := f.create(spec)
	defer f.remove(h)
	a := f.start(h)
	exhaust.Hear(f.ctx, f, a, "ready\n")
	seen, err := api.ContainerInspect(f.ctx, h.ID)
	f.must(err)
	t.Run("by the engine", func(t *testing.T) { byEngine(t, f, seen, spec) })
	t.Run("by the kernel", func(t *testing.T) { byKernel(t, seen, spec) })
}

func byEngine(t *testing.T, f *field, seen container.InspectResponse, spec sandbox.Spec) {
	for what, ok := range map[string]bool{
		"no network is connected":     len(seen.NetworkSettings.Networks) == 0 && seen.Config.NetworkDisabled,
		"no privilege":                !seen.HostConfig.Privileged && len(seen.HostConfig.CapAdd) == 0,
		"all capabilities dropped":    slices.Equal([]string(seen.HostConfig.CapDrop), []string{"ALL"}),
		"no new privileges, filtered": len(seen.HostConfig.SecurityOpt) == 2 && seen.HostConfig.SecurityOpt[0] == "no-new-privileges",
		"the root is read-only":       seen.HostConfig.ReadonlyRootfs,
		"no devices":                  len(seen.HostConfig.Devices) == 0,
		"only init and its nonce":     slices.Equal(append(slices.Clone([]string(seen.Config.Entrypoint)), seen.Config.Cmd[:0]...), []string{runfile.Init}) && len(seen.Config.Cmd) == 1,
		"it does not restart":         seen.HostConfig.RestartPolicy.Name == container.RestartPolicyDisabled,
		"the log is bounded":          seen.HostConfig.LogConfig.Type == "local" && seen.HostConfig.LogConfig.Config["max-size"] == fmt.Sprint(spec.Limits.Log/2),
		"no health check":             seen.State.Health == nil,
		"not root":                    !strings.HasPrefix(seen.Config.User, "0:"),
	} {
		if !ok {
			t.Errorf("%s: no", what)
		}
	}
	state, _ := f.house.state("ours")
	for label, value := range seen.Config.Labels {
		if !strings.HasPrefix(label, "torno.") || strings.Contains(value, "/") && value != state {
			t.Errorf("label %s=%s", label, value)
		}
	}
	for _, secret := range append(slices.Clone(seen.Config.Env), seen.Args...) {
		if strings.Contains(secret, "SECRET") || strings.Contains(secret, "of the profile") {
			t.Errorf("the engine was told of %q", secret)
		}
	}
	for _, m := range seen.Mounts {
		if m.RW && m.Type == "bind" && m.Destination != "/workspace" {
			t.Errorf("%s is bound to be written, from %s", m.Destination, m.Source)
		}
		if strings.HasPrefix(m.Source, f.base) && f.Guarantees()[sandbox.MountsByHandle].Enforced {
			t.Errorf("the engine was told of the path %s", m.Source)
		}
	}
}

// Guarantees are what the launcher says.
func (f *field) Guarantees() sandbox.Guarantees {
	f.Helper()
	g, err := f.Check(f.ctx)
	f.must(err)
	return g
}

func byKernel(t *testing.T, seen container.InspectResponse, spec sandbox.Spec) {
	proc := fmt.Sprintf("/proc/%d", seen.State.Pid)
	if _, err := os.Stat(proc); err != nil {
		t.Skipf("the engine's processes are not ours to see: %v", err)
	}
	for _, kind := range []string{"cgroup", "ipc", "mnt", "net", "pid", "uts"} {
		theirs, err := os.Readlink(proc + "/ns/" + kind)
		own, ownErr := os.Readlink("/proc/self/ns/" + kind)
		if err != nil || ownErr != nil || theirs == own {
			t.Errorf("its %s namespace is %s, ours is %s (%v, %v)", kind, theirs, own, err, ownErr)
		}
	}
	status := words(t, proc+"/status")
	for field, want := range map[string]string{
		"CapEff:": "0000000000000000", "CapBnd:": "0000000000000000", "CapPrm:": "0000000000000000", "NoNewPrivs:": "1", "Seccomp:": "2",
	} {
		if status[field] != want {
			t.Errorf("%s %s, want %s", field, status[field], want)
		}
	}
	if interfaces := words(t, proc+"/net/dev"); len(interfaces) > 3 { // two lines of headings, and lo
		t.Errorf("it has the network interfaces %v", interfaces)
	}
	if adj := words(t, proc+"/oom_score_adj"); adj["0"] != "0" {
		t.Errorf("its oom score is adjusted: %v", adj)
	}
	groups := cgroups(t, proc)
	for what, limit := range map[string]struct {
		controller, v1, v2, want1, want2 string
	}{
		"memory": {"memory", "memory.limit_in_bytes", "memory.max", fmt.Sprint(spec.Limits.Memory), fmt.Sprint(spec.Limits.Memory)},
		"swap":   {"memory", "memory.memsw.limit_in_bytes", "memory.swap.max", fmt.Sprint(spec.Limits.Memory), "0"},
		"pids":   {"pids", "pids.max", "pids.max", fmt.Sprint(spec.Limits.Pids + runfile.Tasks), fmt.Sprint(spec.Limits.Pids + runfile.Tasks)},
		"cpu":    {"cpu", "cpu.cfs_quota_us", "cpu.max", fmt.Sprint(spec.Limits.CPUs * 100), fmt.Sprint(spec.Limits.CPUs*100) + " 100000"},
	} {
		file, want := filepath.Join("/sys/fs/cgroup", limit.controller, groups[limit.controller], limit.v1), limit.want1
		if unified, ok := groups[""]; ok && groups[limit.controller] == "" {
			file, want = filepath.Join("/sys/fs/cgroup", unified, limit.v2), limit.want2
		}
		got, err := os.ReadFile(file)
		if err != nil || strings.TrimSpace(string(got)) != want {
			t.Errorf("%s: %s has %q, want %q (%v)", what, file, got, want, err)
		}
	}
}

// TestSwapThatIsNotBoundedIsSeen before the agent runs.
func TestSwapThatIsNotBoundedIsSeen(t *testing.T) {
	f := newField(t, docker.MountAuto)
	api := needEngine(t)
	if g := f.Guarantees(); !g[sandbox.SwapLimit].Enforced || !g[sandbox.Attested].Enforced {
		t.Skip("NOT SHOWN HERE: this kernel does not count swap, or nothing is attested")
	}
	h := f.create(f.spec("/bin/true"))
	defer f.remove(h)
	f.begin(h)
	_, err := f.Attest(f.ctx, h)
	f.must(err)
	seen, err := api.ContainerInspect(f.ctx, h.ID)
	f.must(err)
	groups := cgroups(t, fmt.Sprintf("/proc/%d", seen.State.Pid))
	file, most := filepath.Join("/sys/fs/cgroup/memory", groups["memory"], "memory.memsw.limit_in_bytes"), "-1"
	if groups["memory"] == "" {
		file, most = filepath.Join("/sys/fs/cgroup", groups[""], "memory.swap.max"), "max"
	}
	f.must(os.WriteFile(file, []byte(most), 0))
	if _, err := f.Attest(f.ctx, h); err == nil || !strings.Contains(err.Error(), "swap limit") {
		t.Errorf("attested, or not because of swap: %v", err)
	}
}

// words are the lines of a file, by their first word. The value is the second one, or the first again.
func words(t *testing.T, file string) map[string]string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(content)) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 1:
			all[fields[0]] = fields[0]
		case len(fields) > 1:
			all[fields[0]] = fields[1]
		}
	}
	return all
}

// cgroups are the groups of a process, by controller; "" is the unified hierarchy.
func cgroups(t *testing.T, proc string) map[string]string {
	t.Helper()
	content, err := os.ReadFile(proc + "/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string]string{}
	for line := range strings.Lines(string(content)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			t.Fatalf("a line of cgroups: %q", line)
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			groups[controller] = parts[2]
		}
	}
	return groups
}

// TestCallsOfAColdRun counts what one run asks of the engine. Where this process has to wait for a processor, the engine tells of the end
// before the host sees it, and is asked once more: the best of some runs counts.
func TestCallsOfAColdRun(t *testing.T) {
	f := newField(t, docker.MountAuto)
	want := map[string]int64{"other": 1 /* the init volume, which tells the engine */, "create": 1, "attach": 2, "start": 1, "wait": 1, "inspect": 1, "remove": 1}
	var asked map[string]int64
	for range 25 {
		f.calls.take()
		if e := f.run(f.spec("/bin/true")); e.exit.Code != 0 {
			t.Fatalf("exit %d, %s", e.exit.Code, e.stderr)
		}
		if asked = f.calls.take(); maps.Equal(asked, want) {
			return
		}
	}
	t.Errorf("a run asked the engine %v, want %v", asked, want)
}

// TestIdentitiesAreOfTheRange has sandboxes at once, each with an id of its own.
func TestIdentitiesAreOfTheRange(t *testing.T) {
	f := newField(t, docker.MountByHandle)
	seen := map[string]bool{}
	for range 3 {
		h := f.create(f.spec("/usr/bin/id", "-u"))
		defer f.remove(h)
		e := f.finish(f.start(h))
		id, err := strconv.Atoi(strings.TrimSpace(string(e.stdout)))
		if err != nil || id != 2_000_000_000+h.Slot || seen[string(e.stdout)] {
			t.Errorf("slot %d runs as %q", h.Slot, e.stdout)
		}
		seen[string(e.stdout)] = true
	}
}
