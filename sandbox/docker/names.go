package docker

import (
	"fmt"
	"strconv"

	"torno/internal/stage"
	"torno/internal/version"
	"torno/sandbox"
)

// launcherName is what handles call us.
const launcherName = "docker"

// The labels. None of them holds a secret or a word of a request (I7).
const (
	labelInstallation = "torno.installation"
	labelState        = "torno.state" // the installation's state directory, so that what outlives it can be told
	labelRun          = "torno.run"   // the hash of the run's key, or one of the roles below
	labelSlot         = "torno.slot"
	labelVersion      = "torno.version" // the Torno that made it
	labelProfile      = "torno.profile"
)

// The containers that are no run's. Start-up removes what a crash left of them.
const (
	roleInit  = "init"          // carries init into its volume, and never runs
	roleTrial = stage.TrialName // shows what works here
)

// naming gives what we make its names and labels.
type naming struct{ installation, state string }

// filter is the label that everything of this installation has, and nothing else.
func (n naming) filter() string { return labelInstallation + "=" + n.installation }

func (n naming) prefix() string { return "torno-" + n.installation[:8] + "-" }

// container is the name of a run's container; it is what makes Create repeatable.
func (n naming) container(run string) string { return n.prefix() + run[:min(20, len(run))] }

func (n naming) initVolume(digest string) string { return n.prefix() + "init-" + digest[:16] }

func (n naming) hostImage(digest string) string {
	return "torno/" + n.installation + ":host-" + digest[:16]
}

// labels are for what belongs to no run.
func (n naming) labels(role string) map[string]string {
	return map[string]string{
		labelInstallation: n.installation, labelState: n.state, labelRun: role, labelVersion: version.String(),
	}
}

func (n naming) runLabels(run, profile string, slot int) map[string]string {
	labels := n.labels(run)
	labels[labelProfile] = profile
	labels[labelSlot] = strconv.Itoa(slot)
	return labels
}

// isRun says whether the labels are those of a run of this installation.
func (n naming) isRun(labels map[string]string) bool {
	return labels[labelInstallation] == n.installation && isHex(labels[labelRun], 32)
}

// handle refers to the container of a run.
func (n naming) handle(id string, labels map[string]string) (sandbox.Handle, error) {
	slot, err := strconv.Atoi(labels[labelSlot])
	if err != nil || !n.isRun(labels) {
		return sandbox.Handle{}, fmt.Errorf("container %s has labels that are not ours: %v", id, labels)
	}
	return sandbox.Handle{Launcher: launcherName, ID: id, Key: labels[labelRun], Slot: slot}, nil
}
