package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"slices"
	"strconv"

	"torno/delegation"
	"torno/internal/mounts"
	"torno/sandbox"
)

// userOf finds the groups of a user in the host's own files. A user without an account has at most one group: the group
// with the user's own number, if the host has no group of this number.
func userOf(uid uint32) (mounts.User, error) {
	if we := os.Geteuid(); we != 0 && uint32(we) == uid {
		return ourselves()
	}
	number := strconv.FormatUint(uint64(uid), 10)
	account, err := user.LookupId(number)
	var unknown user.UnknownUserIdError
	if errors.As(err, &unknown) || errors.Is(err, fs.ErrNotExist) {
		return withoutAccount(uid, number)
	}
	if err != nil {
		return mounts.User{}, fmt.Errorf("look up user %d: %w", uid, err)
	}
	groups, err := account.GroupIds()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return mounts.User{}, fmt.Errorf("look up the groups of user %d: %w", uid, err)
	}
	who := mounts.User{UID: uid}
	for i, text := range append([]string{account.Gid}, groups...) {
		gid, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return mounts.User{}, fmt.Errorf("group of user %d: %w", uid, err)
		}
		if i == 0 {
			who.GID = uint32(gid)
		}
		who.Groups = append(who.Groups, uint32(gid))
	}
	return who, nil
}

// ourselves returns the watcher's own user, with the groups that the kernel has for this process.
func ourselves() (mounts.User, error) {
	groups, err := os.Getgroups()
	if err != nil {
		return mounts.User{}, fmt.Errorf("find our own groups: %w", err)
	}
	who := mounts.User{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())}
	for _, gid := range groups {
		who.Groups = append(who.Groups, uint32(gid))
	}
	return who, nil
}

func withoutAccount(uid uint32, number string) (mounts.User, error) {
	_, err := user.LookupGroupId(number)
	var unknown user.UnknownGroupIdError
	switch {
	case errors.As(err, &unknown), errors.Is(err, fs.ErrNotExist):
		return mounts.User{UID: uid, GID: uid}, nil
	case err != nil:
		return mounts.User{}, fmt.Errorf("look up group %d: %w", uid, err)
	}
	return mounts.User{UID: uid, GID: mounts.NoGroup}, nil
}

// pinWorkspace finds the workspace with the rights of its owner, who must be one of the outbox's owners. It tries the
// rights of each owner in turn, because it learns the workspace's owner only from the lookup.
func pinWorkspace(bases *mounts.Bases, wanted sandbox.Mount, owners []uint32) (*mounts.Pin, mounts.User, error) {
	var denied error
	for _, uid := range owners {
		who, err := userOf(uid)
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
