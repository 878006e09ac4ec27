package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"torno/sandbox"
)

// ownIdentity reports whether a launcher gives each child an identity of its own. Without one, a child whose mounts are
// by path runs as its workspace's owner. If mounts are by handle, it runs as the watcher's own user: that watcher is
// not root, and cannot use another user.
func ownIdentity(g sandbox.Guarantees) bool { return g[sandbox.OwnIdentity].Enforced }

// ourselves reports whether a launcher's children run as the watcher's own user.
func ourselves(g sandbox.Guarantees) bool {
	return !ownIdentity(g) && g[sandbox.MountsByHandle].Enforced
}

// every reports whether is holds for all launchers, and there is at least one.
func (s System) every(is func(sandbox.Guarantees) bool) bool {
	return len(s.Guarantees) > 0 && !slices.ContainsFunc(slices.Collect(maps.Values(s.Guarantees)), func(g sandbox.Guarantees) bool { return !is(g) })
}

func lookAtOwners(s System) (found []Finding) {
	if found := s.noLauncher(); found != nil {
		return found
	}
	for _, o := range s.Outboxes {
		if s.every(ownIdentity) {
			found = append(found, asNobody(o))
			continue
		}
		found = append(found, s.ownersOf(o)...)
	}
	return found
}

// ownersOf judges the identities of an outbox's children. If no launcher can run a child for the outbox, its findings
// refuse the start.
func (s System) ownersOf(o Outbox) (found []Finding) {
	for _, name := range s.launchers() {
		switch g := s.Guarantees[name]; {
		case ownIdentity(g):
		case ourselves(g):
			found = append(found, s.asOurselves(o, g[sandbox.OwnIdentity].By))
		default:
			found = append(found, asOwner(o, g[sandbox.OwnIdentity].By))
		}
	}
	if len(found) == len(s.Guarantees) && !slices.ContainsFunc(found, func(f Finding) bool { return f.Verdict != Bad }) {
		for i := range found {
			found[i].Refuses = true
		}
	}
	return found
}

// asNobody judges an outbox whose children run as users of their own. To files they have the rights of their
// workspace's owner.
func asNobody(o Outbox) Finding {
	f := Finding{
		Verdict: OK, Seen: fmt.Sprintf("workspaces of outbox %s belong to user %s", o.Name, ids(o.Owners)),
		Means: "its children have that user's rights to the files that they see, and no other user's",
	}
	switch {
	case len(o.Owners) == 0:
		f.Verdict, f.Seen = Unknown, fmt.Sprintf("outbox %s does not exist yet; its workspaces must belong to its owner", o.Name)
	case slices.Contains(o.Owners, 0):
		f.Means += "; root's files count as theirs below allowed roots, but not below roots for reading"
	}
	return f
}

// asOwner judges an outbox whose children run as the owner of their workspace.
func asOwner(o Outbox, why string) Finding {
	f := Finding{
		Verdict: Warn, Seen: fmt.Sprintf("children of outbox %s run as user %s: %s", o.Name, ids(o.Owners), why),
		Means: "they share this user with its other programs here; namespaces keep them apart", Do: "get mounts by handle to work",
	}
	switch {
	case len(o.Owners) == 0:
		f.Verdict, f.Seen = Unknown, fmt.Sprintf("outbox %s does not exist yet; its children will run as its owner: %s", o.Name, why)
	case !slices.ContainsFunc(o.Owners, func(uid uint32) bool { return uid != 0 }):
		f.Verdict, f.Means = Bad, "no child runs as root, so nothing could ever run"
		f.Do = "give the outbox to an ordinary user (chown), name the owner of workspaces in owners, or get mounts by handle to work"
	}
	return f
}

// asOurselves judges an outbox whose children run as the watcher's user. That user has to own their workspaces.
func (s System) asOurselves(o Outbox, why string) Finding {
	f := Finding{
		Verdict: Warn, Seen: fmt.Sprintf("children of outbox %s run as user %d: %s", o.Name, s.User, why),
		Means: "the machine sees them as that user; a kernel of their own keeps them apart from everything else that this user has",
		Do:    "run the watcher as a user with nothing else here, or as root",
	}
	if len(o.Owners) > 0 && !slices.Contains(o.Owners, s.User) {
		f.Verdict = Bad
		f.Seen = fmt.Sprintf("workspaces of outbox %s belong to user %s, and its children run as user %d: %s", o.Name, ids(o.Owners), s.User, why)
		f.Means = "no workspace could be written, so nothing could ever run"
		f.Do = fmt.Sprintf("give the outbox to user %d (chown), name that user in owners, or run the watcher as root", s.User)
	}
	return f
}

func lookAtUIDs(s System) []Finding {
	seen := fmt.Sprintf("%d to %d", s.UIDs.First, s.UIDs.Last)
	unused := s.every(func(g sandbox.Guarantees) bool { return !ownIdentity(g) })
	switch {
	case len(s.UIDs.Users)+len(s.UIDs.Ranges) == 0:
		return []Finding{{Verdict: OK, Seen: seen, Means: "no user and no range in /etc/subuid has one of these uids; users from other sources were not checked"}}
	case len(s.UIDs.Users) > 0:
		f := Finding{
			Verdict: Bad, Refuses: !unused, Seen: fmt.Sprintf("%s, and %s", seen, strings.Join(s.UIDs.Users, ", ")),
			Means: "a child would run as a user of this machine", Do: "choose another range: uids in the configuration",
		}
		if unused {
			f.Verdict, f.Means = Warn, "no child gets one of these uids now; a child with one would run as a user of this machine"
		}
		return []Finding{f}
	}
	return []Finding{{
		Verdict: Warn, Seen: fmt.Sprintf("%s, and %s", seen, strings.Join(s.UIDs.Ranges, ", ")),
		Means: "rootless containers of that user can share a uid with a child, and then send it signals",
		Do:    "choose another range: uids in the configuration",
	}}
}

func ids(uids []uint32) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(uids), "[]"), " ", " or ")
}
