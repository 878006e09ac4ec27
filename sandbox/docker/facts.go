package docker

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	dockersystem "github.com/docker/docker/api/types/system"

	"torno/sandbox"
)

// facts are what the engine says of itself, as far as it matters here.
type facts struct {
	version string
	arch    string
	runc    string
	cpus    int64 // thousandths
	// limits are those that the kernel and the engine may or may not have.
	limits map[sandbox.GuaranteeKey]bool
}

// factsOf reads the engine's answer, and refuses an engine that cannot hold a sandbox at all.
func factsOf(info dockersystem.Info) (facts, error) {
	f := facts{
		version: info.ServerVersion, arch: engineArchitectures[info.Architecture], runc: info.RuncCommit.ID,
		cpus: int64(info.NCPU) * 1000,
		limits: map[sandbox.GuaranteeKey]bool{
			sandbox.MemoryLimit: info.MemoryLimit, sandbox.SwapLimit: info.SwapLimit,
			sandbox.CPULimit: info.CPUCfsQuota && info.CPUCfsPeriod, sandbox.PidsLimit: info.PidsLimit,
		},
	}
	switch {
	case f.arch == "":
		return f, fmt.Errorf("the engine's machine is %s; sandboxes need amd64 or arm64", info.Architecture)
	case !hasOption(info.SecurityOptions, "seccomp"):
		return f, errors.New("the engine filters no system calls (seccomp is missing or switched off), and no sandbox goes without")
	case hasOption(info.SecurityOptions, "rootless"):
		return f, errors.New("the engine is rootless: it cannot give a sandbox an identity of its own; use the gvisor launcher")
	case hasOption(info.SecurityOptions, "userns"):
		return f, errors.New("the engine remaps users (userns-remap): files in a workspace would get foreign owners; use an engine without, or the gvisor launcher")
	case !slices.Contains(info.Plugins.Log, "local"):
		return f, errors.New(`the engine has no log driver "local", which keeps a sandbox's output within bounds`)
	}
	return f, nil
}

// hasOption looks for a security option such as "name=seccomp,profile=default".
func hasOption(options []string, name string) bool {
	return slices.ContainsFunc(options, func(option string) bool {
		first, _, _ := strings.Cut(option, ",")
		return first == "name="+name
	})
}

// fixes are holes of runc through which a sandbox could leave, and the first versions without them.
var fixes = []struct {
	hole     string
	versions [][3]int // one for each branch
}{
	{"CVE-2024-21626", [][3]int{{1, 1, 12}}},
	{"CVE-2025-31133, CVE-2025-52565 and CVE-2025-52881", [][3]int{{1, 2, 8}, {1, 3, 3}, {1, 4, 0}}},
}

// lacks are sentences about holes that the runtime's version is known to have. A distribution may have mended them
// without a new number, which the version alone does not tell.
func (f facts) lacks() []string {
	have, ok := parseVersion(f.runc)
	if !ok {
		return nil
	}
	var lacks []string
	for _, fix := range fixes {
		if !fixed(have, fix.versions) {
			lacks = append(lacks, fmt.Sprintf("runc %s is older than the version that closed %s; unless the distribution has mended it, update it", f.runc, fix.hole))
		}
	}
	return lacks
}

// fixed says whether a version is on a branch that has the fix, or on a later one.
func fixed(have [3]int, versions [][3]int) bool {
	newest := versions[len(versions)-1]
	if slices.Compare(have[:], newest[:]) >= 0 {
		return true
	}
	return slices.ContainsFunc(versions, func(v [3]int) bool {
		return v[0] == have[0] && v[1] == have[1] && have[2] >= v[2]
	})
}

// parseVersion reads "1.1.5+ds1-1" and the like.
func parseVersion(text string) (v [3]int, ok bool) {
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "v"), "+")
	text, _, _ = strings.Cut(text, "-")
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return v, false
	}
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil {
			return v, false
		}
		v[i] = n
	}
	return v, true
}
