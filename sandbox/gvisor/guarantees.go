//go:build linux

package gvisor

import (
	"fmt"

	"torno/sandbox"
)

// guaranteesOf is what a launcher enforces with the control groups that it has, or why it has none.
func guaranteesOf(groups groups) sandbox.Guarantees {
	all := sandbox.Guarantees{}
	for key, by := range map[sandbox.GuaranteeKey]string{
		sandbox.NoNetwork:       "a network stack of the sandbox's own, which has only a loopback",
		sandbox.NoCapabilities:  "none is given; init refuses to run with one",
		sandbox.NoNewPrivileges: "always so in gVisor",
		sandbox.SyscallFilter:   "seccomp in gVisor's kernel, installed by sandbox-init before the agent starts; gVisor's own filter around it",
		sandbox.ReadOnlyRoot:    "a read-only root and read-only mounts",
		sandbox.PrivateTmp:      "bounded file systems in the sandbox's memory",
		sandbox.Namespaces:      "a kernel of the sandbox's own",
		sandbox.OwnIdentity:     "a user and group of a range, and idmapped mounts",
		sandbox.MountsByHandle:  "clones of held directories, moved into place",
		sandbox.MountProof:      "device, inode and flags of what lies in the slot are compared before the start; that no link leads to it is init's word",
		sandbox.OpenFilesLimit:  "rlimit nofile", sandbox.FileSizeLimit: "rlimit fsize",
		sandbox.LogLimit:        "the keeper's log has two pieces",
		sandbox.KernelIsolation: "gVisor: the child talks to a kernel in user space",
		sandbox.Attested:        "the host compares the mounts, rights, namespaces and limits of sentry and gofer from outside before the agent runs",
	} {
		all[key] = sandbox.Guarantee{Enforced: true, By: by}
	}
	for key, by := range map[sandbox.GuaranteeKey]string{
		sandbox.MemoryLimit: "memory control group, with %d MiB for gVisor itself", sandbox.CPULimit: "CPU control group",
		sandbox.PidsLimit: "rlimit nproc in the sandbox, and the pids control group around it", sandbox.SwapLimit: "memory control group",
	} {
		all[key] = groups.guarantee(key, by)
	}
	return all
}

func (g groups) guarantee(key sandbox.GuaranteeKey, by string) sandbox.Guarantee {
	switch {
	case g.err != nil:
		return sandbox.Guarantee{By: g.err.Error()}
	case key == sandbox.SwapLimit && !g.tree.Swap():
		return sandbox.Guarantee{By: "the kernel does not count swap"}
	case key == sandbox.CPULimit && !g.tree.CPU():
		return sandbox.Guarantee{By: "the controller cpu is not among those that were delegated"}
	case key == sandbox.MemoryLimit:
		by = fmt.Sprintf(by, memoryReserve>>20)
	}
	return sandbox.Guarantee{Enforced: true, By: fmt.Sprintf("%s, version %d", by, g.tree.Version())}
}
