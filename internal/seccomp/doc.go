// Package seccomp is Torno's own list of the system calls that a sandbox may make, whoever makes the sandbox.
//
//	filter := seccomp.Filter{Arch: runtime.GOARCH}
//	profile, err := filter.Profile() // for the engine, or for the runtime
//	for _, rule := range filter.Rules() { … rule.Reason … } // for people
//
// What no rule names is refused. A rule lets system calls in, always or where their arguments fit, and says why; or it
// says with which error they are refused, for callers that know how to do without.
//
// A Profile is the same in other words: those of the OCI's runtime specification. Its JSON is what Docker's API takes as
// a security option, and what a runtime takes in its configuration.
//
// What it promises: no rule lets in a way out of the sandbox, to see others or to harm the host, nor one to leave
// anything on the host's files that outlives the run, such as a set-user-id bit. Tests hold lists of both against it.
package seccomp
