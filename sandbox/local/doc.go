// Package local is what the launchers of this machine share: what each of them does on the host before and after it makes a
// sandbox, and what needs no engine.
//
//	err := local.Keep(bases, stateDir, local.EngineSockets()) // once: what no sandbox gets
//	m := local.Making{Order: local.Order{ID: id, Spec: spec, Bases: bases}}
//	err = local.Take(ctx, m.CheckSpec, m.PinMounts, …)        // m.Pins are the very directories, held until their Close
//	err = m.TakeSlot(slots, uids)                             // m.Slot is to be released when the sandbox is gone
//	err = m.Pins.Lay(m.Slot, uids, idmaps)                    // clones of them, in the slot's views
//	socket, err := local.CheckSocket(spec.Sockets[0], local.EngineSockets())
//	err = local.Run{Nonce: nonce, Who: uids.Of(m.Slot), Spec: spec, Mounts: expected}.Write(m.Slot.RunDir())
//	err = m.RollBack()                                        // where anything fails
//
// Then the sandbox is made, with the views of the slot at their prefixes, or each mount at its target, and with the run
// directory at runfile.Dir. Whether that works here, a launcher finds out with a Trial before the first run.
//
// To lay is to prepare a sandbox's file tree: its root, its mounts, and the files that the host gives it. What is where:
//
//   - local: the options, the way to a sandbox with its roll-back, pins, slots and views, identity, the run file, what no
//     sandbox gets, the attachments that are open, and the trial
//   - local/hostroot: the root of a sandbox that has the host's programs
//   - local/lay: what is laid in a slot, as a plan that a keeper lays for a watcher that is not root
//   - local/attest: the look at a finished sandbox from outside
//
// What it promises:
//
//   - What a request names is looked up once and refused in the parent's own words, with what to do about it.
//   - Nothing of ours and no engine's socket is in a sandbox, whatever it is called and whoever asks.
//   - The workspace belongs to one of the outbox's owners, and what a request names is found with that owner's rights.
//   - A sandbox runs with an identity of the launcher's, which is exchanged for that owner's in every mount, or as that
//     owner. It never runs as root.
//   - What the host writes for a sandbox is new, can be read by every user and written by none.
//
// Who cleans up: the caller, who owns the slot, the pins and the attachments. Nothing here has a goroutine of its own.
package local
