package sandboxtest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/compile"
	"torno/test/attack"
)

// programCases test the profile's programs. They lie beside the suite's base, where no request reaches them.
var programCases = []testCase{
	{"programs can be read and not written", programsReadOnly},
	{"programs that are a file", programsFile},
}

// programWallCases test programs in sandboxes that really run them.
var programWallCases = []testCase{
	{"programs are found by their names", programsRun},
	{"what npm installed for all users runs", programsOfNpm},
	{"programs give no rights of another user", programsWithoutRights},
	{"programs that were exchanged after the check", programsSwapped},
	{"what is mounted below programs is not shown", programsWithMounts},
	{"programs that others could exchange are refused", programsOfOthers},
	{"programs that requests reach are refused", programsInReach},
}

// tools makes a directory of the operator with the given files, all executable, and returns it.
func (b *bench) tools(files map[string]string) string {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "tools")
	b.must(os.Mkdir(dir, 0o755))
	for name, content := range files {
		b.putTool(filepath.Join(dir, name), content)
	}
	return dir
}

func (b *bench) putTool(name, content string) {
	b.Helper()
	for _, dir := range []string{filepath.Dir(filepath.Dir(name)), filepath.Dir(name)} {
		b.must(os.MkdirAll(dir, 0o755))
	}
	b.must(os.WriteFile(name, []byte(content), 0o755))
	b.must(os.Chmod(name, 0o755))
}

// agent runs a word of the vocabulary for a profile with programs.
func (b *bench) agent(programs []compile.Programs, name string, args ...string) result {
	b.Helper()
	argv := append([]string{name}, args...)
	if b.suite.Real {
		argv = shell(name, args)
	}
	return b.runs(b.withPrograms(programs, argv...))
}

func programsReadOnly(b *bench) {
	dir := b.tools(map[string]string{"note": "read me\n"})
	b.must(os.WriteFile(filepath.Join(filepath.Dir(dir), "secret"), []byte("not me\n"), 0o644))
	for _, as := range []string{"/opt/tools", "/usr/local/tools", dir} {
		if b.suite.Real && strings.HasPrefix(as, "/tmp") {
			continue // /tmp is the child's own
		}
		programs := []compile.Programs{{Host: dir, As: as}}
		b.same("the file at "+as, b.agent(programs, "show", as+"/note").stdout, "read me\n")
		for _, name := range []string{as + "/note", as + "/new", as + "/../new"} {
			if e := b.agent(programs, "write", name, "changed").exit; e.Code == 0 {
				b.Errorf("%s could be written", name)
			}
		}
		if e := b.agent(programs, "show", as+"/../secret").exit; e.Code == 0 {
			b.Errorf("the neighbour of %s could be read", as)
		}
	}
	if content, err := os.ReadFile(filepath.Join(dir, "note")); err != nil || string(content) != "read me\n" {
		b.Errorf("on the host the file is %q, %v", content, err)
	}
}

func programsFile(b *bench) {
	dir := b.tools(map[string]string{"bin/note": "read me\n", "bin/secret": "not me\n"})
	for _, as := range []string{"/opt/note", "/usr/local/bin/note"} {
		programs := []compile.Programs{{Host: dir + "/bin/note", As: as}}
		b.same("the file at "+as, b.agent(programs, "show", as).stdout, "read me\n")
		if e := b.agent(programs, "write", as, "changed").exit; e.Code == 0 {
			b.Errorf("%s could be written", as)
		}
		if e := b.agent(programs, "show", filepath.Dir(as)+"/secret").exit; e.Code == 0 {
			b.Error("its neighbour could be read")
		}
	}
}

// says returns a program that prints a line.
func says(line string) string { return fmt.Sprintf("#!/bin/sh\necho '%s'\n", line) }

func programsRun(b *bench) {
	dir := b.tools(map[string]string{
		"go/bin/torno-go": says("go"), "flat/torno-flat": says("flat"), "one/bin/torno-one": says("one"), "go/bin/torno-twice": says("the first"),
		"flat/torno-twice": says("the second"), "go/bin/true": says("another true"),
	})
	spec := b.withPrograms([]compile.Programs{
		{Host: dir + "/go", As: "/usr/local/go"}, {Host: dir + "/flat", As: "/opt/flat"}, {Host: dir + "/one/bin/torno-one", As: "/usr/local/bin/torno-one"},
	}, "/bin/sh", "-c", "torno-go; torno-flat; torno-one; torno-twice; env true; ls /usr/local /usr/local/bin")
	r := b.runs(spec)
	b.same("stdout", r.stdout, "go\nflat\none\nthe first\nanother true\n/usr/local:\nbin\ngo\n\n/usr/local/bin:\ntorno-one\n")
	b.succeeds(r)
}

