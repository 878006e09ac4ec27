package seccomp

import "slices"

// Rule allows system calls, or says how they are refused. A call without a rule is refused with EPERM.
type Rule struct {
	Reason string // why; docs/SANDBOXES.md shows it
	Names  []string
	// Args must all hold. A call with several rules is allowed by any of them. Where one of them has an Errno, no other
	// fits the same arguments.
	Args []Arg
	// Arch is the only architecture that has these calls; empty is every one.
	Arch string
	// Errno makes this a refusal other than EPERM: for calls whose callers can do without them when they hear that
	// the kernel does not have them.
	Errno uint
}

// Arg is a condition: masked with Mask, argument Index equals Value. With OneOf it is one of those
// values instead, and Mask has no bit of the upper half.
type Arg struct {
	Index       uint
	Mask, Value uint64
	OneOf       *Choice
}

const (
	allBits = 1<<64 - 1
	enosys  = 38

	eopnotsupp = 95
)

// Filter are the rules as they are for an architecture.
type Filter struct {
	Arch string // as Go calls it
}

// Rules are all that count, of every architecture.
func (f Filter) Rules() []Rule {
	return slices.Clone(rules)
}

// architectures are the architectures that the rules are written for. Only the native one is allowed: the 32-bit entries of the kernel
// have numbers and bugs of their own, and a program that uses them is killed.
var architectures = map[string]string{"amd64": "SCMP_ARCH_X86_64", "arm64": "SCMP_ARCH_AARCH64"}
