// Package attest looks from outside at the processes of a finished sandbox, before its agent runs (I24).
//
//	p, err := attest.Open(pid)                       // a handle: it never shows another process
//	defer p.Close()
//	var look attest.Look
//	err = p.CheckIdentity(&look, attest.Identity{UID: 2000000001, GID: 2000000001, Filtered: true})
//	err = p.CheckNamespaces(&look, "init", "pid", "net")
//	err = p.CheckMounts(&look, "mounts", []attest.Want{{Target: "/workspace", Device: dev, Inode: ino, Writable: true}}, known)
//	attestation, err := look.Attestation()           // a *sandbox.DifferenceError where anything differs
//
// What it promises: a Process is the process that had the number when it was opened. The caller finds out whether it is the right
// one by its control group (InGroup) and its program (Program), which no process in the sandbox can choose. Everything else is
// read through the same handle, and fails when that process has ended.
//
// What can fail: a watcher that is not root, has no right to trace (CAP_SYS_PTRACE), or sees other processes than the host's,
// cannot look. Then the error is ErrCannotLook, and the caller says so instead of attesting.
package attest
