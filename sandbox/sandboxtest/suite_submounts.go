package sandboxtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"torno/test/attack"
)

// moments name when something is mounted below a workspace or a context: early, before its sandbox is made; between,
// before the sandbox starts; late, while it runs.
var moments = []string{"early", "between", "late"}

// submountsHidden checks that the child does not see mounts below a workspace or a context. The base is a shared mount,
// as everything is under systemd, so that a mount spreads wherever it can. The oracle is a container that binds the
// same directories recursively and as a slave, and so shows all mounts.
func submountsHidden(b *bench) {
	b.asRoot()
	b = b.onSharedMount()
	b.plant("prober", 0o755)
	for _, moment := range moments {
		b.mkdir(filepath.Join("workspace", moment), owner)
		b.mkdir(filepath.Join("context", moment), owner)
	}
	spec := with(b.script(`echo ready; read go; for d in /workspace /context; do
		for m in early between late; do cat $d/$m/secret; done; done 2>/dev/null; echo end`), b.context("context", "/context", "/context"))
	spec.Process.Stdin = true

	b.spring("early")
	open := b.suite.Controls(b.T, b.dir).Open(filepath.Join(b.dir, "workspace"), filepath.Join(b.dir, "context"))
	h := b.create(spec)
	b.spring("between")
	b.must(b.launcher.Start(b.ctx, h))
	a, said := b.release(h, spec)
	b.read(a, said, said.says("ready\n"))
	b.spring("late")
	b.say(a, "go\n")
	b.exits(b.end(a, said), 0)

	seen := strings.Count(string(said.stdout), "secret of ")
	if !strings.HasSuffix(string(said.stdout), "end\n") || seen > 0 {
		b.Errorf("the child said %q", said.stdout)
	}
	trial := attack.Trial{Where: b.suite.Name, Tried: 2 * len(moments), Held: 2*len(moments) - seen, Note: "the oracle shows every one of them"}
	trial.Row, trial.Oracle = "P12", b.shows(open)
	attack.Record(b.T, trial)
}

// onSharedMount returns a bench whose launcher's base is a shared mount: mounts below it appear in its peers.
func (b *bench) onSharedMount() *bench {
	b.Helper()
	s := *b.suite
	s.base = b.TempDir()
	b.tool("mount", "-t", "tmpfs", "-o", "size=64m", "torno-test", s.base)
	b.Cleanup(func() { b.tool("umount", "-l", s.base) })
	b.tool("mount", "--make-shared", s.base)
	s.launcher = s.New(b.T, s.base, fmt.Sprintf("shared-%d", numbers.Add(1)))
	return s.bench(b.T)
}

func (b *bench) tool(name string, args ...string) {
	b.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		b.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
}

// spring mounts a secret in every place of a moment.
func (b *bench) spring(moment string) {
	b.Helper()
	for _, dir := range []string{"workspace", "context"} {
		place := filepath.Join(dir, moment)
		b.tool("mount", "-t", "tmpfs", "-o", "size=64k", "torno-test", filepath.Join(b.dir, place))
		b.put(filepath.Join(place, "secret"), "secret of "+place+"\n")
	}
}

// shows reports whether the container's root shows everything that was mounted.
func (b *bench) shows(root string) bool {
	for _, dir := range []string{"workspace", "context"} {
		for _, moment := range moments {
			if _, err := os.Stat(filepath.Join(root, b.dir, dir, moment, "secret")); err != nil {
				b.Logf("the open container does not show it: %v", err)
				return false
			}
		}
	}
	return true
}
