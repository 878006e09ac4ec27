// Package sandbox is the contract between the code that decides about a run and the code that carries it out. A Spec
// describes a sandbox: it is plain data, complete and printable. A Launcher turns a Spec into a running sandbox. An
// Attachment follows the sandbox to its end. Package compile makes Specs from requests. The launchers are
// sandbox/docker and sandbox/gvisor. Package launchers lists them, package local holds the parts that they share, and
// the suite in package sandboxtest defines what "correct" means for all of them.
//
// A launcher creates a sandbox and starts it. The sandbox then waits, and the host looks at it from outside. Only after
// that does the sandbox get the word to run the agent:
//
//	handle, err := l.Create(ctx, sandbox.NewSandboxID(), spec)
//	err = l.Start(ctx, handle)
//	attachment, err := l.Open(ctx, handle, "")
//	attestation, err := l.Attest(ctx, handle)
//	err = attachment.Release(ctx)
//	exit, err := attachment.Wait(ctx)
//	err = l.Remove(ctx, handle)
//
// The package promises:
//   - A Spec cannot ask for network, privilege, a capability, a device or a host namespace (I1).
//   - A Source names a place beneath an operator's directory. It proves nothing. The kernel gives the proof, when a
//     launcher opens the place beneath the held base without following links (I4).
//   - The Spec holds the child's complete environment. Nothing in it comes from the host's environment (I7).
//   - A SandboxID and a RunKey have exactly one spelling each, so they can be part of a name or a label (I8).
package sandbox
