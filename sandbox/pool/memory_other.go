//go:build !linux

package pool

// MachineMemory returns 0 and 0: the memory is not known on this system.
func MachineMemory() (total, free int64) { return 0, 0 }
