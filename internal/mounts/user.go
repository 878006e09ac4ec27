package mounts

import "slices"

// User is a user of this host with the groups in which this host's files know the user.
type User struct {
	UID    uint32
	GID    uint32 // NoGroup where the host knows none
	Groups []uint32
}

// NoGroup is the number of a group that has no member and no file.
const NoGroup = noID - 1

// In says whether the user is a member of a group. Root needs no membership.
func (u User) In(gid uint32) bool {
	return u.UID == 0 || gid == u.GID || slices.Contains(u.Groups, gid)
}
