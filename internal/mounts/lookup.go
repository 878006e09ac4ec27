package mounts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
)

// UserOf finds the groups of a user in the host's own files. A user without an account has at most one group: the group
// with the user's own number, if the host has no group of this number.
func UserOf(uid uint32) (User, error) {
	if we := os.Geteuid(); we != 0 && uint32(we) == uid {
		return ownUser()
	}
	number := strconv.FormatUint(uint64(uid), 10)
	account, err := user.LookupId(number)
	var unknown user.UnknownUserIdError
	if errors.As(err, &unknown) || errors.Is(err, fs.ErrNotExist) {
		return withoutAccount(uid, number)
	}
	if err != nil {
		return User{}, fmt.Errorf("look up user %d: %w", uid, err)
	}
	groups, err := account.GroupIds()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return User{}, fmt.Errorf("look up the groups of user %d: %w", uid, err)
	}
	who := User{UID: uid}
	for i, text := range append([]string{account.Gid}, groups...) {
		gid, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return User{}, fmt.Errorf("group of user %d: %w", uid, err)
		}
		if i == 0 {
			who.GID = uint32(gid)
		}
		who.Groups = append(who.Groups, uint32(gid))
	}
	return who, nil
}

// ownUser returns the watcher's own user, with the groups that the kernel has for this process.
func ownUser() (User, error) {
	groups, err := os.Getgroups()
	if err != nil {
		return User{}, fmt.Errorf("find our own groups: %w", err)
	}
	who := User{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())}
	for _, gid := range groups {
		who.Groups = append(who.Groups, uint32(gid))
	}
	return who, nil
}

func withoutAccount(uid uint32, number string) (User, error) {
	_, err := user.LookupGroupId(number)
	var unknown user.UnknownGroupIdError
	switch {
	case errors.As(err, &unknown), errors.Is(err, fs.ErrNotExist):
		return User{UID: uid, GID: uid}, nil
	case err != nil:
		return User{}, fmt.Errorf("look up group %d: %w", uid, err)
	}
	return User{UID: uid, GID: NoGroup}, nil
}
