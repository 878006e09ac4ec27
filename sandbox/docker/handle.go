package docker

import "torno/sandbox"

// handle is the sandbox that was made, and which directory is its workspace.
func (m *making) handle(id string) sandbox.Handle {
	h := sandbox.Handle{Launcher: launcherName, ID: id, Site: m.identity(), Sandbox: m.ID, Slot: m.Slot.Number()}
	h.Device, h.Inode = m.Pins.Workspace()
	return h
}
