package inside

import (
	"os"
	"strings"
	"testing"
)

// delegated says to tests of an ordinary user's that they are to have groups.
const delegated = "TORNO_TEST_DELEGATED=yes"

// groupTests are those of package cgroups. In version 2 there is no thread in a group.
var groupTests = tests{program: "cgroups.test", pattern: ".", skips: []string{"TestKillSparesTheCaller"}}

func TestGroupsOfRoot(t *testing.T) { run(t, groupTests) }

// TestGroupsInAContainer: root's top is a group like others there, in which processes are.
func TestGroupsInAContainer(t *testing.T) {
	all := groupTests
	all.group, all.own = makeGroup(t, serviceGroup{group: "system.slice/container.scope"}), true
	run(t, all)
}

func TestGroupsDelegated(t *testing.T) {
	for name, g := range delegatedGroups {
		t.Run(name, func(t *testing.T) {
			all := groupTests
			all.user, all.group, all.env = ordinary, makeGroup(t, g), []string{delegated}
			run(t, all)
		})
	}
}

// TestGroupsNotDelegated is the oracle: the same tests fail where the groups are not given to the user, and say why.
func TestGroupsNotDelegated(t *testing.T) {
	for name, g := range undelegatedGroups {
		t.Run(name, func(t *testing.T) {
			all := groupTests
			all.pattern, all.user, all.group, all.env = "TestLimitsArrive", ordinary, makeGroup(t, g.serviceGroup), []string{delegated}
			if out, err := start(t, all); err == nil || !strings.Contains(out, "control groups cannot be used") || !strings.Contains(out, g.says) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestTheMachine: it is version 2 that is tried, and nothing of version 1 beside it.
func TestTheMachine(t *testing.T) {
	mounted, err := os.ReadFile("/proc/self/mountinfo")
	must(t, err)
	if text := string(mounted); !strings.Contains(text, " - cgroup2 ") || strings.Contains(text, " - cgroup ") {
		t.Errorf("there is mounted\n%s", text)
	}
}
