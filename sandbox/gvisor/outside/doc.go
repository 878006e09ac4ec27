// Package outside looks from the host at the two gVisor processes of a sandbox. The sentry is the sandbox's kernel. The
// gofer opens the host's files for the sentry, and sees everything that the sandbox can see.
//
//	o := outside.Observer{Program: runsc, Groups: groups, Shared: places}
//	attestation, err := o.Attest(record, box)
//
// The package promises: it changes nothing, and asks neither process; all its information comes from the kernel. A
// process counts only if it belongs to the sandbox and executes the program that the launcher has chosen. A difference
// from the record is a *sandbox.DifferenceError.
package outside
