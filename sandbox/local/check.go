package local

import (
	"fmt"

	"torno/delegation"
	"torno/internal/mounts"
	"torno/sandbox"
)

// CheckGuarantees refuses a spec that demands what is not enforced here (I3).
func CheckGuarantees(spec sandbox.Spec, enforced sandbox.Guarantees) error {
	missing := enforced.Missing(spec.AtLeast)
	if len(missing) == 0 {
		return nil
	}
	why := enforced[missing[0]].By
	if why == "" {
		why = "it is not known here"
	}
	return &delegation.Refusal{
		Code: delegation.CodeNotEnforced, Field: "profile",
		Text: fmt.Sprintf("Profile %s demands %s, which is not enforced here: %s", spec.Profile, missing[0], why),
		Hint: "choose another profile, or have the operator take it out of at_least",
	}
}

// The kernel counts these by user, beside processes. A sandbox that runs as the owner of its workspace may take a part of what
// the owner has, and leaves the rest: engines give much more of both.
const (
	PendingSignals = 1024      // also timers
	MessageBytes   = 400 << 10 // in POSIX message queues
)

// checkLimits makes sure that no limit is an engine's word for "none".
func checkLimits(limits sandbox.Limits) error {
	for name, value := range map[string]int64{
		"memory": limits.Memory, "cpus": limits.CPUs, "pids": limits.Pids, "open_files": limits.OpenFiles,
		"file_size": limits.FileSize, "tmp": limits.Tmp, "home": limits.Home, "shm": limits.Shm, "log": limits.Log,
	} {
		if value <= 0 {
			return fmt.Errorf("limit %s is %d; every sandbox has a positive one", name, value)
		}
	}
	return nil
}

// refuse turns a mount down; the path is in the parent's own words.
func refuse(m sandbox.Mount, why, hint string) *delegation.Refusal {
	if m.Workspace {
		return &delegation.Refusal{
			Code: delegation.CodeWorkspace, Field: "workspace", Text: fmt.Sprintf("Workspace %q %s", m.Target, why), Hint: hint,
		}
	}
	return &delegation.Refusal{
		Code: delegation.CodeContext, Field: "context_paths", Text: fmt.Sprintf("Context path %q %s", m.Target, why), Hint: hint,
	}
}

func hintFor(wrong *mounts.PathError) string {
	switch wrong.Kind {
	case mounts.KindKept:
		return wrong.Err.Error()
	case mounts.KindMissing:
		return "create it before the request is written"
	case mounts.KindLink:
		return "name the real path; a file must have one name only"
	case mounts.KindNotDir, mounts.KindSpecial:
		return "name a directory, or for context a regular file"
	case mounts.KindMountpoint:
		return "have the operator list the mount as a root of its own"
	case mounts.KindDenied:
		return "have the operator give the watcher access to it"
	default:
		return "name a path under a root that this outbox allows"
	}
}
