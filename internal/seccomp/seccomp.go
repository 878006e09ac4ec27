package seccomp

import "slices"

// Rule allows system calls, or chooses the error for refusing them. A call without a rule is refused with EPERM.
type Rule struct {
	Reason string // why; docs/SANDBOXES.md shows it
	Names  []string
	// Args must all hold. If a call has several rules, any of them allows it. If one of its rules has an Errno, no
	// other rule fits the same arguments.
	Args []Arg
	// Arch is the only architecture that has these calls. If Arch is empty, every architecture has them.
	Arch string
	// Errno refuses the calls with this error instead of EPERM: for callers that do without the calls when they hear
	// that the kernel does not have them.
	Errno uint
}

// Arg is a condition: argument Index, masked with Mask, equals Value. With OneOf it must equal one of those values
// instead, and Mask has no bit of the upper half.
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

// Filter is the list of rules for one architecture.
type Filter struct {
	Arch string // Go's name for it
}

// Rules returns all rules that count, for every architecture.
func (f Filter) Rules() []Rule {
	return slices.Clone(rules)
}

// architectures are the architectures that the rules are written for. Only the native one is allowed. The kernel's
// 32-bit entries have numbers and bugs of their own, so a program that uses them is killed.
var architectures = map[string]string{"amd64": "SCMP_ARCH_X86_64", "arm64": "SCMP_ARCH_AARCH64"}
