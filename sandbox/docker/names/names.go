// Package names has the names and labels of all that an installation has on an engine. By them a crash, a purge and another
// installation find out what belongs to whom: they hold no secret and no word of a request (I7).
package names

import (
	"cmp"
	"fmt"
	"strconv"

	"torno/internal/version"
	"torno/sandbox"
	"torno/sandbox/local"
)

// Launcher is what handles call us.
const Launcher = "docker"

// The labels. None of them holds a secret or a word of a request (I7).
const (
	LabelInstallation = "torno.installation"
	LabelState        = "torno.state"   // the installation's state directory, so that what outlives it can be told
	LabelSandbox      = "torno.sandbox" // the sandbox's id, or one of the roles below
	labelBefore       = "torno.run"     // what version 0.1's first sandboxes have in its place; their init does not hold
	LabelSlot         = "torno.slot"
	LabelUser         = "torno.user"    // the uid that it runs as
	LabelVersion      = "torno.version" // the Torno that made it
	labelProfile      = "torno.profile"
	LabelPrepared     = "torno.prepared" // it was made ahead of any run, for the pool
	LabelEnd          = "torno.end"      // the digest of the token with which init says its end
)

// The containers that are no sandbox's. Start-up removes what a crash left of them.
const (
	RoleInit  = "init"          // carries init into its volume, and never runs
	RoleLook  = "look"          // shows what lies in an image, and never runs
	RoleTrial = local.TrialName // shows what works here
)

// Naming gives what we make its names and labels.
type Naming struct {
	Installation local.Installation
	State        string // its directory
}

// Filter is the label that everything of this installation has, and nothing else.
func (n Naming) Filter() string { return LabelInstallation + "=" + string(n.Installation) }

// Prefix begins the name of every container and volume of the installation.
func (n Naming) Prefix() string { return "torno-" + string(n.Installation[:8]) + "-" }

// Container is the name of a sandbox's container; it is what makes Create repeatable.
func (n Naming) Container(id sandbox.SandboxID) string {
	return n.Prefix() + string(id[:min(20, len(id))])
}

// InitVolume is the name of the volume that has sandbox-init of a digest.
func (n Naming) InitVolume(digest string) string { return n.Prefix() + "init-" + digest[:16] }

// HostImage is the name of the empty image of a digest.
func (n Naming) HostImage(digest string) string {
	return "torno/" + string(n.Installation) + ":host-" + digest[:16]
}

// Labels are for what is no sandbox, and the beginning of one's.
func (n Naming) Labels(role sandbox.SandboxID) map[string]string {
	return map[string]string{
		LabelInstallation: string(n.Installation), LabelState: n.State, LabelSandbox: string(role), LabelVersion: version.String(),
	}
}

// SandboxLabels are those of a sandbox's container.
func (n Naming) SandboxLabels(id sandbox.SandboxID, profile string, slot int) map[string]string {
	labels := n.Labels(id)
	labels[labelProfile] = profile
	labels[LabelSlot] = strconv.Itoa(slot)
	return labels
}

// UserIn is the uid that the labels name, or 0.
func UserIn(labels map[string]string) uint32 {
	uid, _ := strconv.ParseUint(labels[LabelUser], 10, 32)
	return uint32(uid)
}

// SandboxOf is the sandbox of this installation to which the labels belong, if they belong to one.
func (n Naming) SandboxOf(labels map[string]string) (sandbox.SandboxID, bool) {
	text, ok := labels[LabelSandbox]
	if !ok {
		text = labels[labelBefore]
	}
	id, err := sandbox.ParseSandboxID(text)
	return id, err == nil && labels[LabelInstallation] == string(n.Installation)
}

// IsSandbox says whether the labels are those of a sandbox of this installation.
func (n Naming) IsSandbox(labels map[string]string) bool {
	_, ok := n.SandboxOf(labels)
	return ok
}

// IsHelper says whether the labels are those of this installation's container of a role.
func (n Naming) IsHelper(labels map[string]string, role sandbox.SandboxID) bool {
	return labels[LabelInstallation] == string(n.Installation) && cmp.Or(labels[LabelSandbox], labels[labelBefore]) == string(role)
}

// Holds says whether the sandbox's init holds before it runs the agent.
func Holds(labels map[string]string) bool { return labels[LabelSandbox] != "" }

// Handle refers to the container of a sandbox.
func (n Naming) Handle(container string, labels map[string]string) (sandbox.Handle, error) {
	slot, err := strconv.Atoi(labels[LabelSlot])
	id, ok := n.SandboxOf(labels)
	if err != nil || !ok {
		return sandbox.Handle{}, fmt.Errorf("container %s has labels that are not ours: %v", container, labels)
	}
	return sandbox.Handle{Launcher: Launcher, ID: container, Sandbox: id, Slot: slot}, nil
}
