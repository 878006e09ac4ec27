package sandboxtest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/runfile"
	"torno/sandbox"
)

// bench is where one case works: a workspace of its own, a deadline, and clean-up of all it makes.
type bench struct {
	*testing.T
	suite        *suite
	launcher     sandbox.Launcher
	installation string
	ctx          context.Context
	dir          string // the case's directory on the host
	home         string // the workspace in it
}

// owner is whom the suite gives its workspaces, where it may.
const owner = 1000

// caseTime is how long a case may take on a slow machine. It only bounds a hang.
const caseTime = 2 * time.Minute

func (s *suite) bench(t *testing.T) *bench {
	ctx, cancel := context.WithTimeout(context.Background(), caseTime)
	t.Cleanup(cancel)
	b := &bench{T: t, suite: s, launcher: s.launcher, installation: ours, ctx: ctx, dir: filepath.Join(s.base, fmt.Sprintf("case-%d", numbers.Add(1)))}
	b.home = b.mkdir("workspace", owner)
	return b
}

// source is a place in the case's directory.
func (b *bench) source(rel string) sandbox.Source {
	return sandbox.Source{Base: b.suite.base, Rel: filepath.Join(filepath.Base(b.dir), rel)}
}

// mkdir makes a directory in the case's one, of the given owner where we may choose.
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

// put writes a file of the suite's owner into the case's directory.
func (b *bench) put(rel, content string) {
	b.Helper()
	name := filepath.Join(b.dir, rel)
	b.must(os.WriteFile(name, []byte(content), 0o644))
	b.chown(name, owner)
}

// get reads a file of the case's directory.
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

// mib is 1 MiB.
const mib = 1 << 20

// spec is a run of a word of the vocabulary, with room for anything that a case does.
func (b *bench) spec(name string, args ...string) sandbox.Spec {
	argv := append([]string{name}, args...)
	if b.suite.Real {
		argv = shell(name, args)
	}
	return b.command(argv...)
}

// command is spec for any command line. It is compiled as the watcher compiles it, so that the agent finds what agents
// find.
func (b *bench) command(argv ...string) sandbox.Spec {
	b.Helper()
	key := b.key()
	request := delegation.Request{SubagentID: key.Subagent, RequestID: key.Request, Task: "-", Workspace: b.source("workspace").Rel}
	spec, _, err := sandbox.Compile(request, sandbox.Policy{
		Outbox: key.Outbox,
		Dir:    b.suite.base,
		Allow:  []sandbox.Root{sandbox.Root(b.suite.base)},
		Owners: []uint32{owner, uint32(os.Geteuid())},
		Profiles: []sandbox.Profile{{
			Name: "suite", RootFS: sandbox.RootFS{Host: true}, Command: argv, Answer: sandbox.AnswerNone,
			Limits: limits, Timeout: sandbox.Timeouts{Default: caseTime}, Umask: 0o022,
		}},
	})
	b.must(err)
	if b.suite.Adjust != nil {
		b.suite.Adjust(b.T, &spec)
	}
	return spec
}

var limits = sandbox.Limits{
	Memory: 512 * mib, CPUs: 2000, Pids: 128, OpenFiles: 1024, FileSize: 256 * mib,
	Tmp: 64 * mib, Home: 64 * mib, Shm: 16 * mib, Log: 8 * mib,
}

// numbers are for what must differ between all cases of all suites.
var numbers atomic.Int64

// key is a run key that no one else has.
func (b *bench) key() sandbox.RunKey {
	b.Helper()
	subagent, err := delegation.ParseSubagentID("case")
	b.must(err)
	request, err := delegation.ParseRequestID(fmt.Sprintf("%s %d", b.Name(), numbers.Add(1)))
	b.must(err)
	return sandbox.RunKey{Outbox: "suite", Subagent: subagent, Request: request, Attempt: 1}
}

// create makes a sandbox that is removed when the case ends.
func (b *bench) create(spec sandbox.Spec) sandbox.Handle {
	b.Helper()
	h, err := b.launcher.Create(b.ctx, b.key(), spec)
	b.must(err)
	b.Cleanup(func() { b.remove(h) })
	return h
}

// remove is the clean-up of a case, which has a time of its own.
func (b *bench) remove(h sandbox.Handle) {
	ctx, cancel := context.WithTimeout(context.Background(), caseTime)
	defer cancel()
	if err := b.launcher.Remove(ctx, h); err != nil {
		b.Errorf("remove: %v", err)
	}
}

// start creates and starts.
func (b *bench) start(spec sandbox.Spec) sandbox.Handle {
	b.Helper()
	h := b.create(spec)
	b.must(b.launcher.Start(b.ctx, h))
	return h
}

// open attaches until the case ends.
func (b *bench) open(h sandbox.Handle, cursor sandbox.Cursor) sandbox.Attachment {
	b.Helper()
	a, err := b.launcher.Open(b.ctx, h, cursor)
	b.must(err)
	b.Cleanup(func() { a.Close() })
	return a
}

