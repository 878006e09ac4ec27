package sandboxtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"torno/internal/runfile"
	"torno/sandbox"
)

// bench is the place where one case works. It has its own workspace and a deadline, and removes everything that it
// makes.
type bench struct {
	*testing.T
	suite        *suite
	launcher     sandbox.Launcher
	installation string
	ctx          context.Context
	dir          string // the case's directory on the host
	home         string // the workspace in it
}

// owner is the user to whom the suite gives its workspaces, if it may.
const owner = 1000

// caseTime bounds how long a case may hang. It is long, because one case needed two minutes on two loaded processors to
// look at all files of the host.
const caseTime = 10 * time.Minute

func (s *suite) bench(t *testing.T) *bench {
	ctx, cancel := context.WithTimeout(context.Background(), caseTime)
	t.Cleanup(cancel)
	b := &bench{T: t, suite: s, launcher: s.launcher, installation: ours, ctx: ctx, dir: filepath.Join(s.base, fmt.Sprintf("case-%d", numbers.Add(1)))}
	b.home = b.mkdir("workspace", owner)
	return b
}

// source returns a place in the case's directory.
func (b *bench) source(rel string) sandbox.Source {
	return sandbox.Source{Base: b.suite.base, Rel: filepath.Join(filepath.Base(b.dir), rel)}
}

// mkdir makes a directory in the case's directory and gives it to the user, if we may.
func (b *bench) mkdir(rel string, uid int) string {
	b.Helper()
	dir := filepath.Join(b.dir, rel)
	b.must(os.MkdirAll(dir, 0o755))
	b.chown(dir, uid)
	return dir
}

func (b *bench) chown(name string, uid int) {
	b.Helper()
	if os.Geteuid() == 0 {
		b.must(os.Lchown(name, uid, uid))
	}
}

// put writes a file into the case's directory. The file belongs to the suite's owner.
func (b *bench) put(rel, content string) {
	b.Helper()
	name := filepath.Join(b.dir, rel)
	b.must(os.WriteFile(name, []byte(content), 0o644))
	b.chown(name, owner)
}

// get reads a file in the case's directory.
func (b *bench) get(rel string) string {
	b.Helper()
	content, err := os.ReadFile(filepath.Join(b.dir, rel))
	b.must(err)
	return string(content)
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// create makes a sandbox, which is removed when the case ends.
func (b *bench) create(spec sandbox.Spec) sandbox.Handle {
	b.Helper()
	h, err := b.launcher.Create(b.ctx, sandbox.NewSandboxID(), spec)
	b.must(err)
	b.Cleanup(func() { b.remove(h) })
	return h
}

// remove removes a sandbox at the end of a case. It has a deadline of its own.
func (b *bench) remove(h sandbox.Handle) {
	ctx, cancel := context.WithTimeout(context.Background(), caseTime)
	defer cancel()
	if err := b.launcher.Remove(ctx, h); err != nil {
		b.Errorf("remove: %v", err)
	}
}

// start creates and starts a sandbox; its init then holds.
func (b *bench) start(spec sandbox.Spec) sandbox.Handle {
	b.Helper()
	h := b.create(spec)
	b.must(b.launcher.Start(b.ctx, h))
	return h
}

// open attaches to a sandbox until the case ends.
func (b *bench) open(h sandbox.Handle, cursor sandbox.Cursor) sandbox.Attachment {
	b.Helper()
	a, err := b.launcher.Open(b.ctx, h, cursor)
	b.must(err)
	b.Cleanup(func() { a.Close() })
	return a
}

// held attaches to a started sandbox, and reads until its init holds.
func (b *bench) held(h sandbox.Handle) (sandbox.Attachment, *transcript) {
	b.Helper()
	a, seen := b.open(h, ""), &transcript{}
	b.read(a, seen, func() bool { return string(seen.stderr) == runfile.Holding })
	return a, seen
}

// release attaches to a started sandbox, attests it and gives it the word, as a watcher does. It closes the input if
// the agent wants none.
func (b *bench) release(h sandbox.Handle, spec sandbox.Spec) (sandbox.Attachment, *transcript) {
	b.Helper()
	a, seen := b.held(h)
	attestation, err := b.launcher.Attest(b.ctx, h)
	b.must(err)
	if enforced := b.check()[sandbox.Attested].Enforced; attestation.Attested != enforced || enforced == (attestation.Why != "") {
		b.Errorf("attested is promised: %t; the attestation is %+v", enforced, attestation)
	}
	seen.attestation = attestation
	b.must(a.Release(b.ctx))
	if !spec.Process.Stdin {
		b.must(a.Input().Close())
	}
	return a, seen
}

// run creates, starts and releases a sandbox.
func (b *bench) run(spec sandbox.Spec) (sandbox.Handle, sandbox.Attachment, *transcript) {
	b.Helper()
	h := b.start(spec)
	a, seen := b.release(h, spec)
	return h, a, seen
}

// list returns all sandboxes of a launcher.
func (b *bench) list(l sandbox.Launcher) map[sandbox.SandboxID]sandbox.Handle {
	b.Helper()
	all, err := l.List(b.ctx)
	b.must(err)
	byID := make(map[sandbox.SandboxID]sandbox.Handle)
	for _, h := range all {
		if _, twice := byID[h.Sandbox]; twice {
			b.Errorf("List shows the sandbox %s twice", h.Sandbox)
		}
		byID[h.Sandbox] = h
	}
	return byID
}
