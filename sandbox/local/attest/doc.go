// Package attest looks from outside at the processes of a finished sandbox, before its agent runs (I24).
//
//	p, err := attest.Open(pid)                       // a handle: it never comes to mean another process
//	defer p.Close()
//	var look attest.Look
//	err = p.CheckIdentity(&look, attest.Identity{UID: 2000000001, GID: 2000000001, Filtered: true})
//	err = p.CheckNamespaces(&look, "init", "pid", "net")
//	err = p.CheckMounts(&look, "mounts", []attest.Want{{Target: "/workspace", Device: dev, Inode: ino, Writable: true}}, known)
//	attestation, err := look.Attestation()           // a *sandbox.DifferenceError if anything differs
//
// The package promises: a Process stays the process that had the number when it was opened. The caller makes sure that
// it is the right process by its control group (InGroup) and its program (Program); no process in the sandbox can
// choose these. Everything else is read through the same handle, and fails if this process has ended.
//
// A watcher cannot look if it is not root, has no right to trace (CAP_SYS_PTRACE), or does not see the host's
// processes. Then the error is ErrCannotLook, and the caller reports this instead of attesting.
package attest
