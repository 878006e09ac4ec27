package local

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"torno/delegation"
	"torno/internal/mounts"
	"torno/sandbox"
	"torno/test/missing"
)

// code is why something was refused, or "".
func code(err error) delegation.Code {
	var refusal *delegation.Refusal
	if !errors.As(err, &refusal) {
		return ""
	}
	return refusal.Code
}

// TestTheWorkspacesOwner must be an owner of the outbox, and able to reach the workspace.
func TestTheWorkspacesOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		missing.Skip(t, "only root can give directories to others")
	}
	w := newWorld(t)
	give := func(rel string, uid int, mode os.FileMode) {
		w.must(os.MkdirAll(w.at(rel), 0o755), os.Chown(w.at(rel), uid, uid), os.Chmod(w.at(rel), mode))
	}
	for _, uid := range []int{0, 1000, 1001} {
		in := filepath.Join("of", map[int]string{0: "root", 1000: "alice", 1001: "bob"}[uid])
		give(in, uid, 0o700)
		give(in+"/roots", 0, 0o755)
		give(in+"/alices", 1000, 0o755)
		give(in+"/bobs", 1001, 0o755)
	}
	w.must(os.Chmod(w.at("of"), 0o755))
	for _, c := range []struct {
		rel    string
		owners []uint32
		want   delegation.Code
	}{
		{"of/alice/alices", []uint32{1000}, ""},
		{"of/alice/alices", []uint32{1001, 1000}, ""},
		{"of/root/roots", []uint32{0}, ""},
		{"of/alice/roots", []uint32{1000, 0}, ""},
		{"of/alice/roots", []uint32{1000}, delegation.CodeIdentity},
		{"of/alice/bobs", []uint32{1000}, delegation.CodeIdentity},
		{"of/root/bobs", []uint32{0}, delegation.CodeIdentity},
		{"of/bob/alices", []uint32{1000}, delegation.CodeWorkspace},
		{"of/bob/alices", []uint32{1000, 1001}, delegation.CodeWorkspace}, // bob reaches it, and it is alice's
		{"of/root/alices", []uint32{0, 1000}, delegation.CodeWorkspace},
		{"of/bob/none", []uint32{1000}, delegation.CodeWorkspace},
		{"of/alice/alices", nil, delegation.CodeWorkspace},
	} {
		pins, err := Pin(w.bases, []sandbox.Mount{w.workspace(c.rel, "/ws", "/ws")}, c.owners)
		if (err == nil) != (c.want == "") || code(err) != c.want {
			t.Errorf("%s for %d: %v, want %q", c.rel, c.owners, err, c.want)
		}
		pins.Close()
	}
}

// TestContextIsReachedByTheWorkspacesOwner and by no other owner.
func TestContextIsReachedByTheWorkspacesOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		missing.Skip(t, "only root can give directories to others")
	}
	w := newWorld(t)
	w.must(os.Mkdir(w.at("ws"), 0o755), os.Chown(w.at("ws"), 1000, 1000),
		os.MkdirAll(w.at("bobs/notes"), 0o755), os.Chown(w.at("bobs"), 1001, 1001), os.Chmod(w.at("bobs"), 0o700))
	all := []sandbox.Mount{w.workspace("ws", "/ws", "/ws"), w.mount("bobs/notes", "/n", "/n")}
	if _, err := Pin(w.bases, all, []uint32{1001, 1000, 0}); code(err) != delegation.CodeContext {
		t.Errorf("%v", err)
	}
	w.must(os.Chmod(w.at("bobs"), 0o711))
	w.pin(all...)
}

// TestRunsAs: by path a sandbox is its workspace's owner, in a group of the owner's.
func TestRunsAs(t *testing.T) {
	alice := mounts.User{UID: 1000, GID: 1000, Groups: []uint32{1000, 50}}
	for _, c := range []struct {
		who   mounts.Identity
		owner mounts.User
		good  bool
	}{
		{mounts.Identity{UID: 1000, GID: 1000}, alice, true},
		{mounts.Identity{UID: 1000, GID: 50}, alice, true},
		{mounts.Identity{UID: 1000, GID: 51}, alice, false},
		{mounts.Identity{UID: 1000, GID: 0}, mounts.User{UID: 1000, Groups: []uint32{0}}, false},
		{mounts.Identity{UID: 0, GID: 1000}, mounts.User{}, false},
	} {
		err := checkRunsAs(c.who, c.owner)
		if c.good != (err == nil) || err != nil && code(err) != delegation.CodeIdentity {
			t.Errorf("%+v: %v", c.who, err)
		}
	}
}

// TestExchange: one user in every mount, root's own only where root's outbox may write, and a group in the workspace alone.
func TestExchange(t *testing.T) {
	ids, child := UIDRange{First: 2_000_000_000, Count: 9}, mounts.Identity{UID: 2_000_000_005, GID: 2_000_000_005}
	alice, root := mounts.User{UID: 1000, GID: 1000, Groups: []uint32{50}}, mounts.User{}
	workspace, below, read := sandbox.Mount{Workspace: true, Allowed: true}, sandbox.Mount{Allowed: true}, sandbox.Mount{}
	for _, c := range []struct {
		owner    mounts.User
		group    uint32 // of the workspace
		in       sandbox.Mount
		uid, gid uint32
	}{
		{alice, 1000, workspace, 1000, 1000},
		{alice, 50, workspace, 1000, 50},
		{alice, 51, workspace, 1000, ids.First},
		{alice, 0, workspace, 1000, ids.First},
		{mounts.User{UID: 1000, Groups: []uint32{0}}, 0, workspace, 1000, ids.First},
		{alice, 1000, below, 1000, child.GID},
		{alice, 1000, read, 1000, child.GID},
		{root, 0, workspace, 0, ids.First},
		{root, 51, workspace, 0, 51},
		{root, 0, below, 0, child.GID},
		{root, 0, read, child.UID, child.GID},
	} {
		p := Pins{wanted: []sandbox.Mount{{Workspace: true}}, pins: []*mounts.Pin{{UID: c.owner.UID, GID: c.group}}, owner: c.owner}
		if got := p.exchange(c.in, child, ids); got != (mounts.Identity{UID: c.uid, GID: c.gid}) {
			t.Errorf("%+v in group %d, %+v: the child is %+v on the host, want %d:%d", c.owner, c.group, c.in, got, c.uid, c.gid)
		}
	}
}
