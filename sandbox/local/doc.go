// Package local holds the code that all launchers of this machine share: the work that each of them does on the host
// before and after it makes a sandbox, and everything that needs no engine.
//
//	err := local.Withhold(bases, stateDir, local.EngineSockets()) // once: withhold these from every sandbox
//	m := local.Making{Order: local.Order{ID: id, Spec: spec, Bases: bases}}
//	err = local.RunSteps(ctx, m.CheckSpec, m.PinMounts, …)    // m.Pins are open directories; Close them at the end
//	err = m.TakeSlot(slots, uids)                             // free m.Slot when the sandbox is gone
//	err = m.Pins.Lay(m.Slot, local.IDs{Range: uids, Maps: maps})  // move clones of them into the slot's views
//	shared, err := local.CheckSocket(spec.Sockets[0], local.EngineSockets())
//	err = local.Run{Nonce: nonce, Who: uids.Of(m.Slot), Spec: spec, Mounts: expected}.Write(m.Slot.RunDir())
//	err = m.RollBack()                                        // if anything fails
//
// Then the launcher makes the sandbox. It mounts the slot's views at their prefixes, or each mount at its target, and
// the run directory at runfile.Dir. With a Trial before the first run, a launcher finds out whether this works here.
//
// To lay is to prepare a sandbox's file tree: its root, its mounts, and the files that the host gives it. The packages:
//
//   - local: the options, the steps that make a sandbox and their roll-back, pins, slots and views, identity, the run
//     directory, the withheld places, the open attachments, and the trial
//   - local/hostroot: the root of a sandbox that has the host's programs
//   - local/lay: the plan of a slot's mounts; a keeper carries it out for a watcher that is not root
//   - local/attest: the check of a finished sandbox from outside
//
// The package promises:
//
//   - A path of a request is looked up once. A refusal names the path as the parent wrote it, and says what to do.
//   - A profile's programs are opened anew for each sandbox, and only if no untrusted user can have exchanged them.
//   - Neither our own state nor an engine's socket is in a sandbox, under any name.
//   - The workspace belongs to one of the outbox's owners. The paths of a request are looked up with this owner's
//     rights.
//   - A sandbox runs either with an identity from the launcher, which every mount exchanges for the owner's, or as the
//     owner. It never runs as root.
//   - Files that the host writes for a sandbox are new; every user can read them and none can write them.
//
// The caller cleans up: it owns the slot, the pins and the attachments. This package starts no goroutines.
//
// Each file holds one thing that launchers use. Most files are short, and few depend on each other. That is why there
// are more of them than in other packages.
package local
