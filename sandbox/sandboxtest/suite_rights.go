package sandboxtest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"torno/delegation"
	"torno/sandbox"
	"torno/test/attack"
)

// rightsCases use files to which the outbox's owners have no right. The child must have no right to them either.
var rightsCases = []testCase{
	{"root's private files below a readable root", rootsFiles},
	{"root's private files in a context of root's own outbox", rootsFilesOfRoot},
	{"a workspace of another user", strangersWorkspace},
	{"files that an access list denies to the workspace's group", listedFiles},
	{"files of root's group", rootsGroup},
	{"files of a group that the workspace's owner is not in", foreignGroup},
	{"a way through a directory that is closed to the owner", closedWay},
	{"context of a third user", strangersContext},
}

const (
	stranger = 1001 // a user who is not an owner of the outbox
	foreign  = 4242 // a group that the suite's owner is not in
)

// secret writes a file that only its owner can read, or its group too, depending on mode.
func (b *bench) secret(rel string, uid, gid int, mode fs.FileMode) {
	b.Helper()
	name := filepath.Join(b.dir, rel)
	b.must(os.WriteFile(name, []byte("secret of "+rel+"\n"), mode))
	b.must(os.Chmod(name, mode))
	b.must(os.Lchown(name, uid, gid))
}

// reads has a child read files, and returns how many of them showed their secret.
func (b *bench) reads(spec sandbox.Spec, files ...string) (n int) {
	b.Helper()
	spec.Process.Argv = slices.Concat([]string{"/bin/sh", "-c", `for f; do cat "$f" 2>/dev/null; done; echo end`, "sh"}, files)
	r := b.runs(spec)
	if !strings.HasSuffix(string(r.stdout), "end\n") {
		b.Fatalf("the child did not try: %q, %s", r.stdout, r.errors)
	}
	return strings.Count(string(r.stdout), "secret of ")
}

// heldOff records how an attack went, and fails the test if any try got through. The oracle is that the same child, in
// the same way, reads its owner's own file.
func (b *bench) heldOff(row string, trial attack.Trial, through int) {
	b.Helper()
	if through > 0 {
		b.Errorf("the child has read %d of %d files that its owner may not read", through, trial.Tried)
	}
	if !trial.Oracle {
		b.Error("the child could not read what is its owner's, so that nothing was tried")
	}
	trial.Row, trial.Where, trial.Held, trial.Note = row, b.suite.Name, trial.Tried-through, "the child reads its owner's own"
	attack.Record(b.T, trial)
}

// ofOwner makes uid the only owner of the spec's outbox.
func ofOwner(spec sandbox.Spec, uid uint32) sandbox.Spec {
	spec.Owners = []uint32{uid}
	return spec
}

func rootsFiles(b *bench) {
	b.asRoot()
	b.mkdir("notes", 0)
	b.secret("notes/roots", 0, 0, 0o600)
	b.secret("notes/own", owner, owner, 0o600)
	b.secret("single", 0, 0, 0o600)
	spec := ofOwner(with(b.script(""), b.context("notes", "/parent/notes", "/parent"), b.context("single", "/parent/single", "/parent")), owner)
	oracle := b.reads(spec, "/parent/notes/own") == 1
	b.heldOff("A1", attack.Trial{Tried: 2, Oracle: oracle}, b.reads(spec, "/parent/notes/roots", "/parent/single"))
}

// rootsFilesOfRoot checks that root's child is root below allowed roots, and a stranger below roots that are for
// reading only.
func rootsFilesOfRoot(b *bench) {
	b.asRoot()
	b.chown(b.home, 0)
	b.mkdir("notes", 0)
	b.secret("notes/roots", 0, 0, 0o600)
	readable := b.context("notes", "/parent/notes", "/parent")
	spec := ofOwner(with(b.script(""), readable), 0)
	if !b.check()[sandbox.OwnIdentity].Enforced {
		b.refused(spec, delegation.CodeIdentity)
		return
	}
	through := b.reads(spec, "/parent/notes/roots")
	readable.Allowed = true
	oracle := b.reads(ofOwner(with(b.script(""), readable), 0), "/parent/notes/roots") == 1
	b.heldOff("A1", attack.Trial{Tried: 1, Oracle: oracle}, through)
}

func strangersWorkspace(b *bench) {
	b.asRoot()
	b.secret("workspace/key", stranger, stranger, 0o600)
	b.must(os.Chmod(b.home, 0o700))
	for _, uid := range []int{stranger, 0} {
		b.chown(b.home, uid)
		b.refused(ofOwner(b.script("cat key"), owner), delegation.CodeIdentity)
	}
	b.chown(b.home, owner)
	b.secret("workspace/own", owner, owner, 0o600)
	spec := ofOwner(b.script(""), owner)
	b.heldOff("A2", attack.Trial{Tried: 1, Oracle: b.reads(spec, "own") == 1}, b.reads(spec, "key"))
}

