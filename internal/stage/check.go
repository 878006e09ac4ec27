package stage

import (
	"fmt"
	"slices"

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

// CheckLimits makes sure that no limit is an engine's word for "none".
func CheckLimits(limits sandbox.Limits) error {
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

// checkOwner is for sandboxes that run as the owner of their workspace.
func checkOwner(who mounts.Identity, owners []uint32) error {
	refusal := &delegation.Refusal{Code: delegation.CodeIdentity, Field: "workspace"}
	switch {
	case who.UID == 0 || who.GID == 0:
		refusal.Text = fmt.Sprintf("The workspace belongs to %d:%d, and no sandbox runs as root or in root's group", who.UID, who.GID)
		refusal.Hint = "give the workspace to an ordinary user and group"
	case !slices.Contains(owners, who.UID):
		refusal.Text = fmt.Sprintf("The workspace belongs to user %d, as whom sandboxes of this outbox may not run", who.UID)
		refusal.Hint = "have the operator add the user to the outbox's owners"
	default:
		return nil
	}
	return refusal
}