// programsOfNpm uses the tree that `npm install --global` makes: links in bin that lead into lib.
func programsOfNpm(b *bench) {
	dir := b.tools(map[string]string{"lib/node_modules/@torno/cli/cli.js": says("from npm")})
	b.must(os.Mkdir(filepath.Join(dir, "bin"), 0o755))
	b.must(os.Symlink("../lib/node_modules/@torno/cli/cli.js", filepath.Join(dir, "bin/torno-cli")))
	for _, programs := range [][]compile.Programs{
		{{Host: dir, As: "/usr/local"}},
		{{Host: dir + "/lib/node_modules", As: "/usr/local/lib/node_modules"}, {Host: dir + "/bin", As: "/usr/local/bin"}},
		{{Host: dir, As: "/opt/npm"}},
	} {
		r := b.runs(b.withPrograms(programs, "torno-cli"))
		b.same("stdout", r.stdout, "from npm\n")
		b.succeeds(r)
	}
}

// programsWithoutRights checks that set-id bits give nothing. It also checks that the child cannot read a file that is
// closed to others, even if the file belongs to the workspace's owner. A sandbox that runs as that owner has the
// owner's rights.
func programsWithoutRights(b *bench) {
	b.asRoot()
	dir := b.tools(map[string]string{"bin/secret": "secret of root\n", "bin/of-owner": "secret of the owner\n"})
	id, err := os.ReadFile("/usr/bin/id")
	b.must(err)
	b.putTool(dir+"/bin/torno-id", string(id))
	b.must(os.Chmod(dir+"/bin/torno-id", fs.ModeSetuid|fs.ModeSetgid|0o755))
	closed := []string{"/opt/tools/bin/secret"}
	b.must(os.Chmod(dir+"/bin/secret", 0o600))
	b.must(os.Chmod(dir+"/bin/of-owner", 0o600))
	b.chown(dir+"/bin/of-owner", owner)
	if b.check()[sandbox.OwnIdentity].Enforced {
		closed = append(closed, "/opt/tools/bin/of-owner")
	}
	spec := b.withPrograms([]compile.Programs{{Host: dir, As: "/opt/tools"}}, "/bin/sh", "-c", `torno-id -u; torno-id -g; cat "$@"; echo end`, "sh")
	spec.Process.Argv = append(spec.Process.Argv, closed...)
	r := b.runs(spec)
	lines := strings.Fields(string(r.stdout))
	trial := attack.Trial{Where: b.suite.Name, Tried: 1 + len(closed), Note: "the child has run the program, and looked at the files"}
	trial.Row = "R12" // for all launchers; docs/THREATS.md names their tests
	if trial.Oracle = len(lines) > 2 && lines[len(lines)-1] == "end"; trial.Oracle && lines[0] != "0" && lines[1] != "0" {
		trial.Held = 1 + strings.Count(string(r.errors), "Permission denied")
	}
	if strings.Contains(string(r.stdout), "secret") || trial.Held != trial.Tried {
		b.Errorf("the child said %q and %q", r.stdout, r.errors)
	}
	attack.Record(b.T, trial)
}

// programsSwapped checks that the checked program runs, or none.
func programsSwapped(b *bench) {
	dir := b.tools(map[string]string{"bin/torno-tool": says("the checked one")})
	trial := attack.Trial{Where: b.suite.Name, Oracle: true, Note: "the oracle is a sandbox that is made after the exchange"}
	trial.Row = "M16"
	for _, as := range []string{"/opt/tools", "/usr/local/tools"} {
		spec := b.withPrograms([]compile.Programs{{Host: dir, As: as}}, "torno-tool")
		h := b.create(spec)
		b.must(os.Rename(dir, dir+"-checked"))
		b.putTool(dir+"/bin/torno-tool", says("another one"))
		said := b.saysOnceStarted(h)
		trial.Oracle = trial.Oracle && strings.HasPrefix(b.saysOnceStarted(b.create(spec)), "another one\n")
		b.must(os.RemoveAll(dir))
		b.must(os.Rename(dir+"-checked", dir))
		trial.Tried++
		if strings.Contains(said, "another one") {
			b.Errorf("at %s the child has run what was put there after the check", as)
		} else {
			trial.Held++
		}
	}
	attack.Record(b.T, trial)
}

// saysOnceStarted returns the output of a sandbox, or the reason why it does not run.
func (b *bench) saysOnceStarted(h sandbox.Handle) string {
	b.Helper()
	if err := b.launcher.Start(b.ctx, h); err != nil {
		return err.Error()
	}
	a, seen := b.open(h, ""), &transcript{}
	b.read(a, seen, func() bool { return string(seen.stderr) == runfile.Holding })
	if _, err := b.launcher.Attest(b.ctx, h); err != nil {
		return err.Error()
	}
	if err := a.Release(b.ctx); err != nil {
		return err.Error()
	}
	b.must(a.Input().Close())
	b.end(a, seen)
	return string(seen.stdout) + string(seen.stderr)
}

