package seccomp

import (
	"fmt"
	"slices"
)

// Rule allows system calls, or says how they are refused. What no rule names is refused with EPERM.
type Rule struct {
	Reason string // why; docs/SANDBOXES.md shows it
	Names  []string
	// Args must all hold. A call with several rules is allowed by any of them.
	Args []Arg
	// Arch is the only architecture that has these calls; empty is every one.
	Arch string
	// Errno makes this a refusal other than EPERM: for calls whose callers know how to do without when they hear that
	// the kernel has none.
	Errno uint
}

// Arg is a condition: masked with Mask, argument Index equals Value.
type Arg struct {
	Index       uint
	Mask, Value uint64
}

const (
	allBits = 1<<64 - 1
	enosys  = 38

	eopnotsupp = 95
)

// Filter is a way to use the rules.
type Filter struct {
	Arch string // as Go calls it
	// Openat2 is for a runtime that cannot do without it behind the filter. It opens a hole: set-id files can be made.
	Openat2 bool
	// Unknown are calls that the runtime has no name for, so that it cannot let them in, nor say that there are none.
	Unknown []string
	// Mute is for a runtime that knows no other refusal than EPERM: what programs have to hear is not there, it lets pass,
	// and init's own filter says so (Absent). Of two filters that refuse, the error of the later one counts.
	Mute bool
}

// GVisor is the filter for gVisor, whoever starts it. The C library takes EPERM of fchmodat2 for the file's, and gives up.
func GVisor(arch string) Filter {
	return Filter{Arch: arch, Mute: true, Unknown: calls(`cachestat fchmodat2 futex_requeue futex_wait futex_waitv futex_wake
		getxattrat landlock_add_rule landlock_create_ruleset landlock_restrict_self listxattrat mseal process_mrelease
		removexattrat setxattrat`)}
}

// Rules are all that count, of every architecture.
func (f Filter) Rules() []Rule {
	last := openat2Refused
	if f.Openat2 {
		last = openat2Allowed
	}
	return append(slices.Clone(rules), last)
}

// architectures are those the rules are written for. Only the native one is allowed: the 32-bit entries of the kernel
// have numbers and bugs of their own, and a program that uses them is killed.
var architectures = map[string]string{"amd64": "SCMP_ARCH_X86_64", "arm64": "SCMP_ARCH_AARCH64"}

// Profile is the filter in the words of the runtime specification.
func (f Filter) Profile() (Profile, error) {
	native, ok := architectures[f.Arch]
	if !ok {
		return Profile{}, fmt.Errorf("there is no system call filter for %s; it is written for amd64 and arm64", f.Arch)
	}
	profile := Profile{DefaultAction: actErrno, DefaultErrnoRet: 1, Architectures: []string{native}}
	for _, r := range f.Rules() {
		if f.Mute && r.Errno == enosys {
			r.Errno = 0
		}
		if r.Arch == "" || r.Arch == f.Arch {
			profile.Syscalls = append(profile.Syscalls, r.syscall())
		}
	}
	return profile, nil
}
