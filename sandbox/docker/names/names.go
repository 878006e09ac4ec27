// Package names has the names and labels of everything that an installation has on an engine. After a crash, at a
// purge, or beside another installation, they show which thing belongs to whom. They hold no secret and no word of a
// request (I7).
package names

import (
	"cmp"
	"fmt"
	"strconv"

	"torno/internal/version"
	"torno/sandbox"
	"torno/sandbox/local"
)

// Launcher is this launcher's name in handles.
const Launcher = "docker"

// The labels. None of them holds a secret or a word of a request (I7).
const (
	LabelInstallation = "torno.installation"
	LabelState        = "torno.state"   // the installation's state directory, to identify leftovers after it is gone
	LabelSandbox      = "torno.sandbox" // the sandbox's id, or one of the roles below
	// Version 0.1's first sandboxes have this label instead of LabelSandbox; their init does not hold.
	labelBefore   = "torno.run"
	LabelSlot     = "torno.slot"
	LabelUser     = "torno.user"    // the uid that it runs as
	LabelVersion  = "torno.version" // the Torno version that made it
	labelProfile  = "torno.profile"
	LabelPrepared = "torno.prepared" // made ahead of any run, for the pool
	LabelEnd      = "torno.end"      // the digest of the token that marks init's end
)

// The roles of containers that do not belong to a sandbox. At its start the launcher removes them if a crash left them.
const (
	RoleInit  = "init"          // carries init into its volume, and never runs
	RoleLook  = "look"          // shows the content of an image, and never runs
	RoleTrial = local.TrialName // shows what works here
)

// Naming makes names and labels for everything that we make.
type Naming struct {
	Installation local.Installation
	State        string // the installation's state directory
}

// Filter returns the label that everything of this installation has, and nothing else.
func (n Naming) Filter() string { return LabelInstallation + "=" + string(n.Installation) }

// Prefix returns the beginning of the name of every container and volume of the installation.
func (n Naming) Prefix() string { return "torno-" + string(n.Installation[:8]) + "-" }

// Container returns the name of a sandbox's container. The name makes Create repeatable.
func (n Naming) Container(id sandbox.SandboxID) string {
	return n.Prefix() + string(id[:min(20, len(id))])
}

// InitVolume returns the name of the volume for the sandbox-init with this digest.
func (n Naming) InitVolume(digest string) string { return n.Prefix() + "init-" + digest[:16] }

// HostImage returns the name of the empty image with this digest.
func (n Naming) HostImage(digest string) string {
	return "torno/" + string(n.Installation) + ":host-" + digest[:16]
}

// Labels returns the labels of a helper, which SandboxLabels extends for a sandbox.
func (n Naming) Labels(role sandbox.SandboxID) map[string]string {
	return map[string]string{
		LabelInstallation: string(n.Installation), LabelState: n.State, LabelSandbox: string(role), LabelVersion: version.String(),
	}
}

// SandboxLabels returns the labels of a sandbox's container.
func (n Naming) SandboxLabels(id sandbox.SandboxID, profile string, slot int) map[string]string {
	labels := n.Labels(id)
	labels[labelProfile] = profile
	labels[LabelSlot] = strconv.Itoa(slot)
	return labels
}

// UserIn returns the uid in the labels, or 0.
func UserIn(labels map[string]string) uint32 {
	uid, _ := strconv.ParseUint(labels[LabelUser], 10, 32)
	return uint32(uid)
}

// SandboxOf returns the sandbox that the labels belong to. It reports false if they belong to no sandbox of this
// installation.
func (n Naming) SandboxOf(labels map[string]string) (sandbox.SandboxID, bool) {
	text, ok := labels[LabelSandbox]
	if !ok {
		text = labels[labelBefore]
	}
	id, err := sandbox.ParseSandboxID(text)
	return id, err == nil && labels[LabelInstallation] == string(n.Installation)
}

// IsSandbox reports whether the labels belong to a sandbox of this installation.
func (n Naming) IsSandbox(labels map[string]string) bool {
	_, ok := n.SandboxOf(labels)
	return ok
}

// IsHelper reports whether the labels belong to this installation's container of a role.
func (n Naming) IsHelper(labels map[string]string, role sandbox.SandboxID) bool {
	return labels[LabelInstallation] == string(n.Installation) && cmp.Or(labels[LabelSandbox], labels[labelBefore]) == string(role)
}

// Holds reports whether the sandbox's init holds before it runs the agent.
func Holds(labels map[string]string) bool { return labels[LabelSandbox] != "" }

// Handle returns a handle of a sandbox's container.
func (n Naming) Handle(container string, labels map[string]string) (sandbox.Handle, error) {
	slot, err := strconv.Atoi(labels[LabelSlot])
	id, ok := n.SandboxOf(labels)
	if err != nil || !ok {
		return sandbox.Handle{}, fmt.Errorf("container %s has labels that are not ours: %v", container, labels)
	}
	return sandbox.Handle{Launcher: Launcher, ID: container, Sandbox: id, Slot: slot}, nil
}
