package docker

import (
	"encoding/json"
	"fmt"
	"slices"
)

// rule allows system calls, or says how they are refused. What no rule names is refused with EPERM.
type rule struct {
	reason string // why; docs/SANDBOXES.md and `go test -run Seccomp -v` show it
	names  []string
	// args must all hold. A call with several rules is allowed by any of them.
	args []argument
	// arch is the only architecture that has these calls; empty is every one.
	arch string
	// errno makes this a refusal other than EPERM: for calls whose callers know how to do without when they hear that
	// the kernel has none.
	errno uint
}

// argument is a condition: masked with mask, argument index equals value.
type argument struct {
	index       uint
	mask, value uint64
}

const (
	allBits = 1<<64 - 1
	enosys  = 38

	eopnotsupp = 95
)

// architectures are those the profile is written for. Only the native one is allowed: the 32-bit entries of the kernel
// have numbers and bugs of their own, and a program that uses them is killed.
var architectures = map[string]string{"amd64": "SCMP_ARCH_X86_64", "arm64": "SCMP_ARCH_AARCH64"}

// engineArchitectures are the names that engines have for them.
var engineArchitectures = map[string]string{
	"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64",
}

// The profile as the engine's API takes it.
type (
	profileJSON struct {
		DefaultAction   string        `json:"defaultAction"`
		DefaultErrnoRet uint          `json:"defaultErrnoRet"`
		Architectures   []string      `json:"architectures"`
		Syscalls        []syscallJSON `json:"syscalls"`
	}
	syscallJSON struct {
		Names    []string  `json:"names"`
		Action   string    `json:"action"`
		ErrnoRet *uint     `json:"errnoRet,omitempty"`
		Args     []argJSON `json:"args,omitempty"`
	}
	argJSON struct {
		Index    uint   `json:"index"`
		Value    uint64 `json:"value"`
		ValueTwo uint64 `json:"valueTwo"`
		Op       string `json:"op"`
	}
)

// filter is a way to use the rules.
type filter struct {
	arch    string
	openat2 bool // the engine's runtime cannot do without it
}

// rules are all that count.
func (f filter) rules() []rule {
	last := openat2Refused
	if f.openat2 {
		last = openat2Allowed
	}
	return append(slices.Clone(seccompRules), last)
}

// profile is the filter as a value of the engine's security option.
func (f filter) profile() (string, error) {
	native, ok := architectures[f.arch]
	if !ok {
		return "", fmt.Errorf("there is no system call filter for %s; it is written for amd64 and arm64", f.arch)
	}
	profile := profileJSON{DefaultAction: "SCMP_ACT_ERRNO", DefaultErrnoRet: 1, Architectures: []string{native}}
	for _, r := range f.rules() {
		if r.arch == "" || r.arch == f.arch {
			profile.Syscalls = append(profile.Syscalls, r.json())
		}
	}
	text, err := json.Marshal(profile)
	return string(text), err
}

func (r rule) json() syscallJSON {
	call := syscallJSON{Names: slices.Clone(r.names), Action: "SCMP_ACT_ALLOW"}
	if r.errno != 0 {
		call.Action, call.ErrnoRet = "SCMP_ACT_ERRNO", &r.errno
	}
	for _, a := range r.args {
		call.Args = append(call.Args, a.json())
	}
	return call
}

// json writes plain equality with the operator that is made for it.
func (a argument) json() argJSON {
	if a.mask == allBits {
		return argJSON{Index: a.index, Value: a.value, Op: "SCMP_CMP_EQ"}
	}
	return argJSON{Index: a.index, Value: a.mask, ValueTwo: a.value, Op: "SCMP_CMP_MASKED_EQ"}
}
