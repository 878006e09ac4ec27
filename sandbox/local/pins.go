package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"torno/delegation"
	"torno/internal/mounts"
	"torno/internal/runfile"
	"torno/internal/trust"
	"torno/sandbox"
	"torno/sandbox/local/attest"
)

// Pins are the mounts of a spec, all found and opened. All lists are in the spec's order.
type Pins struct {
	wanted []sandbox.Mount
	pins   []*mounts.Pin
	owner  mounts.User // of the workspace
}

// Pin finds and opens the paths of the request and the profile's programs. It looks up the request's paths with the
// rights of the workspace's owner, who must be one of owners (I18). Close closes them.
func Pin(bases *mounts.Bases, wanted []sandbox.Mount, owners []uint32) (Pins, error) {
	at := slices.IndexFunc(wanted, func(m sandbox.Mount) bool { return m.Workspace })
	if at < 0 {
		return Pins{}, errors.New("a sandbox without a workspace belongs to no user; name a workspace")
	}
	p := Pins{wanted: wanted, pins: make([]*mounts.Pin, len(wanted))}
	var err error
	p.pins[at], p.owner, err = pinWorkspace(bases, wanted[at], owners)
	for i, w := range wanted {
		switch {
		case err != nil || i == at:
		case w.Programs:
			p.pins[i], err = pinPrograms(bases, w)
		default:
			p.pins[i], err = pinOne(bases, w, p.owner)
		}
	}
	if err != nil {
		p.Close()
		return Pins{}, err
	}
	return p, nil
}

func pinOne(bases *mounts.Bases, wanted sandbox.Mount, who mounts.User) (*mounts.Pin, error) {
	pin, err := bases.PinAs(wanted.Source, who)
	var wrong *mounts.PathError
	switch {
	case errors.As(err, &wrong) && wrong.Kind == mounts.KindDenied && os.Geteuid() == 0:
		return nil, &closedError{refuse(wanted, fmt.Sprintf("lies behind a directory that is closed to user %d", who.UID),
			"open the directories above it to the workspace's owner, or name another directory")}
	case errors.As(err, &wrong):
		return nil, refuse(wanted, wrong.Reason(), hintFor(wrong))
	case err != nil:
		return nil, err
	case wanted.Workspace && !pin.Dir:
		pin.Close()
		return nil, refuse(wanted, "is not a directory", "name a directory")
	}
	return pin, nil
}

// pinPrograms opens the operator's programs anew for each sandbox, so that a newer version counts from the next run on.
// Only trusted users can have exchanged the programs, and no parent reaches them.
func pinPrograms(bases *mounts.Bases, wanted sandbox.Mount) (*mounts.Pin, error) {
	place := wanted.Source.Base
	held, err := trust.Places().Open(place)
	if err != nil {
		return nil, fmt.Errorf("programs of the profile: %w", err)
	}
	defer held.Close()
	pin, err := bases.PinApart(wanted.Source, held)
	if err != nil {
		return nil, fmt.Errorf("programs of the profile, %s: %w", place, err)
	}
	return pin, nil
}

// closedError refuses a path that one user cannot reach. Another owner may reach it.
type closedError struct{ refusal *delegation.Refusal }

func (e *closedError) Error() string { return e.refusal.Error() }
func (e *closedError) Unwrap() error { return e.refusal }

// Close closes all pins. Mounts that were made from them stay.
func (p Pins) Close() {
	for _, pin := range p.pins {
		if pin != nil {
			pin.Close()
		}
	}
}

// Held returns the open pins. They still belong to Pins, which closes them.
func (p Pins) Held() []*mounts.Pin { return p.pins }

// workspace returns the pin of the workspace, or nil if there is none.
func (p Pins) workspace() *mounts.Pin {
	for i, wanted := range p.wanted {
		if wanted.Workspace {
			return p.pins[i]
		}
	}
	return nil
}

// Workspace returns the workspace's device and inode, or 0 and 0 if there is none.
func (p Pins) Workspace() (device, inode uint64) {
	if pin := p.workspace(); pin != nil {
		return pin.Dev, pin.Ino
	}
	return 0, 0
}

// Owner returns the owner of the workspace, for a sandbox that has to run as this user. It fails if that is not
// allowed.
func (p Pins) Owner() (mounts.Identity, error) {
	pin := p.workspace()
	return pin.Owner(), checkRunsAs(pin.Owner(), p.owner)
}

// Paths returns the present paths of the mounts, for an engine that accepts only paths. The engine looks the paths up
// again, so only init's proof shows which file the engine has found.
func (p Pins) Paths() ([]string, error) {
	var all []string
	for i, wanted := range p.wanted {
		source := wanted.Engine
		if source == "" {
			var err error
			if source, err = p.pins[i].HerePath(); err != nil {
				return nil, fmt.Errorf("find %q: %w", wanted.Target, err)
			}
		}
		all = append(all, source)
	}
	return all, nil
}

