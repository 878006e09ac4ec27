package attest

import (
	"fmt"
	"os"
	"syscall"
)

// Identity holds the ids and rights that a process should have. The process never has a capability and never gains
// privileges.
type Identity struct {
	UID, GID uint32
	Filtered bool // a filter of system calls is already in force
}

// Rights are the rights that every thread of a process should have.
type Rights struct {
	UID          uint32
	Capabilities uint64 // all that it may have
	Bounding     uint64 // capabilities that only the bounding set may have in addition
}

// Want describes the mount that should be at a path of a sandbox.
type Want struct {
	Target   string `json:"target"`
	Device   uint64 `json:"device,omitempty"` // 0, like the inode, if only the flags count
	Inode    uint64 `json:"inode,omitempty"`
	Writable bool   `json:"writable,omitempty"`
	Hardened bool   `json:"hardened,omitempty"` // nosuid and nodev
	// Over is the number of the only mount that may lie beneath this mount: the host's own empty directory, in a
	// sandbox that was made ahead. 0 stands for none.
	Over uint64 `json:"-"`
}

// WantOf returns the Want for a target where a file or directory of the host's own is shown read-only.
func WantOf(source, target string) (Want, error) {
	info, err := os.Stat(source)
	if err != nil {
		return Want{}, err
	}
	st := info.Sys().(*syscall.Stat_t)
	return Want{Target: target, Device: uint64(st.Dev), Inode: st.Ino}, nil
}

func (w Want) String() string {
	text := fmt.Sprintf("device %d inode %d", w.Device, w.Inode)
	if w.Device == 0 && w.Inode == 0 {
		text = "there"
	}
	if w.Writable {
		text += ", writable"
	} else {
		text += ", read-only"
	}
	if w.Hardened {
		text += ", nosuid and nodev"
	}
	return text
}
