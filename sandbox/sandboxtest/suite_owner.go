package sandboxtest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"torno/delegation"
	"torno/sandbox"
)

var ownerCases = []testCase{
	{"files of an ordinary owner stay the owner's", ordinaryOwner},
	{"files of root stay root's", rootOwner},
	{"files of others stay others'", othersFiles},
	{"two sandboxes are two users", twoUsers},
}

// asRoot skips a case that must give files to other users, unless we are root.
func (b *bench) asRoot() {
	b.Helper()
	if os.Geteuid() != 0 {
		b.Skip("only root can give files to others: nothing was tried")
	}
}

// owns checks that everything in a directory belongs to one user and, unless that is root, to the user's group. No
// child is in root's group, so files that a child makes for root have a group without members.
func (b *bench) owns(dir string, uid int) {
	b.Helper()
	b.must(filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		stat := info.Sys().(*syscall.Stat_t)
		if int(stat.Uid) != uid || int(stat.Gid) != uid && (uid != 0 || stat.Gid < ownRange) {
			return fmt.Errorf("%s belongs to %d:%d, not to %d", path, stat.Uid, stat.Gid, uid)
		}
		return nil
	}))
}

func ordinaryOwner(b *bench) { keepsOwner(b, owner) }

func rootOwner(b *bench) {
	if !b.check()[sandbox.OwnIdentity].Enforced {
		b.asRoot()
		b.chown(b.home, 0)
		b.refused(b.spec("exit", "0"), delegation.CodeIdentity)
		return
	}
	keepsOwner(b, 0)
}

func keepsOwner(b *bench, uid int) {
	b.asRoot()
	b.put("workspace/old", "from the host\n")
	b.must(os.Chmod(filepath.Join(b.home, "old"), 0o600))
	b.chown(filepath.Join(b.home, "old"), uid)
	b.chown(b.home, uid)
	r := b.runs(b.script(`set -e
		id -u
		stat -c %u . old
		cat old
		echo more >>old
		echo new >file; mkdir -p dir/deeper; ln -s file link; ln file hard; mkfifo fifo; chmod 755 file; mv dir moved`))
	b.succeeds(r)
	words := strings.Fields(string(r.stdout))
	if len(words) != 6 || words[1] != words[0] || words[2] != words[0] || words[0] == strconv.Itoa(uid) && uid == 0 {
		b.Errorf("the agent does not own its files: %q, %s", r.stdout, r.errors)
	}
	b.same("old", []byte(b.get("workspace/old")), "from the host\nmore\n")
	b.owns(b.home, uid)
}

func othersFiles(b *bench) {
	b.asRoot()
	const stranger = 4242
	for name, mode := range map[string]fs.FileMode{"shut": 0o600, "open": 0o644} {
		b.put("workspace/"+name, name+"\n")
		b.must(os.Chmod(filepath.Join(b.home, name), mode))
		b.chown(filepath.Join(b.home, name), stranger)
	}
	r := b.runs(b.script(`cat open; cat shut && echo read; echo more >>open && echo written; chmod 777 shut && echo changed; exit 0`))
	b.same("stdout", r.stdout, "open\n")
	b.owns(filepath.Join(b.home, "shut"), stranger)
	b.owns(filepath.Join(b.home, "open"), stranger)
}

func twoUsers(b *bench) {
	b.enforced(sandbox.OwnIdentity)
	one, first := b.ready(b.script(`id -u; echo ready; exec sleep 1000000`))
	two, second := b.ready(b.script(`id -u; echo ready; exec sleep 1000000`))
	if string(first.stdout) == string(second.stdout) {
		b.Errorf("two sandboxes that run at once are both the user %q", first.stdout)
	}
	for _, a := range []sandbox.Attachment{one, two} {
		b.must(a.Signal(b.ctx, sandbox.Kill))
	}
}
