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

// runtimeOf finds a runtime by name among the engine's, and reports whether it is gVisor's. "" is the engine's default.
// A name that begins with "io.containerd." stands for a program that containerd finds itself; the engine need not know
// it.
func runtimeOf(info dockersystem.Info, wanted string) (name string, gVisor bool, err error) {
	name = cmp.Or(wanted, info.DefaultRuntime)
	known, ok := info.Runtimes[name]
	if !ok && wanted != "" && !strings.HasPrefix(wanted, "io.containerd.") {
		return name, false, fmt.Errorf("the engine has no runtime %q; it has %s", wanted, strings.Join(slices.Sorted(maps.Keys(info.Runtimes)), ", "))
	}
	return name, slices.ContainsFunc([]string{name, known.Path, known.Type}, isRunsc), nil
}

// isRunsc recognises gVisor's runtime by its name, its path or the name of its shim. A gVisor behind another name
// starts no agent either: it takes no filter from an engine, and init does not go on without a filter.
func isRunsc(text string) bool {
	return filepath.Base(text) == "runsc" || strings.HasPrefix(text, "io.containerd.runsc.")
}
