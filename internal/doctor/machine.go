package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"torno/sandbox"
)

func lookAtConfiguration(s System) (found []Finding) {
	for _, p := range s.Problems {
		found = append(found, Finding{Verdict: Bad, Seen: p, Means: "the configuration does not fit this machine: watcher run does not start, or does not serve the outbox in this line", Do: "correct it"})
	}
	for _, w := range s.Warnings {
		found = append(found, Finding{Verdict: Warn, Seen: w, Means: "it works, but was probably not intended", Do: "check it"})
	}
	if len(found) == 0 {
		found = []Finding{{Verdict: OK, Seen: "nothing that it names is missing, but for what watcher run makes", Means: "it fits this machine"}}
	}
	return found
}

// idmapKernel is the first version of Linux with idmapped mounts.
var idmapKernel = version{5, 12}

func lookAtKernel(s System) []Finding {
	have, ok := parseVersion(s.Host.Kernel)
	switch {
	case !ok:
		return []Finding{{Verdict: Unknown, Seen: fmt.Sprintf("its release is %q", s.Host.Kernel), Means: "mounts by handle need Linux 5.12", Do: "see mounting, which tests this"}}
	case have.before(idmapKernel):
		return []Finding{{
			Verdict: Warn, Seen: "Linux " + s.Host.Kernel, Means: "mounts by handle need 5.12: children run as the owners of their workspaces",
			Do: "update the kernel",
		}}
	}
	return []Finding{{
		Verdict: OK, Seen: "Linux " + s.Host.Kernel,
		Means: "it supports mounts by handle; children without gVisor share this kernel, so its updates are part of the wall",
	}}
}

func lookAtUserNamespaces(s System) []Finding {
	limit, err := strconv.Atoi(s.Host.MaxUserNamespaces)
	switch {
	case err != nil:
		return []Finding{{Verdict: Unknown, Seen: "user.max_user_namespaces cannot be read", Means: "exchanged ids need user namespaces", Do: "see idmap, which tests this"}}
	case limit == 0:
		return []Finding{{
			Verdict: Warn, Seen: "user.max_user_namespaces = 0", Means: "ids cannot be exchanged: children run as the owners of their workspaces",
			Do: "sysctl -w user.max_user_namespaces=1024, and in /etc/sysctl.d",
		}}
	}
	means := "the watcher can exchange ids for mounts by handle"
	if !s.Host.MayMount {
		means = "a watcher that may not mount here can make a user namespace for each sandbox of gVisor, and mount there"
	}
	return []Finding{{Verdict: OK, Seen: fmt.Sprintf("user.max_user_namespaces = %d", limit), Means: means}}
}

func lookAtUnprivileged(s System) []Finding {
	f := Finding{Verdict: OK, Seen: "every user may make them", Means: "a child can never make one: none of its allowed system calls does"}
	switch {
	case s.Host.UnprivilegedUserns == "0":
		f.Seen = "kernel.unprivileged_userns_clone = 0"
	case s.Host.AppArmorUserns == "1":
		f.Seen = "kernel.apparmor_restrict_unprivileged_userns = 1"
	case s.Host.MaxUserNamespaces == "0":
		f.Seen = "user.max_user_namespaces = 0"
	default:
		return []Finding{f}
	}
	needs := slices.IndexFunc(s.Launchers, func(e Launcher) bool { return e.UserNamespaces })
	if !s.Host.MayMount && needs >= 0 {
		f.Verdict, f.Means = Warn, fmt.Sprintf("a watcher that is not root mounts in a user namespace; without one it has no sandboxes of %s", s.Launchers[needs].Title)
		f.Do = "allow them (sysctl -w), or run the watcher as root"
	}
	return []Finding{f}
}

