package docker

import (
	"fmt"

	"torno/sandbox"
)

// guarantee returns the guarantees that hold here, each with its means. byPath tells why workspaces are not mounted by
// handle; "" means that they are.
func (l *Launcher) guarantee(byPath string) sandbox.Guarantees {
	yes := func(by string) sandbox.Guarantee { return sandbox.Guarantee{Enforced: true, By: by} }
	g := sandbox.Guarantees{
		sandbox.NoNetwork:       yes("a network namespace with nothing but loopback, made by the runtime"),
		sandbox.NoCapabilities:  yes("all capabilities dropped, from the bounding set too"),
		sandbox.NoNewPrivileges: yes("no_new_privs"),
		sandbox.SyscallFilter:   yes("seccomp, Torno's own list of allowed system calls: its outline by the runtime, all of it by sandbox-init before the agent starts"),
		sandbox.ReadOnlyRoot:    yes("a read-only root file system"),
		sandbox.PrivateTmp:      yes("bounded tmpfs for /tmp, /dev/shm and the home directory"),
		sandbox.Namespaces:      yes("pid, ipc, uts, mount and cgroup namespaces of its own"),
		sandbox.OwnIdentity:     yes(fmt.Sprintf("user and group %d plus the slot, and idmapped mounts", l.options.UIDs.First)),
		sandbox.MountsByHandle:  yes("clones of held directories, moved into a slot; tried at start"),
		sandbox.MountProof:      yes("sandbox-init compares device and inode before the agent starts"),
		sandbox.OpenFilesLimit:  yes("rlimit nofile"),
		sandbox.FileSizeLimit:   yes("rlimit fsize"),
		sandbox.LogLimit:        yes("log driver local, two bounded files"),
		sandbox.KernelIsolation: {By: "containers share the host's kernel; sandboxes of the gvisor launcher do not"},
	}
	g[sandbox.Sockets] = l.guaranteeSockets(byPath == "")
	for key, by := range map[sandbox.GuaranteeKey]string{
		sandbox.MemoryLimit: "memory cgroup", sandbox.SwapLimit: "memory cgroup, swap counted in",
		sandbox.CPULimit: "cpu cgroup, CFS quota", sandbox.PidsLimit: "pids cgroup",
	} {
		g[key] = yes(by)
		if !l.facts.Limits[key] {
			g[key] = sandbox.Guarantee{By: "the engine's kernel has no " + by + " (docker info or the trial says so)"}
		}
	}
	g[sandbox.Attested] = yes("the host compares init's mounts, identity, namespaces, filter and limits from outside before the agent runs")
	if l.unattested != "" {
		g[sandbox.Attested] = sandbox.Guarantee{By: l.unattested}
	}
	if byPath != "" {
		g[sandbox.MountsByHandle] = sandbox.Guarantee{By: byPath}
		g[sandbox.OwnIdentity] = sandbox.Guarantee{By: "a sandbox runs as the owner of its workspace: " + byPath}
	}
	return g
}

func (l *Launcher) guaranteeSockets(byHandle bool) sandbox.Guarantee {
	switch {
	case l.shut:
		return sandbox.Guarantee{Enforced: true, By: "Landlock, set by sandbox-init before the agent starts; tried at start"}
	case byHandle:
		return sandbox.Guarantee{By: "a socket in the workspace can be reached, but none in a context: " + noLandlock}
	}
	return sandbox.Guarantee{By: "a socket in the workspace or in a context can be reached: " + noLandlock}
}

const noLandlock = "the engine's kernel cannot restrict sockets with Landlock (Linux 7.1 can, if landlock is among its security modules)"