// made returns nil if the launcher makes a sandbox with the programs, or the reason why not.
func (b *bench) made(host string) error {
	b.Helper()
	h, err := b.launcher.Create(b.ctx, sandbox.NewSandboxID(), b.withPrograms([]compile.Programs{{Host: host, As: "/opt/tools"}}, "true"))
	if err == nil {
		b.remove(h)
	}
	return err
}

// tryPrograms has the launcher make sandboxes with programs that it must refuse, each for its own reason. The oracle is
// a directory that the launcher accepts.
func (b *bench) tryPrograms(row, fine string, bad []badPrograms) {
	b.Helper()
	trial := attack.Trial{Row: row, Where: b.suite.Name, Note: "the oracle is the same directory, apart from others"}
	for _, try := range bad {
		trial.Tried++
		undo := func() {}
		if try.spoil != nil {
			undo = try.spoil()
		}
		err := b.made(try.host)
		undo()
		if err != nil && strings.Contains(err.Error(), try.why) {
			trial.Held++
			continue
		}
		b.Errorf("programs %s: %v, want a refusal with %q", try.host, err, try.why)
	}
	err := b.made(fine)
	if trial.Oracle = err == nil; !trial.Oracle {
		b.Errorf("programs %s: %v", fine, err)
	}
	attack.Record(b.T, trial)
}

// badPrograms are programs that must be refused, and the reason. spoil makes them bad, and returns a function that
// undoes it.
type badPrograms struct {
	host, why string
	spoil     func() (undo func())
}

// programsWithMounts mounts something below programs before a sandbox is made, and again before it starts. Neither
// mount may appear in the sandbox. The oracle is the host, which sees both.
func programsWithMounts(b *bench) {
	b.asRoot()
	dir := b.tools(map[string]string{"bin/note": "read me\n"})
	mount := func(name string) {
		b.must(os.Mkdir(filepath.Join(dir, name), 0o755))
		b.tool("mount", "-t", "tmpfs", "torno-test", filepath.Join(dir, name))
		b.Cleanup(func() { b.tool("umount", "-l", filepath.Join(dir, name)) })
		b.must(os.WriteFile(filepath.Join(dir, name, "secret"), []byte("not me\n"), 0o644))
	}
	for _, as := range []string{"/opt/tools", "/usr/local/tools"} {
		mount("early" + filepath.Base(filepath.Dir(as)))
		h := b.create(b.withPrograms([]compile.Programs{{Host: dir, As: as}}, "/bin/sh", "-c", "cat "+as+"/bin/note; cat "+as+"/*/secret"))
		mount("late" + filepath.Base(filepath.Dir(as)))
		if said := b.saysOnceStarted(h); !strings.HasPrefix(said, "read me\n") || strings.Contains(said, "not me") {
			b.Errorf("at %s the child said %q", as, said)
		}
	}
}

func programsOfOthers(b *bench) {
	dir := b.tools(map[string]string{"bin/note": ""})
	b.must(os.Symlink(dir, dir+"-link"))
	b.must(unix.Mkfifo(dir+"-fifo", 0o600))
	b.must(unix.Mknod(dir+"-socket", unix.S_IFSOCK|0o600, 0))
	opened := func() func() {
		b.must(os.Chmod(dir, 0o777))
		return func() { b.must(os.Chmod(dir, 0o755)) }
	}
	bad := []badPrograms{
		{dir + "-link", "is a link", nil},
		{dir + "-link/bin", "is a link", nil},
		{dir + "-none", "no such file", nil},
		{dir + "-fifo", "is neither a directory nor", nil},
		{dir + "-socket", "is neither a directory nor", nil},
		{dir, "can be written by others", opened},
		{dir + "/bin", "can be written by others", opened},
	}
	if os.Geteuid() == 0 {
		bad = append(bad, badPrograms{dir + "/bin", "belongs to user", func() func() {
			b.chown(dir, stranger)
			return func() { b.chown(dir, 0) }
		}})
	}
	b.tryPrograms("R10", dir, bad)
}

func programsInReach(b *bench) {
	const why = "requests reach"
	tools := filepath.Join(b.dir, "tools")
	b.must(os.Mkdir(tools, 0o755))
	bad := []badPrograms{{b.suite.base, why, nil}, {tools, why, nil}}
	if around := filepath.Dir(b.suite.base); around != os.TempDir() {
		bad = append(bad, badPrograms{around, why, nil})
	}
	if os.Geteuid() == 0 {
		alias := filepath.Join(b.TempDir(), "alias") // another path of a directory that a parent may write
		b.must(os.Mkdir(alias, 0o755))
		b.tool("mount", "--bind", tools, alias)
		b.Cleanup(func() { b.tool("umount", "-l", alias) })
		bad = append(bad, badPrograms{alias, why, nil})
	}
	b.tryPrograms("R11", b.tools(nil), bad)
}
