package docker

import (
	"torno/sandbox"
	"torno/sandbox/docker/names"
)

// handle is the sandbox that was made, and which directory is its workspace.
func (m *making) handle(id string) sandbox.Handle {
	h := sandbox.Handle{Launcher: names.Launcher, ID: id, Site: m.identity.Name(), Sandbox: m.ID, Slot: m.Slot.Number()}
	h.Device, h.Inode = m.Pins.Workspace()
	return h
}
