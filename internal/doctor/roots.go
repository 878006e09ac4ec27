package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// eachRoot judges every root that could be looked at. The check of the configuration reports a missing root as a
// problem.
func eachRoot(s System, judge func(Root) Finding) (found []Finding) {
	for _, r := range s.Roots {
		switch {
		case r.Missing:
			found = append(found, Finding{Verdict: Unknown, Seen: r.Path + " does not exist yet", Means: "its file system is not known", Do: "make it, or start the watcher with --dir, which makes it"})
		case r.Error != "":
			found = append(found, Finding{Verdict: Unknown, Seen: r.Path + ": " + r.Error, Means: "its file system is not known", Do: "give the watcher the right to open it"})
		default:
			found = append(found, judge(r))
		}
	}
	return found
}

// farKinds are kinds of file systems on which others can change files without this kernel noticing.
var farKinds = []string{"nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "9p", "fuse", "fuseblk", "virtiofs", "ceph", "afs", "vboxsf", "prl_fs", "vmhgfs"}

// far reports whether a root lies on another machine, or on the host of this virtual machine.
func (r Root) far() bool {
	return slices.Contains(farKinds, r.FileSystem) || slices.Contains(farKinds, r.Kind) || strings.HasPrefix(r.Kind, "fuse.")
}

func lookAtFileSystems(s System) []Finding {
	return eachRoot(s, func(r Root) Finding {
		seen := fmt.Sprintf("%s is on %s", r.Path, or(r.Kind, r.FileSystem))
		if !r.far() {
			return Finding{Verdict: OK, Seen: seen, Means: "it is this machine's own"}
		}
		return Finding{
			Verdict: Warn, Seen: seen + ", which is a network's, a program's or a virtual machine's share",
			Means: "the watcher is not told of files that are written on its other side, so it finds requests later, when it looks; its locks may not keep a second watcher out; when its other side is gone, it hangs",
			Do:    "put this directory on a disk of this machine: name another directory in dir, allow or read of the outbox",
		}
	})
}

func lookAtIDMaps(s System) []Finding {
	return eachRoot(s, func(r Root) Finding {
		seen := fmt.Sprintf("%s (%s)", r.Path, r.FileSystem)
		switch {
		case s.every(ourselves):
			return Finding{Verdict: OK, Seen: seen + " was not tried: no ids are exchanged", Means: "files that a child makes belong to the watcher's user, as its workspace does"}
		case r.NotTried:
			return Finding{Verdict: Unknown, Seen: seen + " was not tried: we may not mount", Means: "only a user that may mount can try it", Do: "run this as root"}
		case r.IDMap != "":
			return Finding{
				Verdict: Warn, Seen: seen + " was not mounted with exchanged ids: " + r.IDMap,
				Means: "because of one such root all mounts are by path", Do: "keep workspaces and context on ext4, xfs, btrfs, or tmpfs from Linux 6.3 on",
			}
		}
		return Finding{Verdict: OK, Seen: seen + " was mounted with exchanged ids", Means: "files that a child makes belong to the workspace's owner"}
	})
}

// Free space below one of these bounds is too little, because the watcher and other programs need some.
const (
	littleFree  = 1 << 30 // bytes
	littleShare = 20      // one part in so many of the file system
)

func lookAtSpace(s System) []Finding {
	return eachRoot(s, func(r Root) Finding {
		f := Finding{Verdict: OK, Seen: fmt.Sprintf("%s has %s of %s free", r.Path, inGiB(r.Free), inGiB(r.Size)), Means: "there is room"}
		if r.Free < littleFree || r.Free < r.Size/littleShare {
			f.Verdict, f.Means, f.Do = Warn, "children can fill the remaining space; then other programs cannot write there either", "make room, or move the root to a file system of its own"
		}
		return f
	})
}

func lookAtQuotas(s System) []Finding {
	return eachRoot(s, func(r Root) Finding {
		switch {
		case r.FileSystem == "btrfs" || r.FileSystem == "zfs":
			return Finding{Verdict: Unknown, Seen: r.Path + " is on " + r.FileSystem, Means: "its quotas are not visible in its mount", Do: "see btrfs qgroup show, or zfs get quota"}
		case r.Quota:
			return Finding{Verdict: OK, Seen: r.Path + " is on a file system with quotas", Means: "the quotas that you set there bound children too"}
		}
		return Finding{
			Verdict: OK, Seen: r.Path + " is on a file system without quotas", Means: "only the limits of a profile bound the files that a child leaves there",
			Do: "if that is not enough, mount it with prjquota or give it a file system of its own",
		}
	})
}

func inGiB(bytes uint64) string { return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30)) }