// transcript is what was read of a sandbox's output.
type transcript struct {
	stdout, stderr []byte
	cursor         sandbox.Cursor
	gap            bool
}

// read adds output to a transcript until there is enough of it, or its end if enough is nil.
func (b *bench) read(a sandbox.Attachment, to *transcript, enough func() bool) {
	b.Helper()
	for enough == nil || !enough() {
		select {
		case chunk, more := <-a.Output():
			if !more && enough == nil {
				return
			}
			if !more {
				b.Fatalf("the output ended early; stdout %q, stderr %q", tail(to.stdout), tail(to.stderr))
			}
			to.add(chunk)
		case <-b.ctx.Done():
			b.Fatalf("no more output came; stdout %q, stderr %q", tail(to.stdout), tail(to.stderr))
		}
	}
}

func (to *transcript) add(c sandbox.Chunk) {
	to.cursor = c.Cursor
	to.gap = to.gap || c.Gap
	if c.Stream == sandbox.Stdout {
		to.stdout = append(to.stdout, c.Bytes...)
	} else {
		to.stderr = append(to.stderr, c.Bytes...)
	}
}

// says is for read: until standard output holds text.
func (to *transcript) says(text string) func() bool {
	return func() bool { return bytes.Contains(to.stdout, []byte(text)) }
}

// has is for read: until standard output has n lines.
func (to *transcript) has(n int) func() bool {
	return func() bool { return bytes.Count(to.stdout, []byte("\n")) >= n }
}

// result is a whole run.
type result struct {
	transcript
	started time.Time // as init said
	errors  []byte    // the agent's own standard error
	exit    sandbox.Exit
}

// finish reads and waits to the end of a sandbox that was started.
func (b *bench) finish(a sandbox.Attachment) (r result) {
	b.Helper()
	r.exit = b.end(a, &r.transcript)
	r.started, r.errors = b.afterStarted(r.stderr)
	return r
}

// runs is a whole run of a spec.
func (b *bench) runs(spec sandbox.Spec) result {
	b.Helper()
	return b.finish(b.open(b.start(spec), ""))
}

// ready starts an agent that stays, and waits until it says so.
func (b *bench) ready(spec sandbox.Spec) (sandbox.Attachment, *transcript) {
	b.Helper()
	a := b.open(b.start(spec), "")
	var seen transcript
	b.read(a, &seen, seen.says("ready\n"))
	return a, &seen
}

// end reads and waits to the end of what was read in part.
func (b *bench) end(a sandbox.Attachment, seen *transcript) sandbox.Exit {
	b.Helper()
	b.read(a, seen, nil)
	return b.wait(a)
}

func (b *bench) wait(a sandbox.Attachment) sandbox.Exit {
	b.Helper()
	exit, err := a.Wait(b.ctx)
	b.must(err)
	return exit
}

// afterStarted takes init's line off standard error. Whatever is not that line is a failure.
func (b *bench) afterStarted(stderr []byte) (time.Time, []byte) {
	b.Helper()
	line, rest, whole := strings.Cut(string(stderr), "\n")
	at, err := runfile.ParseFirstLine(line)
	if !whole || err != nil {
		b.Fatalf("standard error begins with %q, not with init's started line: %v", tail([]byte(line)), err)
	}
	return at, []byte(rest)
}

// exits checks a code.
func (b *bench) exits(e sandbox.Exit, code int) {
	b.Helper()
	if e.Code != code {
		b.Errorf("exit code %d, want %d", e.Code, code)
	}
}

// succeeds checks that a run ended with 0, and otherwise shows what it complained of.
func (b *bench) succeeds(r result) {
	b.Helper()
	if r.exit.Code != 0 {
		b.Errorf("exit code %d, stdout %q, stderr %q", r.exit.Code, tail(r.stdout), tail(r.errors))
	}
}

// same compares output, showing only the ends of what is long.
func (b *bench) same(what string, got []byte, want string) {
	b.Helper()
	if string(got) != want {
		b.Errorf("%s: got %d bytes that end in %q, want %d bytes that end in %q", what, len(got), tail(got), len(want), tail([]byte(want)))
	}
}

func tail(b []byte) []byte { return b[max(0, len(b)-300):] }

// list is all sandboxes of a launcher.
func (b *bench) list(l sandbox.Launcher) map[string]sandbox.Handle {
	b.Helper()
	all, err := l.List(b.ctx)
	b.must(err)
	byKey := make(map[string]sandbox.Handle)
	for _, h := range all {
		if _, twice := byKey[h.Key]; twice {
			b.Errorf("List shows the key %s twice", h.Key)
		}
		byKey[h.Key] = h
	}
	return byKey
}

// numbered is what the word "lines" prints.
func numbered(n int, tag string) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "line %d%s\n", i+1, tag)
	}
	return text.String()
}
