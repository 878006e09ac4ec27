//go:build !linux

package pool

// MachineMemory is not known here.
func MachineMemory() (total, free int64) { return 0, 0 }
