package survey

import (
	"slices"
	"strings"

	"github.com/docker/docker/api/types"
	dockersystem "github.com/docker/docker/api/types/system"

	"torno/internal/doctor"
	"torno/sandbox"
)

// engineArchitectures translates the engines' names of the processors that we have a filter for.
var engineArchitectures = map[string]string{
	"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64",
}

// Facts holds the engine's answers about itself that matter for making sandboxes.
type Facts struct {
	Arch string
	CPUs int64 // thousandths
	// Limits tells which of the optional limits the kernel and the engine have.
	Limits map[sandbox.GuaranteeKey]bool
}

// FactsOf reads the engine's answer. It refuses an engine that cannot hold a sandbox at all, or not with this runtime.
func FactsOf(info dockersystem.Info, wanted string) (Facts, error) {
	about, err := engineOf(info, types.Version{}, wanted)
	if err != nil {
		return Facts{}, err
	}
	return Facts{
		Arch: about.Arch, CPUs: int64(info.NCPU) * 1000,
		Limits: map[sandbox.GuaranteeKey]bool{
			sandbox.MemoryLimit: info.MemoryLimit, sandbox.SwapLimit: info.SwapLimit,
			sandbox.CPULimit: info.CPUCfsQuota && info.CPUCfsPeriod, sandbox.PidsLimit: info.PidsLimit,
		},
	}, doctor.Unfit(about)
}

// engineOf describes an engine with the wanted runtime in the doctor's terms. The doctor decides whether the engine is
// fit.
func engineOf(info dockersystem.Info, version types.Version, wanted string) (doctor.Launcher, error) {
	runtime, gVisor, err := runtimeOf(info, wanted)
	return doctor.Launcher{
		Version: info.ServerVersion, API: version.APIVersion, Machine: info.Architecture, Arch: engineArchitectures[info.Architecture],
		Runtime: runtime, RunsGVisor: gVisor,
		Seccomp: hasOption(info.SecurityOptions, "seccomp"), AppArmor: hasOption(info.SecurityOptions, "apparmor"),
		SELinux: hasOption(info.SecurityOptions, "selinux"), Rootless: hasOption(info.SecurityOptions, "rootless"),
		Remapped: hasOption(info.SecurityOptions, "userns"), Cgroups: info.CgroupVersion,
		BoundedLogs: slices.Contains(info.Plugins.Log, "local"),
	}, err
}

// hasOption looks for a security option such as "name=seccomp,profile=default".
func hasOption(options []string, name string) bool {
	return slices.ContainsFunc(options, func(option string) bool {
		first, _, _ := strings.Cut(option, ",")
		return first == "name="+name
	})
}
