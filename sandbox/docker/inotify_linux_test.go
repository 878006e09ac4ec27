package docker_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"torno/sandbox/docker"
	"torno/test/attack"
)

// The kernel counts inotify instances by user. A child that takes them all, and holds them, takes them from whoever has
// its uid: from nobody where each child has one of its own, and from the owner of the workspace where it runs as that.

func TestInotifyByHandle(t *testing.T) {
	taken := takeInotify(t, docker.MountByHandle)
	trial := attack.Trial{Row: "X4", Where: "docker by handle", Tried: 2, Note: taken.String()}
	if taken.neighbour > 0 {
		trial.Held++
	}
	if taken.owner > 0 {
		trial.Held++
	}
	shared := takeInotify(t, docker.MountByPath)
	trial.Oracle = taken.child > 0 && shared.owner == 0 && shared.neighbour == 0
	attack.Record(t, trial)
}

// TestInotifyByPath holds what docs/SANDBOXES.md says of it: the quota is shared, and no more than the quota is.
func TestInotifyByPath(t *testing.T) {
	taken := takeInotify(t, docker.MountByPath)
	trial := attack.Trial{Row: "X4", Where: "docker by path", Tried: 1, Oracle: taken.owner == 0, Note: taken.String()}
	if taken.child <= taken.quota && taken.stranger > 0 {
		trial.Held = 1
	}
	attack.Record(t, trial)
}

// inotify is how many instances everybody got while one child had taken all.
type inotify struct{ quota, child, neighbour, owner, stranger int64 }

func (i inotify) String() string {
	return fmt.Sprintf("the child took %d of %d; beside it another child got %d, the workspace's owner %d, another user %d",
		i.child, i.quota, i.neighbour, i.owner, i.stranger)
}

func takeInotify(t *testing.T, mode docker.MountMode) (taken inotify) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be the owner of a workspace and somebody else")
	}
	f := newProberField(t, mode)
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_user_instances")
	f.must(err)
	quota, err := strconv.Atoi(strings.TrimSpace(string(text)))
	f.must(err)
	taken.quota = int64(quota)

	greedy := f.prober("hold", "inotify", strconv.Itoa(quota+100))
	greedy.Limits.OpenFiles = taken.quota + 1000
	h := f.create(greedy)
	defer f.remove(h)
	taken.child = lastNumber(f.hear(f.start(h), "holding\n"))

	few := f.prober("take", "inotify", "3")
	taken.neighbour = lastNumber(string(f.run(few).stdout))
	const somebody = 1_999_999_999
	taken.owner, taken.stranger = f.inotifyOf(workspaceOwner, 3), f.inotifyOf(somebody, 3)
	return taken
}
