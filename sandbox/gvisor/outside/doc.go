// Package outside looks from the host at the two processes of gVisor that a sandbox consists of: the sentry, which is its kernel,
// and the gofer, which opens the host's files for it and sees all that the sandbox can see.
//
//	o := outside.Observer{Program: runsc, Groups: groups, Shared: places}
//	attestation, err := o.Attest(record, box)
//
// What it promises: it changes nothing, and asks neither process. What it sees is the kernel's word. A process counts only if it is
// the sandbox's and executes the program that the launcher has chosen; what differs from the record is a *sandbox.DifferenceError.
package outside
