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
	name    string
	gVisor  bool
	filters bool // it applies the list of system calls that it is given
}

// runtimeOf finds the runtime of a name among those that the engine has; "" is the engine's own default. A name with dots is
// a program that containerd finds by that name, and that the engine need not know.
func runtimeOf(info dockersystem.Info, wanted string) (runtime, error) {
	name := cmp.Or(wanted, info.DefaultRuntime)
	known, ok := info.Runtimes[name]
	if !ok && wanted != "" && !strings.HasPrefix(wanted, "io.containerd.") {
		return runtime{}, fmt.Errorf("the engine has no runtime %q; it has %s", wanted, strings.Join(slices.Sorted(maps.Keys(info.Runtimes)), ", "))
	}
	r := runtime{name: name, filters: true}
	r.gVisor = slices.ContainsFunc([]string{name, known.Path, known.Type}, isRunsc)
	if r.gVisor {
		r.filters = slices.ContainsFunc(known.Args, func(arg string) bool {
			option, value, given := strings.Cut(strings.TrimLeft(arg, "-"), "=")
			return option == "oci-seccomp" && (!given || value == "true")
		})
	}
	return r, nil
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
	if !r.filters {
		g[sandbox.SyscallFilter] = sandbox.Guarantee{
			By: "the engine's runtime " + r.name + " leaves Torno's list of system calls aside; give it --oci-seccomp (runtimeArgs in daemon.json)",
		}
	}
}

// refineByPath is the same where the engine looks workspaces up by their paths.
func (r runtime) refineByPath(g sandbox.Guarantees) {
	if r.gVisor {
		g[sandbox.MountProof] = sandbox.Guarantee{By: "gVisor numbers files in its own way, so init cannot tell what the engine found"}
	}
}
