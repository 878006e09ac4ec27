package local

import (
	"errors"
	"fmt"
	"slices"

	"torno/delegation"
	"torno/internal/mounts"
	"torno/sandbox"
)

// pinWorkspace finds the workspace with the rights of its owner, who must be one of the outbox's owners. It tries the
// rights of each owner in turn, because it learns the workspace's owner only from the lookup.
func pinWorkspace(bases *mounts.Bases, wanted sandbox.Mount, owners []uint32) (*mounts.Pin, mounts.User, error) {
	var denied error
	for _, uid := range owners {
		who, err := mounts.UserOf(uid)
		if err != nil {
			return nil, who, err
		}
		pin, err := pinOne(bases, wanted, who)
		var closed *closedError
		if errors.As(err, &closed) {
			denied = err
			continue
		}
		if err != nil {
			return nil, who, err
		}
		if pin.UID == uid {
			return pin, who, nil
		}
		pin.Close()
		if !slices.Contains(owners, pin.UID) {
			return nil, who, refuseOwner(pin.Owner())
		}
	}
	if denied == nil {
		denied = refuse(wanted, "changed its owner while it was looked at, or the outbox has no owner", "write the request again")
	}
	return nil, mounts.User{}, denied
}

// refuseOwner refuses a workspace whose owner is not one of the outbox's owners.
func refuseOwner(who mounts.Identity) error {
	return &delegation.Refusal{
		Code: delegation.CodeIdentity, Field: "workspace",
		Text: fmt.Sprintf("The workspace belongs to user %d, which is not one of the outbox's owners", who.UID),
		Hint: "give the workspace to an owner of the outbox (chown), or have the operator add the user to the outbox's owners",
	}
}

// checkRunsAs checks a sandbox that runs as the owner of its workspace. Such a sandbox never runs as root, in root's
// group, or in a group that is not the owner's.
func checkRunsAs(who mounts.Identity, owner mounts.User) error {
	refusal := &delegation.Refusal{Code: delegation.CodeIdentity, Field: "workspace"}
	switch {
	case who.UID == 0 || who.GID == 0:
		refusal.Text = fmt.Sprintf("The workspace belongs to %d:%d, and no sandbox runs as root or in root's group", who.UID, who.GID)
		refusal.Hint = "give the workspace to an ordinary user and group"
	case !owner.In(who.GID):
		refusal.Text = fmt.Sprintf("The workspace belongs to %d:%d, and the host does not know user %d as a member of group %d", who.UID, who.GID, who.UID, who.GID)
		refusal.Hint = "give the workspace to a group of its owner (chgrp)"
	default:
		return nil
	}
	return refusal
}
