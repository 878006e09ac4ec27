package mounts

import "slices"

// User is a user of this host, with the groups of the user in this host's files.
type User struct {
	UID    uint32
	GID    uint32 // NoGroup if the host knows no group
	Groups []uint32
}

// NoGroup is the number of a group that has no member and no file.
const NoGroup = noID - 1

// In reports whether the user is a member of a group. Root needs no membership.
func (u User) In(gid uint32) bool {
	return u.UID == 0 || gid == u.GID || slices.Contains(u.Groups, gid)
}
