// Package seccomp is Torno's own list of the system calls that a sandbox may make. Every launcher uses the same list.
//
//	filter := seccomp.Filter{Arch: runtime.GOARCH}
//	program, err := filter.Program() // for the kernel; sandbox-init loads it
//	outline, err := filter.Outline() // for an engine and its runtime; it lies around the program
//	for _, rule := range filter.Rules() { … rule.Reason … } // for people
//
// A call without a rule is refused. A rule either lets system calls in, always or if their arguments fit, and says why.
// Or it refuses them with a certain error, for callers that know how to do without them.
//
// If an argument selects code of the kernel, a rule names the values that the argument may have. The page arguments.md
// weighs the arguments of every allowed call.
//
// A program has the kernel's own form (struct sock_filter), so no other program has to translate it when a sandbox
// starts. It finds a call's number by halving the range, and then tests arguments, if there is a condition. It is
// short, because gVisor asks it about every number whenever a process begins. A test that several rules share is
// written once.
//
// The package promises: no rule opens a way out of the sandbox, a way to see others, or a way to harm the host. No rule
// lets a sandbox leave anything on the host's files that outlives the run, such as a set-user-id bit. Tests compare the
// rules with lists of dangerous calls, and the program with the rules for every number.
package seccomp
