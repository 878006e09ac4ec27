package docker_test

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"torno/sandbox"
	"torno/sandbox/docker"
	"torno/sandbox/local"
)

// field is one launcher with one workspace, for a test that looks at a few sandboxes.
type field struct {
	testing.TB
	*docker.Launcher
	house *house
	ctx   context.Context
	base  string
	calls *calls
}

// calls counts what the engine was asked.
type calls struct{ n [len(ops)]atomic.Int64 }

// ops are the calls of a run, and what stands for all others.
var ops = [...]string{"create", "attach", "start", "wait", "logs", "inspect", "kill", "remove", "list", "other"}

func (c *calls) observe(op string, _ time.Duration) {
	for i, name := range ops {
		if name == op || i == len(ops)-1 {
			c.n[i].Add(1)
			return
		}
	}
}

// take is what was asked since the last time.
func (c *calls) take() map[string]int64 {
	asked := map[string]int64{}
	for i, name := range ops {
		if n := c.n[i].Swap(0); n > 0 {
			asked[name] = n
		}
	}
	return asked
}

// workspaceOwner owns the workspace where we may choose.
const workspaceOwner = 1000

func newField(t testing.TB, mode docker.MountMode, more ...func(*docker.Options)) *field {
	f := &field{TB: t, base: t.TempDir(), calls: &calls{}}
	f.house = newHouse(t, func(o *docker.Options) {
		o.Mounts, o.Observe = mode, f.calls.observe
		for _, change := range more {
			change(o)
		}
	})
	f.Launcher = f.house.launch(f.base, "ours")
	f.ctx = t.Context()
	f.mkdir("workspace")
	return f
}

func (f *field) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// mkdir makes a directory of the workspace's owner beneath the base.
func (f *field) mkdir(rel string) string {
	f.Helper()
	dir := filepath.Join(f.base, rel)
	f.must(os.MkdirAll(dir, 0o755))
	if os.Geteuid() == 0 {
		f.must(os.Chown(dir, workspaceOwner, workspaceOwner))
	}
	return dir
}

// spec is a run of argv in the workspace.
func (f *field) spec(argv ...string) sandbox.Spec {
	const mib = 1 << 20
	return sandbox.Spec{
		Profile: "test",
		RootFS:  sandbox.RootFS{Host: true},
		Process: sandbox.Process{Argv: argv, Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/workspace", Umask: 0o022},
		Mounts: []sandbox.Mount{{
			Source: sandbox.Source{Base: f.base, Rel: "workspace"}, Target: "/workspace", Prefix: "/workspace", Workspace: true,
		}},
		Limits: sandbox.Limits{
			Memory: 128 * mib, CPUs: 1000, Pids: 64, OpenFiles: 512, FileSize: 64 * mib,
			Tmp: 16 * mib, Home: 8 * mib, Shm: 4 * mib, Log: 2 * mib,
		},
		Owners: []uint32{workspaceOwner, uint32(os.Geteuid())},
	}
}

func (f *field) create(spec sandbox.Spec) sandbox.Handle {
	f.Helper()
	h, err := f.Create(f.ctx, sandbox.NewSandboxID(), spec)
	f.must(err)
	return h
}

// start starts, opens and releases.
func (f *field) start(h sandbox.Handle) sandbox.Attachment {
	f.Helper()
	a := f.begin(h)
	_, err := local.Release(f.ctx, f, h, a)
	f.must(err)
	return a
}

// begin starts and opens.
func (f *field) begin(h sandbox.Handle) sandbox.Attachment {
	f.Helper()
	f.must(f.Start(f.ctx, h))
	a, err := f.Open(f.ctx, h, "")
	f.must(err)
	f.Cleanup(func() { a.Close() })
	return a
}

func (f *field) remove(h sandbox.Handle) {
	f.Helper()
	f.must(f.Remove(f.ctx, h))
}

// ended is a whole run.
type ended struct {
	stdout, stderr []byte
	chunks         []sandbox.Chunk
	exit           sandbox.Exit
}

// finish reads to the end.
func (f *field) finish(a sandbox.Attachment) (e ended) {
	f.Helper()
	for chunk := range a.Output() {
		e.chunks = append(e.chunks, chunk)
		if chunk.Stream == sandbox.Stdout {
			e.stdout = append(e.stdout, chunk.Bytes...)
		} else {
			e.stderr = append(e.stderr, chunk.Bytes...)
		}
	}
	var err error
	e.exit, err = a.Wait(f.ctx)
	f.must(err)
	return e
}

// runUnseen is run where the host has not looked: how it ends the engine alone tells.
func (f *field) runUnseen(spec sandbox.Spec) ended {
	f.Helper()
	h := f.create(spec)
	defer f.remove(h)
	return f.finish(f.startUnseen(h))
}

func (f *field) startUnseen(h sandbox.Handle) sandbox.Attachment {
	f.Helper()
	a := f.begin(h)
	f.must(a.Release(f.ctx))
	f.must(a.Input().Close())
	return a
}

// run makes, runs and removes a sandbox.
func (f *field) run(spec sandbox.Spec) ended {
	f.Helper()
	h := f.create(spec)
	defer f.remove(h)
	return f.finish(f.start(h))
}
