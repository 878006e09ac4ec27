package inside

import "testing"

// TestLauncherOfRoot is what gVisor's launcher has of its own about groups, and about ends that it has to tell from each other.
func TestLauncherOfRoot(t *testing.T) {
	run(t, tests{program: "gvisor.test", pattern: "^(TestKeeperIsKilled|TestSentryIsKilled|TestLeftovers)$"})
}
