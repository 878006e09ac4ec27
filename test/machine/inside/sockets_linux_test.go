package inside

import (
	"testing"

	"torno/test/house"
)

// TestSocketsOfOthers is what sandbox-init has of its own about sockets, for a kernel that is new enough. An older one skips it.
func TestSocketsOfOthers(t *testing.T) {
	run(t, tests{program: "sandbox-init.test", pattern: "^(TestSocketsOfOthersAreRefused|TestWhatATrialSays)$", env: []string{"TORNO_TEST_INIT=" + house.Program("sandbox-init")}})
}
