package attest

import "fmt"

// Identity is who a process should be, and what it should be able to do. It never has a capability and never gains privileges.
type Identity struct {
	UID, GID uint32
	Filtered bool // a filter of system calls is in force already
}

// Place is what should be at a path of a sandbox.
type Place struct {
	Target        string
	Device, Inode uint64 // 0 and 0 where only the flags count
	Writable      bool
	Hardened      bool // nosuid and nodev
}

func (p Place) String() string {
	text := fmt.Sprintf("device %d inode %d", p.Device, p.Inode)
	if p.Device == 0 && p.Inode == 0 {
		text = "there"
	}
	if p.Writable {
		text += ", writable"
	} else {
		text += ", read-only"
	}
	if p.Hardened {
		text += ", nosuid and nodev"
	}
	return text
}
