//go:build linux

package exhaust

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"torno/sandbox"
	"torno/sandbox/local"
	"torno/test/prober/verdict"
	"torno/test/wait"
	"torno/test/weak"
)

// Launcher is a launcher that is to be exhausted, and how it is looked at from beside.
type Launcher struct {
	sandbox.Launcher
	Where string // for the score
	Base  string // a directory of the launcher's, with a workspace in it
	Owner uint32 // of that

	// Ask calls a process that must go on to answer, as a client of the engine does. Asked names that process.
	Ask   func(ctx context.Context, neighbour sandbox.Handle) error
	Asked string
	// Tasks counts a sandbox's processes and threads as the host does, and MostTasks is how many there may be.
	Tasks     func(h sandbox.Handle) int64
	MostTasks func(sandbox.Limits) int64
	// Reserve is memory that a sandbox has beside what its child was promised.
	Reserve int64
	// OwnKernel says that a sandbox is one process to the host, so that a child that takes too much memory ends all of it, and
	// that it counts for itself what the host's kernel counts by user.
	OwnKernel bool
}

// Field is where one launcher is exhausted.
type Field struct {
	testing.TB
	Launcher
	weak weak.Places
}

// mib is 1 MiB.
const mib = 1 << 20

// patience bounds how long a sandbox that takes all it can get may keep others waiting. The notes say how long it did.
const patience = wait.Patience

// New puts the prober into the workspace.
func New(t testing.TB, l Launcher) *Field {
	t.Helper()
	f := &Field{TB: t, Launcher: l, weak: weak.New(t, l.Base)}
	content, err := os.ReadFile(verdict.Build(t))
	f.must(err)
	f.must(os.WriteFile(filepath.Join(l.Base, "workspace", "prober"), content, 0o755))
	return f
}

func (f *Field) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// bounds says whether the launcher says that it enforces a limit.
func (f *Field) bounds(key sandbox.GuaranteeKey) bool {
	f.Helper()
	g, err := f.Check(f.Context())
	f.must(err)
	return g[key].Enforced
}

// prober is a run of it.
func (f *Field) prober(args ...string) sandbox.Spec {
	return sandbox.Spec{
		Profile: "test",
		RootFS:  sandbox.RootFS{Host: true},
		Process: sandbox.Process{
			Argv: append([]string{"/workspace/prober"}, args...), Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/workspace", Umask: 0o022,
		},
		Mounts: []sandbox.Mount{{
			Source: sandbox.Source{Base: f.Base, Rel: "workspace"}, Target: "/workspace", Prefix: "/workspace", Workspace: true,
		}},
		Limits: sandbox.Limits{
			Memory: 128 * mib, CPUs: 1000, Pids: 64, OpenFiles: 512, FileSize: 64 * mib,
			Tmp: 16 * mib, Home: 8 * mib, Shm: 4 * mib, Log: 2 * mib,
		},
		Owners: []uint32{f.Owner, uint32(os.Geteuid())},
	}
}

// Run is a whole run of another program than the prober.
func (f *Field) Run(p sandbox.Process) (stdout string, exit sandbox.Exit) {
	f.Helper()
	spec := f.prober()
	spec.Process = p
	return f.run(spec)
}

func (f *Field) create(spec sandbox.Spec) sandbox.Handle {
	f.Helper()
	h, err := f.Create(f.Context(), sandbox.NewSandboxID(), spec)
	f.must(err)
	return h
}

// start starts, opens and releases.
func (f *Field) start(h sandbox.Handle) sandbox.Attachment {
	f.Helper()
	f.must(f.Start(f.Context(), h))
	a, err := f.Open(f.Context(), h, "")
	f.must(err)
	f.Cleanup(func() { a.Close() })
	_, err = local.Release(f.Context(), f, h, a)
	f.must(err)
	return a
}

func (f *Field) remove(h sandbox.Handle) {
	f.Helper()
	f.must(f.Remove(f.Context(), h))
}

// finish reads what the agent printed, to its end.
func (f *Field) finish(a sandbox.Attachment) (stdout string, exit sandbox.Exit) {
	f.Helper()
	for chunk := range a.Output() {
		if chunk.Gap {
			f.Error("some of what the agent printed was lost")
		}
		if chunk.Stream == sandbox.Stdout {
			stdout += string(chunk.Bytes)
		}
	}
	exit, err := a.Wait(f.Context())
	f.must(err)
	return stdout, exit
}

// run makes, runs and removes a sandbox.
func (f *Field) run(spec sandbox.Spec) (stdout string, exit sandbox.Exit) {
	f.Helper()
	h := f.create(spec)
	defer f.remove(h)
	return f.finish(f.start(h))
}

// free runs the prober where nothing limits it.
func (f *Field) free(spec sandbox.Spec, shm int64) (stdout string, code int) {
	f.Helper()
	host := f.weak.Unwalled()
	host.ShmSize = shm
	return f.weak.Run(host, spec.Process.Argv...)
}
