package local

import (
	"fmt"

	"torno/delegation"
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
