package cgroups

import (
	"errors"
	"time"
)

// Limits of a group. All are positive.
type Limits struct {
	Memory int64 `json:"memory"`     // bytes; nothing of it is swapped
	CPUs   int64 `json:"cpus_milli"` // thousandths of a processor
	Pids   int64 `json:"pids"`
}

// Plan is a group that can be made: plain data.
type Plan struct {
	// Dirs are its directories by controller. In version 2 there is one, under unified.
	Dirs   map[string]string `json:"dirs"`
	Limits Limits            `json:"limits"`
	// Free says that time on processors cannot be bounded where it is made, so that this limit is left out.
	Free bool `json:"free,omitempty"`
}

// Use is what a group has used.
type Use struct {
	PeakMemory int64         `json:"peak_memory,omitempty"` // bytes; 0 where the kernel does not tell
	CPUTime    time.Duration `json:"cpu_time,omitempty"`
	// Killed is how many processes the kernel has killed because memory was short in the group.
	Killed int64 `json:"killed,omitempty"`
}

// unified is the only controller's name in version 2.
const unified = "unified"

// ErrNone says that no group can be made here.
var ErrNone = errors.New("control groups cannot be had")

// The controllers without which a group bounds nothing.
const (
	memory     = "memory"
	processes  = "pids"
	processors = "cpu"
	accounting = "cpuacct" // of version 1
)
