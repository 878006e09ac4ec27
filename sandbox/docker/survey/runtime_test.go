package survey

import (
	"errors"
	"strings"
	"testing"

	dockersystem "github.com/docker/docker/api/types/system"

	"torno/internal/doctor"
)

// engineWithRuntimes has runc by default, and gVisor by several names.
func engineWithRuntimes() dockersystem.Info {
	info := fitEngine()
	info.DefaultRuntime = "runc"
	have := func(path string, args ...string) dockersystem.RuntimeWithStatus {
		return dockersystem.RuntimeWithStatus{Runtime: dockersystem.Runtime{Path: path, Args: args}}
	}
	info.Runtimes = map[string]dockersystem.RuntimeWithStatus{
		"runc": have("runc"), "crun": have("/usr/bin/crun"), "runsc": have("/usr/local/bin/runsc", "--network=none"), "strong": have("/opt/bin/runsc"),
		"shim": {Runtime: dockersystem.Runtime{Type: "io.containerd.runsc.v1"}}, "kata": have("/usr/bin/kata-runtime"), "not": have("/opt/runsc/wrapper"),
	}
	return info
}

// TestRuntimes: any runtime of the engine can be had but gVisor's, which looks up again what the engine has bound, by paths
// that lead through directories of the parent's.
func TestRuntimes(t *testing.T) {
	for _, name := range []string{"", "runc", "crun", "kata", "not", "io.containerd.runc.v2"} {
		if _, err := FactsOf(engineWithRuntimes(), name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"runsc", "strong", "shim", "io.containerd.runsc.v1"} {
		wantNoGVisor(t, engineWithRuntimes(), name)
	}
	if _, err := FactsOf(engineWithRuntimes(), "runcs"); err == nil || !strings.Contains(err.Error(), `no runtime "runcs"; it has crun, kata`) {
		t.Errorf("a runtime that is not there: %v", err)
	}
	info := engineWithRuntimes()
	info.DefaultRuntime = "strong"
	wantNoGVisor(t, info, "")
}

// wantNoGVisor wants a refusal that says what to do.
func wantNoGVisor(t *testing.T, info dockersystem.Info, name string) {
	t.Helper()
	_, err := FactsOf(info, name)
	refused, ok := errors.AsType[*doctor.RefusedError](err)
	if !ok || !strings.Contains(refused.Error(), "gVisor") || !strings.Contains(refused.Next(), "sandbox: gvisor") {
		t.Errorf("%q: %v", name, err)
	}
}
