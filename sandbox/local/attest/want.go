package attest

import (
	"fmt"
	"os"
	"syscall"
)

// Identity holds the ids and rights that a process should have. It never has a capability and never gains privileges.
type Identity struct {
	UID, GID uint32
	Filtered bool // a filter of system calls is in force already
}

// Rights are what every thread of a process should have.
type Rights struct {
	UID          uint32
	Capabilities uint64 // at most
	Bounding     uint64 // what the bounding set may have beside them
}

// Want is what should be at a path of a sandbox.
type Want struct {
	Target   string `json:"target"`
	Device   uint64 `json:"device,omitempty"` // 0 as the inode where only the flags count
	Inode    uint64 `json:"inode,omitempty"`
	Writable bool   `json:"writable,omitempty"`
	Hardened bool   `json:"hardened,omitempty"` // nosuid and nodev
	// Over is the number of the one mount over which it may lie: the host's own empty directory, in a sandbox that was made ahead. 0
	// for none.
	Over uint64 `json:"-"`
}

// WantOf is what should be seen at a target where a file or directory of the host's own is shown, read-only.
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
