// Package seccomp is Torno's own list of the system calls that a sandbox may make, the same for every launcher.
//
//	filter := seccomp.Filter{Arch: runtime.GOARCH}
//	program, err := filter.Program() // for the kernel, by way of sandbox-init
//	outline, err := filter.Outline() // for an engine and its runtime, around the program
//	for _, rule := range filter.Rules() { … rule.Reason … } // for people
//
// A call without a rule is refused. A rule lets system calls in, always or where their arguments fit, and says why; or it
// says with which error they are refused, for callers that know how to do without.
//
// Where an argument selects code of the kernel, a rule names the values that it may have. The page arguments.md weighs the
// arguments of every allowed call.
//
// A program is what the kernel itself takes (struct sock_filter), so that no program has to translate it at the start of a
// sandbox. It finds a call's number by halves, and then looks at arguments, where there is a condition.
// It is short, because gVisor asks it about every number whenever a process begins, and a test that several rules share is
// there once.
//
// It promises: no rule lets in a way out of the sandbox, to see others or to harm the host, nor one to leave
// anything on the host's files that outlives the run, such as a set-user-id bit. Tests hold lists of both against it, and
// the program against the rules, for every number.
package seccomp
