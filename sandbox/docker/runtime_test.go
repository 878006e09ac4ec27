package docker

import (
	"strings"
	"testing"

	dockersystem "github.com/docker/docker/api/types/system"

	"torno/internal/seccomp"
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
		"runc": have("runc"), "runsc": have("/usr/local/bin/runsc", "--network=none"), "strong": have("/opt/bin/runsc"), "kata": have("/usr/bin/kata-runtime"),
		"shim": {Runtime: dockersystem.Runtime{Type: "io.containerd.runsc.v1"}}, "not": have("/opt/runsc/wrapper"),
	}
	return info
}

// TestRuntimes: a kernel of its own is promised where the engine says that it is gVisor. There init brings the list of
// system calls, and the engine none; elsewhere it is the other way round.
func TestRuntimes(t *testing.T) {
	for name, isolates := range map[string]bool{
		"": false, "runc": false, "kata": false, "not": false, "io.containerd.runc.v2": false,
		"runsc": true, "strong": true, "shim": true, "io.containerd.runsc.v1": true,
	} {
		f, err := factsOf(engineWithRuntimes(), name)
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		l := &Launcher{facts: f}
		if err := l.useFilter(seccomp.Filter{Arch: f.arch}); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		byInit, byEngine := len(l.program) > 0, strings.Contains(l.seccomp, `"defaultAction":"SCMP_ACT_ERRNO"`)
		g := l.guarantee("")
		if g[sandbox.KernelIsolation].Enforced != isolates || byInit != isolates || byEngine == isolates {
			t.Errorf("%q: %+v, filtered by init %v, by the engine %v", name, g[sandbox.KernelIsolation], byInit, byEngine)
		}
		if by := g[sandbox.SyscallFilter]; !by.Enforced || strings.Contains(by.By, "sandbox-init") != isolates {
			t.Errorf("%q: %+v", name, by)
		}
	}
	if _, err := factsOf(engineWithRuntimes(), "runcs"); err == nil || !strings.Contains(err.Error(), `no runtime "runcs"; it has kata, not`) {
		t.Errorf("a runtime that is not there: %v", err)
	}
	info := engineWithRuntimes()
	info.DefaultRuntime = "strong"
	if f, err := factsOf(info, ""); err != nil || !f.runtime.gVisor {
		t.Errorf("as the default: %+v, %v", f.runtime, err)
	}
}