// listedFiles has the child try what an access list denies to the workspace's group. The mode shows the list's mask there.
func listedFiles(b *bench) {
	b.asRoot()
	b.must(os.Lchown(b.home, owner, owner))
	b.secret("workspace/group", stranger, owner, 0o640)
	b.secret("workspace/listed", stranger, owner, 0o600)
	b.mkdir("workspace/in", stranger)
	b.must(os.Lchown(filepath.Join(b.home, "in"), stranger, owner))
	b.secret("workspace/in/there", stranger, stranger, 0o644)
	for _, name := range []string{"listed", "in"} {
		// user::rwx user:4711:rwx group::--- mask::rwx other::---
		err := unix.Setxattr(filepath.Join(b.home, name), "system.posix_acl_access", []byte{
			2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255, 2, 0, 7, 0, 0x67, 0x12, 0, 0,
			4, 0, 0, 0, 255, 255, 255, 255, 16, 0, 7, 0, 255, 255, 255, 255, 32, 0, 0, 0, 255, 255, 255, 255,
		}, 0)
		if errors.Is(err, unix.EOPNOTSUPP) {
			b.Skip("the file system knows no access lists: nothing was tried")
		}
		b.must(err)
	}
	spec := ofOwner(b.script(""), owner)
	oracle := b.reads(spec, "group") == 1
	b.heldOff("A7", attack.Trial{Tried: 2, Oracle: oracle}, b.reads(spec, "listed", "in/there"))
}

// inGroup gives the workspace to a group, and has the child try files of the group. A launcher that mounts by path must
// refuse such a workspace.
func (b *bench) inGroup(row string, gid int) {
	b.Helper()
	b.asRoot()
	b.must(os.Lchown(b.home, owner, gid))
	b.must(os.Chmod(b.home, 0o775|fs.ModeSetgid))
	b.secret("workspace/group", 0, gid, 0o640)
	b.secret("workspace/own", owner, gid, 0o600)
	spec := ofOwner(b.script(""), owner)
	if !b.check()[sandbox.OwnIdentity].Enforced {
		b.refused(spec, delegation.CodeIdentity)
		return
	}
	oracle := b.reads(spec, "own") == 1
	b.heldOff(row, attack.Trial{Tried: 1, Oracle: oracle}, b.reads(spec, "group"))

	r := b.runs(ofOwner(b.script(`mkdir in && touch in/here && chmod 755 in/here && ls -n in/here`), owner))
	b.succeeds(r)
	uid, got := owned(b, filepath.Join(b.home, "in", "here"))
	if uid != owner || got != gid {
		b.Errorf("what the child made in a directory that hands on its group, %d, belongs to %d:%d", gid, uid, got)
	}
	b.must(os.Chmod(b.home, 0o775))
	b.must(os.Chmod(filepath.Join(b.home, "in"), 0o775))
	b.succeeds(b.runs(ofOwner(b.script(`touch plain && mkdir also && touch also/there`), owner)))
	for _, name := range []string{"plain", "also", "also/there"} {
		if uid, got := owned(b, filepath.Join(b.home, name)); uid != owner || got == gid || got < ownRange {
			b.Errorf("the child's %s belongs to %d:%d, and its group should be nobody's", name, uid, got)
		}
	}
}

// ownRange is the lowest id that a sandbox may have.
const ownRange = 100_000

func rootsGroup(b *bench)   { b.inGroup("A3", 0) }
func foreignGroup(b *bench) { b.inGroup("A4", foreign) }

func closedWay(b *bench) {
	b.asRoot()
	b.mkdir("closed", stranger)
	b.mkdir("open", owner)
	for dir, uid := range map[string]int{"closed": stranger, "open": owner} {
		b.mkdir(dir+"/notes", uid)
		b.secret(dir+"/notes/note", uid, uid, 0o644)
		b.mkdir(dir+"/work", owner)
		b.must(os.Chmod(filepath.Join(b.dir, dir), 0o700))
	}
	context := func(rel string) sandbox.Spec {
		return ofOwner(with(b.script(""), b.context(rel, "/parent/notes", "/parent")), owner)
	}
	work := func(rel string) sandbox.Spec {
		spec := ofOwner(b.script("echo secret of work"), owner)
		spec.Mounts[0].Source = b.source(rel)
		return spec
	}
	b.refused(context("closed/notes"), delegation.CodeContext)
	b.refused(context("closed/notes/note"), delegation.CodeContext)
	b.refused(work("closed/work"), delegation.CodeWorkspace)
	b.succeeds(b.runs(work("open/work")))
	oracle := b.reads(context("open/notes"), "/parent/notes/note") == 1
	b.heldOff("A5", attack.Trial{Tried: 3, Oracle: oracle}, 0)
}

func strangersContext(b *bench) {
	b.asRoot()
	b.mkdir("notes", stranger)
	b.secret("notes/strangers", stranger, stranger, 0o600)
	b.secret("notes/own", owner, owner, 0o600)
	b.secret("single", stranger, stranger, 0o640)
	spec := ofOwner(with(b.script(""), b.context("notes", "/parent/notes", "/parent"), b.context("single", "/parent/single", "/parent")), owner)
	oracle := b.reads(spec, "/parent/notes/own") == 1
	b.heldOff("A6", attack.Trial{Tried: 2, Oracle: oracle}, b.reads(spec, "/parent/notes/strangers", "/parent/single"))
}

// owned returns the user and the group of a file.
func owned(b *bench, name string) (uid, gid int) {
	b.Helper()
	info, err := os.Lstat(name)
	b.must(err)
	stat := info.Sys().(*syscall.Stat_t)
	return int(stat.Uid), int(stat.Gid)
}
