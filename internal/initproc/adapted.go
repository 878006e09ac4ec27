//go:build linux

package initproc

import "torno/internal/agent/adapter"

// adapted starts an agent for its adapter, as carefully as init starts the adapter.
func adapted(argv, env []string, stdin, stdout int) (pid int, cannot *adapter.Cannot) {
	pid, c := startProgram(argv, env, stdin, stdout, nil)
	if c != nil {
		return 0, &adapter.Cannot{Code: c.code, Why: c.why}
	}
	return pid, nil
}
