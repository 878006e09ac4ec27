package sandboxtest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"torno/test/attack"
)

// whatAgentLeaves has the agent leave everything that it can in its workspace, and then looks from the host. The
// sandbox's own kernel may show other modes, owners and nodes than the host's files have.
func whatAgentLeaves(b *bench) {
	strong, weak := b.mkdir("workspace/strong", owner), b.mkdir("workspace/weak", owner)
	b.must(os.Chmod(weak, 0o777))
	spec := b.probe("leave", "/workspace/strong")
	controls := b.suite.Controls(b.T, b.dir)
	b.succeeds(b.runs(spec))
	controls.Run("leave", "/workspace/weak")

	left, possible := b.left(strong), b.left(weak)
	for row, most := range map[string]int{"C12": 4, "C23": 20, "C24": 8} {
		trial := attack.Trial{Row: row, Where: b.suite.Name + ", on the host", Tried: len(possible[row]), Oracle: len(possible[row]) >= most/2}
		trial.Held = trial.Tried - len(left[row])
		trial.Note = "the host looks; without walls it finds " + strings.Join(possible[row], ", ")
		attack.Record(b.T, trial)
		if len(left[row]) > 0 {
			b.Errorf("the host finds %v", left[row])
		}
	}
}

// left returns the files that the host finds below a directory, by the row of docs/THREATS.md that they break.
func (b *bench) left(dir string) map[string][]string {
	b.Helper()
	found := map[string][]string{}
	note := func(row string, is bool, path string) {
		if is {
			found[row] = append(found[row], strings.TrimPrefix(path, dir+"/"))
		}
	}
	b.must(filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		stat := info.Sys().(*syscall.Stat_t)
		note("C12", info.Mode()&fs.ModeDevice != 0, path)
		note("C23", info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0, path)
		note("C24", info.Mode().IsRegular() && (stat.Uid == 0 && strings.HasSuffix(path, "/root's") || marked(path)), path)
		return nil
	}))
	return found
}

// marked reports whether a file has flags or attributes.
func marked(path string) bool {
	names := make([]byte, 4096)
	n, err := unix.Listxattr(path, names)
	foreign := func(name string) bool {
		return name != "" && !strings.HasPrefix(name, "security.selinux")
	}
	if err == nil && slices.ContainsFunc(strings.Split(string(names[:n]), "\x00"), foreign) {
		return true
	}
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	const getFlags, immutable, appendOnly, noDump = 0x80086601, 0x10, 0x20, 0x40 // Linux's, on 64 bits
	flags, err := unix.IoctlGetInt(int(file.Fd()), getFlags)
	return err == nil && flags&(immutable|appendOnly|noDump) != 0
}

// whoseKernel compares the sandbox's kernel, as the child reads it, with the host's kernel. If the sandbox has its own
// kernel, the two must differ, and the child must learn nothing of the host's kernel. Otherwise they must be the same.
func whoseKernel(b *bench) {
	for _, file := range []string{"/proc/version", "/proc/sys/kernel/random/boot_id"} {
		host, err := os.ReadFile(file)
		b.must(err)
		r := b.runs(b.script(fmt.Sprintf("cat %s", file)))
		if same := string(r.stdout) == string(host); same == b.ownKernel() {
			b.Errorf("%s says %q, on the host %q", file, r.stdout, host)
		}
	}
	if !b.ownKernel() {
		return // other launchers hide /proc/cmdline
	}
	line, err := os.ReadFile("/proc/cmdline")
	b.must(err)
	if r := b.runs(b.script("cat /proc/cmdline")); strings.Contains(string(r.stdout), strings.TrimSpace(string(line))) {
		b.Errorf("the host's kernel was started with %q, and the child reads %q", line, r.stdout)
	}
}
