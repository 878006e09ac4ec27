package docker

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	dockersystem "github.com/docker/docker/api/types/system"

	"torno/sandbox"
)

// runtime is what an engine starts containers with.
type runtime struct {
	name   string
	gVisor bool
}

// runtimeOf finds the runtime of a name among those that the engine has; "" is the engine's own default. A name with dots is
// a program that containerd finds by that name, and that the engine need not know.
func runtimeOf(info dockersystem.Info, wanted string) (runtime, error) {
	name := cmp.Or(wanted, info.DefaultRuntime)
	known, ok := info.Runtimes[name]
	if !ok && wanted != "" && !strings.HasPrefix(wanted, "io.containerd.") {
		return runtime{}, fmt.Errorf("the engine has no runtime %q; it has %s", wanted, strings.Join(slices.Sorted(maps.Keys(info.Runtimes)), ", "))
	}
	return runtime{name: name, gVisor: slices.ContainsFunc([]string{name, known.Path, known.Type}, isRunsc)}, nil
}

// isRunsc knows gVisor's runtime by its name, its path and the name of its shim.
func isRunsc(text string) bool {
	return filepath.Base(text) == "runsc" || strings.HasPrefix(text, "io.containerd.runsc.")
}

// refine says what is otherwise with this runtime.
func (r runtime) refine(g sandbox.Guarantees) {
	if !r.gVisor {
		return
	}
	g[sandbox.KernelIsolation] = sandbox.Guarantee{Enforced: true, By: "gVisor's kernel of its own, by the engine's runtime " + r.name}
	g[sandbox.MountProof] = sandbox.Guarantee{Enforced: true, By: "nobody else can change where the mounts lie; init proves its run file and the flags"}
	g[sandbox.SyscallFilter] = sandbox.Guarantee{Enforced: true, By: "seccomp in gVisor's kernel, Torno's own list of allowed system calls; sandbox-init installs it before the agent starts"}
}

// refineByPath is the same where the engine looks workspaces up by their paths.
func (r runtime) refineByPath(g sandbox.Guarantees) {
	if r.gVisor {
		g[sandbox.MountProof] = sandbox.Guarantee{By: "gVisor numbers files in its own way, so init cannot tell what the engine found"}
	}
}
