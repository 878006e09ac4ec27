package local

import (
	"fmt"

	"torno/sandbox"
)

// The kernel counts these per user, as it counts processes. A sandbox that runs as the owner of its workspace shares
// the owner's allowance, so it gets only a part. Engines would give it much more of both.
const (
	PendingSignals = 1024      // timers count too
	MessageBytes   = 400 << 10 // in POSIX message queues
)

// checkLimits refuses a limit of 0 or less: to engines it would mean "no limit".
func checkLimits(limits sandbox.Limits) error {
	for name, value := range map[string]int64{
		"memory": limits.Memory, "cpus": limits.CPUs, "pids": limits.Pids, "open_files": limits.OpenFiles,
		"file_size": limits.FileSize, "tmp": limits.Tmp, "home": limits.Home, "shm": limits.Shm, "log": limits.Log,
	} {
		if value <= 0 {
			return fmt.Errorf("limit %s is %d; every sandbox has a positive one", name, value)
		}
	}
	return nil
}
