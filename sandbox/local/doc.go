// Package local is what the launchers of this machine share: what each of them does on the host before and after it makes a
// sandbox, and what needs no engine.
//
//	err := local.Withhold(bases, stateDir, local.EngineSockets()) // once: withhold these from every sandbox
//	m := local.Making{Order: local.Order{ID: id, Spec: spec, Bases: bases}}
//	err = local.RunSteps(ctx, m.CheckSpec, m.PinMounts, …)    // m.Pins are the very directories, open until their Close
//	err = m.TakeSlot(slots, uids)                             // m.Slot is to be freed when the sandbox is gone
//	err = m.Pins.Lay(m.Slot, local.IDs{Range: uids, Maps: maps})  // clones of them, in the slot's views
//	shared, err := local.CheckSocket(spec.Sockets[0], local.EngineSockets())
//	err = local.Run{Nonce: nonce, Who: uids.Of(m.Slot), Spec: spec, Mounts: expected}.Write(m.Slot.RunDir())
//	err = m.RollBack()                                        // where anything fails
//
// Then the sandbox is made, with the views of the slot at their prefixes, or each mount at its target, and with the run
// directory at runfile.Dir. With a Trial before the first run a launcher finds out whether that works here.
//
// To lay is to prepare a sandbox's file tree: its root, its mounts, and the files that the host gives it. What is where:
//
//   - local: the options, the making of a sandbox with its roll-back, pins, slots and views, identity, the run directory,
//     what is withheld from sandboxes, the open attachments, and the trial
//   - local/hostroot: the root of a sandbox that has the host's programs
//   - local/lay: the plan of a slot's mounts, which a keeper carries out for a watcher that is not root
//   - local/attest: the check of a finished sandbox from outside
//
// What it promises:
//
//   - A path of a request is looked up once. A refusal names the path as the parent did, and says what to do about it.
//   - A profile's programs are opened for each sandbox, where only trusted users can have exchanged them.
//   - Nothing of ours and no engine's socket is in a sandbox, under any name.
//   - The workspace belongs to one of the outbox's owners, and what a request names is found with that owner's rights.
//   - A sandbox runs with an identity of the launcher's, which is exchanged for that owner's in every mount, or as that
//     owner. It never runs as root.
//   - What the host writes for a sandbox is new, can be read by every user and written by none.
//
// The caller cleans up: it owns the slot, the pins and the attachments. Nothing here has a goroutine of its own.
//
// Each file is one thing that a launcher takes from here, most of them short, and few know of each other: so there are more of them
// than elsewhere.
package local
