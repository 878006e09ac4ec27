package doctor

import (
	"fmt"
	"slices"
)

// each judges the makers that can be used.
func each(s System, judge func(Maker) Finding) (found []Finding) {
	for _, e := range s.Makers {
		if e.Trouble == "" {
			found = append(found, judge(e))
		}
	}
	return found
}

// one judges the daemon, if it answers. A program has nothing of the sort to be judged.
func one(s System, judge func(Maker) Finding) []Finding {
	s.Makers = slices.DeleteFunc(slices.Clone(s.Makers), func(e Maker) bool { return e.Program })
	return each(s, judge)
}

func (e Maker) works() bool { return e.Trouble == "" }

func lookAtMakers(s System) (found []Finding) {
	for _, e := range s.Makers {
		found = append(found, e.judge(slices.ContainsFunc(s.Makers, Maker.works)))
	}
	if len(s.Makers) == 0 {
		found = []Finding{{Verdict: Unknown, Seen: "nobody was asked", Means: "whether there can be sandboxes is not known"}}
	}
	return found
}

// judge says what a maker is, or what it means that it cannot be used. another says that some other can.
func (e Maker) judge(another bool) Finding {
	switch {
	case e.Trouble != "" && e.Spare && another:
		return Finding{Verdict: OK, Seen: e.Trouble, Means: "the profiles that take what there is have another launcher; see choice"}
	case e.Trouble != "":
		return Finding{
			Verdict: Bad, Refuses: true, Seen: e.Trouble, Means: "without an engine there are no sandboxes", Do: e.Remedy,
		}
	case e.Program:
		return Finding{Verdict: OK, Seen: fmt.Sprintf("%s %s, at %s", e.Title, e.Version, e.Socket), Means: "it needs no engine, and it is new enough"}
	}
	return Finding{
		Verdict: OK, Seen: fmt.Sprintf("%s %s, API %s, at %s", e.Title, e.Version, e.API, e.Socket), Means: "it answers, and it is new enough",
	}
}

func lookAtArchitecture(s System) []Finding {
	return each(s, func(e Maker) Finding {
		if e.Arch == "" {
			return Finding{
				Verdict: Bad, Refuses: true, Seen: "the machine is " + e.Machine,
				Means: "the list of allowed system calls exists for amd64 and arm64 only", Do: "use such a machine",
			}
		}
		return Finding{Verdict: OK, Seen: e.Arch, Means: "there is a list of allowed system calls for it"}
	})
}

func lookAtSeccomp(s System) []Finding {
	return one(s, func(e Maker) Finding {
		if !e.Seccomp {
			return Finding{
				Verdict: Bad, Refuses: true, Seen: "the engine does not name seccomp among its security options",
				Means: "the engine filters no system calls (seccomp is missing or switched off), and no sandbox goes without",
				Do:    "use a kernel and an engine with seccomp",
			}
		}
		return Finding{Verdict: OK, Seen: "the engine has seccomp", Means: "every child gets Torno's own list of allowed system calls"}
	})
}

func lookAtRemapping(s System) []Finding {
	return one(s, func(e Maker) Finding {
		f := Finding{Verdict: Bad, Refuses: true}
		switch {
		case e.Rootless:
			f.Seen, f.Means = "the engine is rootless", "it cannot give a sandbox an identity of its own"
			f.Do = "use an engine that runs as root"
		case e.Remapped:
			f.Seen, f.Means = "the engine remaps users (userns-remap)", "files in a workspace would get foreign owners"
			f.Do = "use an engine without userns-remap; a child is no root without it either"
		default:
			return Finding{Verdict: OK, Seen: "neither rootless nor userns-remap", Means: "a child's uid is the one that Torno gives it"}
		}
		return f
	})
}

func lookAtLogDriver(s System) []Finding {
	return one(s, func(e Maker) Finding {
		if !e.BoundedLogs {
			return Finding{
				Verdict: Bad, Refuses: true, Seen: `the engine has no log driver "local"`,
				Means: "a child's output could fill the disk", Do: "use an engine that has it, as Docker does from 18.09 on",
			}
		}
		return Finding{Verdict: OK, Seen: `the engine has the log driver "local"`, Means: "what it keeps of a child's output is bounded"}
	})
}

func lookAtSecurityModule(s System) []Finding {
	return one(s, func(e Maker) Finding {
		switch {
		case e.AppArmor:
			return Finding{Verdict: OK, Seen: "AppArmor", Means: "containers have the engine's profile as one more fence"}
		case e.SELinux:
			return Finding{
				Verdict: OK, Seen: "SELinux", Means: "containers have labels as one more fence; a workspace needs one that they may use",
				Do: "where a child may not touch its workspace, label the workspace container_file_t",
			}
		}
		return Finding{
			Verdict: Warn, Seen: "neither AppArmor nor SELinux",
			Means: "a child that gets around namespaces and seccomp meets no further fence",
			Do:    "switch on the one that your distribution has; Torno's own walls do not need it",
		}
	})
}

func lookAtCgroups(s System) []Finding {
	return one(s, func(e Maker) Finding {
		switch e.Cgroups {
		case "1", "2":
			return Finding{Verdict: OK, Seen: "version " + e.Cgroups, Means: "limits are enforced with either version; a child has a cgroup namespace of its own"}
		}
		return Finding{
			Verdict: Unknown, Seen: fmt.Sprintf("the engine says version %q", e.Cgroups), Means: "how limits are enforced is not known",
			Do: "see bounds, which is what the engine says that it enforces",
		}
	})
}

// triedRuntimes are those that Torno's tests run.
var triedRuntimes = []string{"runc", "io.containerd.runc.v2"}

func lookAtRuntime(s System) []Finding {
	return each(s, func(e Maker) Finding {
		if e.Program {
			return Finding{Verdict: OK, Seen: e.Runtime + " " + e.Version, Means: joined("it is the runtime itself", e.Fixes)}
		}
		if e.RunsGVisor {
			return Finding{
				Verdict: Bad, Refuses: true, Seen: e.Runtime,
				Means: "gVisor as the engine's runtime looks paths of nested mounts up again, through directories that the parent may change meanwhile",
				Do:    "have sandboxes of gVisor without the engine (sandbox: gvisor), or name another runtime (docker.runtime: runc)",
			}
		}
		if slices.Contains(triedRuntimes, e.Runtime) {
			return Finding{Verdict: OK, Seen: e.Runtime, Means: "it is the runtime that Torno's walls are tried with"}
		}
		return Finding{
			Verdict: Unknown, Seen: e.Runtime, Means: "Torno's walls are tried with runc only",
			Do: "watcher check --try shows whether sandboxes start; set default-runtime to runc where that matters",
		}
	})
}

// joined are two parts of a sentence; the second one may be missing.
func joined(first, second string) string {
	if second == "" {
		return first
	}
	return first + "; " + second
}
