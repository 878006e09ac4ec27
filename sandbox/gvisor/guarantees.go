//go:build linux

package gvisor

import (
	"maps"

	"torno/sandbox"
	"torno/sandbox/gvisor/groups"
)

// guaranteesOf returns the guarantees that a launcher enforces with these control groups. If it has no groups, the
// guarantees say why.
func guaranteesOf(groups groups.Groups) sandbox.Guarantees {
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
		sandbox.MountProof:      "the watcher compares device, inode and flags of the mounts in the slot before the start; that no link leads to a mount is only init's word",
		sandbox.OpenFilesLimit:  "rlimit nofile", sandbox.FileSizeLimit: "rlimit fsize",
		sandbox.LogLimit:        "the keeper's log has two pieces",
		sandbox.Sockets:         "gVisor opens no socket of the host's; the profile's come as descriptors",
		sandbox.KernelIsolation: "gVisor: the child talks to a kernel in user space",
		sandbox.Attested:        "the host compares the mounts, rights, namespaces and limits of sentry and gofer from outside before the agent runs",
	} {
		all[key] = sandbox.Guarantee{Enforced: true, By: by}
	}
	maps.Copy(all, groups.Guarantees())
	return all
}

// ordinary removes the guarantees that an ordinary user cannot give.
func ordinary(all sandbox.Guarantees) {
	all[sandbox.OwnIdentity] = sandbox.Guarantee{By: "a watcher that is not root can run sandboxes as itself only"}
	all[sandbox.MountsByHandle] = sandbox.Guarantee{
		Enforced: true, By: "clones of directories that the keeper finds again, by handle, in a mount namespace of its own",
	}
	all[sandbox.MountProof] = sandbox.Guarantee{
		Enforced: true, By: "the keeper compares device, inode and flags with the directories that were found; that no link leads to a mount is only init's word",
	}
}
