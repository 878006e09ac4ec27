package docker

import (
	"strings"
	"testing"

	dockersystem "github.com/docker/docker/api/types/system"

	"torno/sandbox"
)

// engineWithRuntimes has runc by default, and gVisor by several names.
func engineWithRuntimes() dockersystem.Info {
	info := fitEngine()
	info.DefaultRuntime = "runc"
	have := func(path string, args ...string) dockersystem.RuntimeWithStatus {
		return dockersystem.RuntimeWithStatus{Runtime: dockersystem.Runtime{Path: path, Args: args}}
	}
	info.Runtimes = map[string]dockersystem.RuntimeWithStatus{
		"runc": have("runc"), "runsc": have("/usr/local/bin/runsc", "--network=none", "--oci-seccomp"), "strong": have("/opt/bin/runsc", "--oci-seccomp=true"),
		"loose": have("/opt/bin/runsc"), "off": have("/opt/bin/runsc", "-oci-seccomp=false"), "kata": have("/usr/bin/kata-runtime"),
		"shim": {Runtime: dockersystem.Runtime{Type: "io.containerd.runsc.v1"}}, "not": have("/opt/runsc/wrapper"),
	}
	return info
}

// TestRuntimes: a kernel of its own is promised where the engine says that it is gVisor, and the list of system calls only
// where gVisor is told to apply it.
func TestRuntimes(t *testing.T) {
	for name, want := range map[string]struct{ isolates, filters bool }{
		"": {false, true}, "runc": {false, true}, "kata": {false, true}, "not": {false, true}, "runsc": {true, true}, "strong": {true, true},
		"loose": {true, false}, "off": {true, false}, "shim": {true, false}, "io.containerd.runsc.v1": {true, false}, "io.containerd.runc.v2": {false, true},
	} {
		f, err := factsOf(engineWithRuntimes(), name)
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		g := (&Launcher{facts: f}).guarantee("")
		if g[sandbox.KernelIsolation].Enforced != want.isolates || g[sandbox.SyscallFilter].Enforced != want.filters {
			t.Errorf("%q: %+v, %+v", name, g[sandbox.KernelIsolation], g[sandbox.SyscallFilter])
		}
	}
	if _, err := factsOf(engineWithRuntimes(), "runcs"); err == nil || !strings.Contains(err.Error(), `no runtime "runcs"; it has kata, loose`) {
		t.Errorf("a runtime that is not there: %v", err)
	}
	info := engineWithRuntimes()
	info.DefaultRuntime = "loose"
	if f, err := factsOf(info, ""); err != nil || !f.runtime.gVisor {
		t.Errorf("as the default: %+v, %v", f.runtime, err)
	}
}
