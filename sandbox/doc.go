// Package sandbox is the contract between what decides about a run and what carries it out. A Spec says what a sandbox
// is: it is plain data, complete and printable. A Launcher turns a Spec into a running sandbox, and an Attachment follows
// it to its end. Package compile makes Specs out of requests. The launchers are sandbox/docker and sandbox/gvisor. Package
// launchers is their list, package local is what they share, and the suite in package sandboxtest is what "correct" means
// for all of them.
//
// A sandbox goes this way. It is created, begins, and waits; the host looks at it from outside; only then it gets the
// word to run the agent:
//
//	handle, err := l.Create(ctx, sandbox.NewSandboxID(), spec)
//	err = l.Start(ctx, handle)
//	attachment, err := l.Open(ctx, handle, "")
//	attestation, err := l.Attest(ctx, handle)
//	err = attachment.Release(ctx)
//	exit, err := attachment.Wait(ctx)
//	err = l.Remove(ctx, handle)
//
// What the package promises:
//   - A Spec cannot say network, privilege, capability, device or host namespace (I1).
//   - A Source is a place beneath an operator's directory, and never proof of anything: the proof is the kernel's, when a
//     launcher opens it beneath the held base without following links (I4).
//   - The child's environment is complete in the Spec, and nothing in it comes from the host's (I7).
//   - A SandboxID and a RunKey have one spelling each, so that they can be part of a name or a label (I8).
package sandbox
