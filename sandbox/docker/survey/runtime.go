package survey

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	dockersystem "github.com/docker/docker/api/types/system"
)

// runtimeOf finds the runtime of a name among those that the engine has, and says whether it is gVisor's; "" is the engine's
// own default. A name with dots is a program that containerd finds by that name, and that the engine need not know.
func runtimeOf(info dockersystem.Info, wanted string) (name string, gVisor bool, err error) {
	name = cmp.Or(wanted, info.DefaultRuntime)
	known, ok := info.Runtimes[name]
	if !ok && wanted != "" && !strings.HasPrefix(wanted, "io.containerd.") {
		return name, false, fmt.Errorf("the engine has no runtime %q; it has %s", wanted, strings.Join(slices.Sorted(maps.Keys(info.Runtimes)), ", "))
	}
	return name, slices.ContainsFunc([]string{name, known.Path, known.Type}, isRunsc), nil
}

// isRunsc knows gVisor's runtime by its name, its path and the name of its shim. One that hides behind another name starts no
// agent either: it takes no filter from an engine, and init goes on without none.
func isRunsc(text string) bool {
	return filepath.Base(text) == "runsc" || strings.HasPrefix(text, "io.containerd.runsc.")
}
