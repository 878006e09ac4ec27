package docker

import (
	"cmp"
	"fmt"
	"strconv"

	"torno/internal/version"
	"torno/sandbox"
	"torno/sandbox/local"
)

// launcherName is what handles call us.
const launcherName = "docker"

// The labels. None of them holds a secret or a word of a request (I7).
const (
	labelInstallation = "torno.installation"
	labelState        = "torno.state"   // the installation's state directory, so that what outlives it can be told
	labelSandbox      = "torno.sandbox" // the sandbox's id, or one of the roles below
	labelBefore       = "torno.run"     // what version 0.1's first sandboxes have in its place; their init does not hold
	labelSlot         = "torno.slot"
	labelUser         = "torno.user"    // the uid that it runs as
	labelVersion      = "torno.version" // the Torno that made it
	labelProfile      = "torno.profile"
	labelEnd          = "torno.end" // the digest of the token with which init says its end
)

// The containers that are no sandbox's. Start-up removes what a crash left of them.
const (
	roleInit  = "init"          // carries init into its volume, and never runs
	roleLook  = "look"          // shows what lies in an image, and never runs
	roleTrial = local.TrialName // shows what works here
)

// naming gives what we make its names and labels.
type naming struct {
	installation local.Installation
	state        string
}

// filter is the label that everything of this installation has, and nothing else.
func (n naming) filter() string { return labelInstallation + "=" + string(n.installation) }

func (n naming) prefix() string { return "torno-" + string(n.installation[:8]) + "-" }

// container is the name of a sandbox's container; it is what makes Create repeatable.
func (n naming) container(id sandbox.SandboxID) string {
	return n.prefix() + string(id[:min(20, len(id))])
}

func (n naming) initVolume(digest string) string { return n.prefix() + "init-" + digest[:16] }

func (n naming) hostImage(digest string) string {
	return "torno/" + string(n.installation) + ":host-" + digest[:16]
}

// labels are for what is no sandbox, and the beginning of one's.
func (n naming) labels(role sandbox.SandboxID) map[string]string {
	return map[string]string{
		labelInstallation: string(n.installation), labelState: n.state, labelSandbox: string(role), labelVersion: version.String(),
	}
}

func (n naming) sandboxLabels(id sandbox.SandboxID, profile string, slot int) map[string]string {
	labels := n.labels(id)
	labels[labelProfile] = profile
	labels[labelSlot] = strconv.Itoa(slot)
	return labels
}

// userIn is the uid that the labels name, or 0.
func userIn(labels map[string]string) uint32 {
	uid, _ := strconv.ParseUint(labels[labelUser], 10, 32)
	return uint32(uid)
}

// sandboxOf is the sandbox of this installation to which the labels belong, if they belong to one.
func (n naming) sandboxOf(labels map[string]string) (sandbox.SandboxID, bool) {
	text, ok := labels[labelSandbox]
	if !ok {
		text = labels[labelBefore]
	}
	id, err := sandbox.ParseSandboxID(text)
	return id, err == nil && labels[labelInstallation] == string(n.installation)
}

// isSandbox says whether the labels are those of a sandbox of this installation.
func (n naming) isSandbox(labels map[string]string) bool {
	_, ok := n.sandboxOf(labels)
	return ok
}

// isHelper says whether the labels are those of this installation's container of a role.
func (n naming) isHelper(labels map[string]string, role sandbox.SandboxID) bool {
	return labels[labelInstallation] == string(n.installation) && cmp.Or(labels[labelSandbox], labels[labelBefore]) == string(role)
}

// holds says whether the sandbox's init holds before it runs the agent.
func holds(labels map[string]string) bool { return labels[labelSandbox] != "" }

// handle refers to the container of a sandbox.
func (n naming) handle(container string, labels map[string]string) (sandbox.Handle, error) {
	slot, err := strconv.Atoi(labels[labelSlot])
	id, ok := n.sandboxOf(labels)
	if err != nil || !ok {
		return sandbox.Handle{}, fmt.Errorf("container %s has labels that are not ours: %v", container, labels)
	}
	return sandbox.Handle{Launcher: launcherName, ID: container, Sandbox: id, Slot: slot}, nil
}