// IDs tell how a launcher gives children their rights.
type IDs struct {
	Range UIDRange
	// Maps exchange the child's identity for the identity of the workspace's owner (see exchange). If Maps is nil,
	// every file keeps its owner.
	Maps *mounts.IDMaps
	// Own is true if the host's kernel checks a child by its own rights. Then the files of a context have no groups
	// (see mounts.IDMaps.Reading). Own is false if a runtime opens files for the child: a runtime uses root's
	// capabilities, which do not count in such a mount.
	Own bool
}

// Lay moves clones of the mounts into the slot, each to its place in its View.
func (p Pins) Lay(slot *mounts.Slot, ids IDs) error {
	for _, v := range Views(p.wanted) {
		for _, i := range v.Mounts {
			if err := p.moveIn(i, v, slot, ids); err != nil {
				return err
			}
		}
	}
	return nil
}

// exchange returns the user and group of the host for which the child's own ids stand in a mount. If an id is the same
// as the child's, it is not exchanged.
//
// The user is the workspace's owner in every mount, so that the child has the rights of this owner and of no other
// user. Root is the exception: below a root that is only for reading, the child is not root, not even in root's own
// outbox.
//
// The group counts only in the workspace. There it decides to which group the child's new files belong, and a child in
// a group may do what the group may. So the group is the workspace's group, if the owner is a member of it and it is
// not root's group. Otherwise it is the range's first id, which no sandbox has; a sandbox's own id would belong to
// another sandbox later.
func (p Pins) exchange(wanted sandbox.Mount, child mounts.Identity, ids UIDRange) mounts.Identity {
	on := child
	if p.owner.UID != 0 || wanted.Workspace || wanted.Allowed {
		on.UID = p.owner.UID
	}
	if !wanted.Workspace {
		return on
	}
	on.GID = ids.First
	if group := p.workspace().GID; group != 0 && p.owner.In(group) {
		on.GID = group
	}
	return on
}

// idmap returns the namespace that decides which files of a mount belong to the child, or nil if no id is exchanged.
func (p Pins) idmap(wanted sandbox.Mount, child mounts.Identity, ids IDs) (*os.File, error) {
	if ids.Maps == nil || wanted.Programs { // to these files the child is just another user
		return nil, nil
	}
	switch on := p.exchange(wanted, child, ids.Range); {
	case ids.Own && !wanted.Workspace:
		return ids.Maps.Reading(on.UID, child.UID)
	case on != child:
		return ids.Maps.Get(on, child)
	}
	return nil, nil
}

// moveIn moves a clone of one mount into the slot.
func (p Pins) moveIn(i int, v View, slot *mounts.Slot, ids IDs) error {
	wanted, pin := p.wanted[i], p.pins[i]
	rel, err := v.Rel(wanted.Target)
	if err != nil {
		return err
	}
	child := ids.Range.Of(slot)
	options := mounts.CloneOptions{ReadOnly: !wanted.Workspace}
	if options.IDMap, err = p.idmap(wanted, child, ids); err != nil {
		return err
	}
	if options.IDMap != nil {
		defer options.IDMap.Close()
	}
	tree, err := pin.Clone(options)
	if err != nil {
		return err
	}
	defer tree.Close()
	err = slot.PlaceFor(tree, v.Number, rel, mounts.User{UID: child.UID, GID: child.GID})
	if wanted.Programs && err != nil {
		return fmt.Errorf("programs of the profile, %s: %w", wanted.Source.Base, err)
	}
	if rel == onPrefix && errors.Is(err, mounts.ErrNoPlace) { // a file, in a sandbox made ahead for a directory
		return fmt.Errorf("%q at its prefix: %w", wanted.Target, err)
	}
	if errors.Is(err, fs.ErrPermission) {
		return refuse(wanted, "lies behind a directory that is closed to the child", "open the directories above it to the workspace's owner, or name it apart")
	}
	if errors.Is(err, mounts.ErrNoPlace) || errors.Is(err, mounts.ErrTaken) {
		return refuse(wanted, "does not fit into the mount around it", "make it a directory there too, or name it apart")
	}
	return err
}

// Expected returns the mounts that init must find. hardened: they were moved in by handle, so they are nosuid and
// nodev.
func (p Pins) Expected(hardened bool) []runfile.Mount {
	var all []runfile.Mount
	for i, wanted := range p.wanted {
		all = append(all, runfile.Mount{
			Path: wanted.Target, Device: p.pins[i].Dev, Inode: p.pins[i].Ino, Writable: wanted.Workspace, Hardened: hardened,
		})
	}
	return all
}

// Wants returns what the host must see when it looks at the mounts that init must find.
func Wants(expected []runfile.Mount) []attest.Want {
	var all []attest.Want
	for _, m := range expected {
		all = append(all, attest.Want{Target: m.Path, Device: m.Device, Inode: m.Inode, Writable: m.Writable, Hardened: m.Hardened})
	}
	return all
}

// Unnumbered returns the mounts that init must find if the sandbox's kernel gives its own device and inode numbers and
// does not show the host's flags.
func Unnumbered(expected []runfile.Mount) []runfile.Mount {
	var all []runfile.Mount
	for _, m := range expected {
		m.Device, m.Inode, m.Hardened, m.Unnumbered = 0, 0, false, true
		all = append(all, m)
	}
	return all
}
