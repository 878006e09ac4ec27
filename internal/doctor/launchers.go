package doctor

import (
	"fmt"
	"slices"
)

// each judges every launcher that can be used.
func each(s System, judge func(Launcher) Finding) (found []Finding) {
	for _, l := range s.Launchers {
		if l.Trouble == "" {
			found = append(found, judge(l))
		}
	}
	return found
}

// one judges only the launchers with a daemon that answers. The check does not apply to a launcher that is a program.
func one(s System, judge func(Launcher) Finding) []Finding {
	s.Launchers = slices.DeleteFunc(slices.Clone(s.Launchers), func(l Launcher) bool { return l.Program })
	return each(s, judge)
}

func (l Launcher) works() bool { return l.Trouble == "" }

func lookAtLaunchers(s System) (found []Finding) {
	for _, l := range s.Launchers {
		found = append(found, l.judge(slices.ContainsFunc(s.Launchers, Launcher.works)))
	}
	if len(s.Launchers) == 0 {
		found = []Finding{{Verdict: Unknown, Seen: "no launcher was asked", Means: "it is not known whether sandboxes can start"}}
	}
	return found
}

// judge turns a launcher into a finding. another tells that some launcher can be used.
func (l Launcher) judge(another bool) Finding {
	switch {
	case l.Trouble != "" && l.Spare && another:
		return Finding{Verdict: OK, Seen: l.Trouble, Means: "profiles with sandbox: auto use another launcher; see choice"}
	case l.Trouble != "":
		return Finding{
			Verdict: Bad, Refuses: true, Seen: l.Trouble, Means: "without a launcher there are no sandboxes", Do: l.Remedy,
		}
	case l.Program:
		return Finding{Verdict: OK, Seen: fmt.Sprintf("%s %s, at %s", l.Title, l.Version, l.Socket), Means: "it needs no engine, and it is new enough"}
	}
	return Finding{
		Verdict: OK, Seen: fmt.Sprintf("%s %s, API %s, at %s", l.Title, l.Version, l.API, l.Socket), Means: "it answers, and it is new enough",
	}
}

func lookAtArchitecture(s System) []Finding {
	return slices.Compact(each(s, func(l Launcher) Finding { // all launchers of one machine give the same answer
		if l.Arch == "" {
			return Finding{
				Verdict: Bad, Refuses: true, Seen: "the machine is " + l.Machine,
				Means: "the list of allowed system calls exists for amd64 and arm64 only", Do: "use an amd64 or arm64 machine",
			}
		}
		return Finding{Verdict: OK, Seen: l.Arch, Means: "there is a list of allowed system calls for it"}
	}))
}

func lookAtSeccomp(s System) []Finding {
	return one(s, func(l Launcher) Finding {
		if !l.Seccomp {
			return Finding{
				Verdict: Bad, Refuses: true, Seen: "the engine does not name seccomp among its security options",
				Means: "the engine filters no system calls (seccomp is missing or switched off), and no sandbox starts without the filter",
				Do:    "use a kernel and an engine with seccomp",
			}
		}
		return Finding{Verdict: OK, Seen: "the engine has seccomp", Means: "every child gets Torno's own list of allowed system calls"}
	})
}

func lookAtRemapping(s System) []Finding {
	return one(s, func(l Launcher) Finding {
		f := Finding{Verdict: Bad, Refuses: true}
		switch {
		case l.Rootless:
			f.Seen, f.Means = "the engine is rootless", "it cannot give a sandbox an identity of its own"
			f.Do = "use an engine that runs as root"
		case l.Remapped:
			f.Seen, f.Means = "the engine remaps users (userns-remap)", "files in a workspace would get foreign owners"
			f.Do = "use an engine without userns-remap; a child does not run as root there either"
		default:
			return Finding{Verdict: OK, Seen: "neither rootless nor userns-remap", Means: "a child has the uid that Torno gives it"}
		}
		return f
	})
}

func lookAtLogDriver(s System) []Finding {
	return one(s, func(l Launcher) Finding {
		if !l.BoundedLogs {
			return Finding{
				Verdict: Bad, Refuses: true, Seen: `the engine has no log driver "local"`,
				Means: "a child's output could fill the disk", Do: "use an engine that has it, such as Docker 18.09 or newer",
			}
		}
		return Finding{Verdict: OK, Seen: `the engine has the log driver "local"`, Means: "it bounds the output that it keeps of a child"}
	})
}

func lookAtSecurityModule(s System) []Finding {
	return one(s, func(l Launcher) Finding {
		switch {
		case l.AppArmor:
			return Finding{Verdict: OK, Seen: "AppArmor", Means: "containers have the engine's profile as one more fence"}
		case l.SELinux:
			return Finding{
				Verdict: OK, Seen: "SELinux", Means: "containers have labels as one more fence; a workspace needs a label that they may use",
				Do: "if a child may not use its workspace, label the workspace container_file_t",
			}
		}
		return Finding{
			Verdict: Warn, Seen: "neither AppArmor nor SELinux",
			Means: "no further fence stops a child that gets around namespaces and seccomp",
			Do:    "switch on the module that your distribution has; Torno's own walls do not need it",
		}
	})
}

func lookAtCgroups(s System) []Finding {
	return one(s, func(l Launcher) Finding {
		switch l.Cgroups {
		case "1", "2":
			return Finding{Verdict: OK, Seen: "version " + l.Cgroups, Means: "limits are enforced with either version; a child has a cgroup namespace of its own"}
		}
		return Finding{
			Verdict: Unknown, Seen: fmt.Sprintf("the engine says version %q", l.Cgroups), Means: "it is not known how limits are enforced",
			Do: "see bounds: these are the limits that the engine says it enforces",
		}
	})
}

// triedRuntimes are the runtimes that Torno's tests use.
var triedRuntimes = []string{"runc", "io.containerd.runc.v2"}

func lookAtRuntime(s System) []Finding {
	return each(s, func(l Launcher) Finding {
		if l.Program {
			return Finding{Verdict: OK, Seen: l.Runtime + " " + l.Version, Means: joined("it is the runtime itself", l.Fixes)}
		}
		if l.RunsGVisor {
			return Finding{
				Verdict: Bad, Refuses: true, Seen: l.Runtime,
				Means: "gVisor as the engine's runtime looks up the paths of nested mounts again, and the parent may have changed directories on the way",
				Do:    "run sandboxes of gVisor without the engine (sandbox: gvisor), or name another runtime (docker.runtime: runc)",
			}
		}
		if slices.Contains(triedRuntimes, l.Runtime) {
			return Finding{Verdict: OK, Seen: l.Runtime, Means: "Torno's walls are tested with this runtime"}
		}
		return Finding{
			Verdict: Unknown, Seen: l.Runtime, Means: "Torno's walls are tested with runc only",
			Do: "watcher check --try shows whether sandboxes start; set default-runtime to runc if that matters",
		}
	})
}

// joined joins two parts of a sentence. The second part may be empty.
func joined(first, second string) string {
	if second == "" {
		return first
	}
	return first + "; " + second
}
