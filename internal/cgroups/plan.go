package cgroups

import (
	"errors"
	"time"
)

// Limits are the limits of a group. All are positive.
type Limits struct {
	Memory int64 `json:"memory"`     // bytes; none of it is swapped
	CPUs   int64 `json:"cpus_milli"` // thousandths of a processor
	Pids   int64 `json:"pids"`
}

// Plan describes a group that can be made. It is plain data.
type Plan struct {
	// Dirs are the group's directories by controller. In version 2 there is only one, under the key unified.
	Dirs   map[string]string `json:"dirs"`
	Limits Limits            `json:"limits"`
	// Free is true if processor time cannot be bounded on this machine; Make then leaves this limit out.
	Free bool `json:"free,omitempty"`
}

// Use tells how much a group has used.
type Use struct {
	PeakMemory int64         `json:"peak_memory,omitempty"` // bytes; 0 if the kernel does not report it
	CPUTime    time.Duration `json:"cpu_time,omitempty"`
	// Killed counts the processes that the kernel has killed because memory was short in the group.
	Killed int64 `json:"killed,omitempty"`
}

// unified stands for all controllers in version 2.
const unified = "unified"

// ErrNone says that no group can be made here.
var ErrNone = errors.New("control groups cannot be used")

// Without the first three controllers a group bounds nothing.
const (
	memory     = "memory"
	processes  = "pids"
	processors = "cpu"
	accounting = "cpuacct" // only in version 1
)
