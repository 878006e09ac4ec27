//go:build linux

package initproc

import (
	"testing"

	"torno/internal/runfile"
)

// TestMemoryIn reads both versions' files. A kernel that does not count says nothing.
func TestMemoryIn(t *testing.T) {
	for text, want := range map[string]runfile.Memory{
		"oom_kill_disable 0\nunder_oom 0\noom_kill 0\n":               runfile.MemoryHeld,
		"oom_kill_disable 0\nunder_oom 0\noom_kill 12\n":              runfile.MemoryKilled,
		"low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\noom_group_kill 0\n": runfile.MemoryKilled,
		"oom_kill_disable 0\nunder_oom 0\n":                           runfile.MemoryUnknown,
		"":                                                            runfile.MemoryUnknown,
	} {
		if got := memoryIn(text); got != want {
			t.Errorf("%q: %c, want %c", text, got, want)
		}
	}
}