func lookAtCorePattern(s System) []Finding {
	pattern := s.Host.CorePattern
	switch {
	case pattern == "":
		return []Finding{{Verdict: Unknown, Seen: "kernel.core_pattern cannot be read", Means: "the kernel could give the memory of a crashed child to a program of the host"}}
	case strings.HasPrefix(pattern, "|"):
		return []Finding{{
			Verdict: Warn, Seen: fmt.Sprintf("kernel.core_pattern = %q", pattern),
			Means: "the kernel gives the memory of a crashed child to this program, which runs on the host as root; a child's core limit of 0 does not prevent this",
			Do:    "sysctl -w kernel.core_pattern=core, or keep a handler that you trust with hostile input",
		}}
	}
	return []Finding{{Verdict: OK, Seen: fmt.Sprintf("kernel.core_pattern = %q", pattern), Means: "a child that crashes leaves no core: its limit is 0"}}
}

func lookAtInotify(s System) []Finding {
	seen := "fs.inotify.max_user_instances = " + or(s.Host.InotifyInstances, "unknown")
	switch {
	case len(s.Guarantees) == 0 || s.Host.InotifyInstances == "":
		return []Finding{{Verdict: Unknown, Seen: seen, Means: "Linux counts them for each user; with mounts by handle each child is a user of its own, with mounts by path it counts as its workspace's owner"}}
	case !s.every(countsForItself):
		return []Finding{{
			Verdict: Warn, Seen: seen + ", by path", Means: "a child shares them with its workspace's owner and can use them up: then editors of that user no longer see changes",
			Do: "get mounts by handle to work, or raise the limit",
		}}
	}
	return []Finding{{Verdict: OK, Seen: seen, Means: "each child has its own: it is a separate user, or has a kernel of its own"}}
}

// countsForItself reports whether things that Linux counts for each user are counted for each child.
func countsForItself(g sandbox.Guarantees) bool {
	return ownIdentity(g) || g[sandbox.KernelIsolation].Enforced
}

func lookAtSwap(s System) []Finding {
	bounded := len(s.Guarantees) > 0
	for _, name := range s.launchers() {
		bounded = bounded && s.Guarantees[name][sandbox.SwapLimit].Enforced
	}
	switch {
	case bounded:
		return []Finding{{Verdict: OK, Seen: "swap is counted", Means: "a child's memory limit includes swap"}}
	case s.Host.SwapKiB == 0:
		return []Finding{{Verdict: OK, Seen: "this machine has no swap", Means: "a child cannot use swap to get around its memory limit"}}
	case len(s.Guarantees) == 0:
		return []Finding{{Verdict: Unknown, Seen: "no launcher says whether swap is counted", Means: "a child could use swap beyond its memory limit"}}
	}
	return []Finding{{
		Verdict: Warn, Seen: fmt.Sprintf("this machine has %d MiB of swap, and it is not counted", s.Host.SwapKiB>>10),
		Means: "a child can fill it beyond its memory limit", Do: "boot with swapaccount=1, or demand swap in at_least of a profile",
	}}
}

func lookAtMounting(s System) []Finding {
	found := s.noLauncher()
	who := map[bool]string{true: "we may mount", false: "we may not mount"}[s.Host.MayMount]
	for _, name := range s.launchers() {
		g := s.Guarantees[name][sandbox.MountsByHandle]
		if g.Enforced {
			found = append(found, Finding{
				Verdict: OK, Seen: fmt.Sprintf("%s; mounts arrive in a sandbox of %s, according to %s", who, name, or(s.Asked, "the launcher")),
				Means: "a child gets exactly the directory that the watcher checked",
			})
			continue
		}
		found = append(found, Finding{
			Verdict: Warn, Seen: fmt.Sprintf("%s; %s", who, or(g.By, "nothing is known")),
			Means: "workspaces are mounted by path: sandbox-init notices a replaced directory before the agent starts, and children share the uid of their workspace's owner",
			Do:    "run as root in the engine's mount namespace (a unit without ProtectSystem, PrivateTmp and the like), on file systems that know idmapped mounts",
		})
	}
	return found
}
