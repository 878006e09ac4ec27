package run

import (
	"testing"
	"testing/synctest"
	"time"

	"torno/delegation"
	"torno/internal/tree"
	"torno/sandbox"
	"torno/watcher/workspace"
)

// TestTheSizeOfAWorkspace: a look at a part of it only makes it larger, because a child can hide what it leaves.
func TestTheSizeOfAWorkspace(t *testing.T) {
	whole := func(n int64) tree.Findings { return tree.Findings{Usage: tree.Usage{Bytes: n}} }
	part := func(n int64) tree.Findings {
		return tree.Findings{Usage: tree.Usage{Seen: tree.Seen{Missed: 1}, Bytes: n}}
	}
	p := &workplace{held: &workspace.Held{}}
	for i, look := range []struct {
		found tree.Findings
		want  int64
	}{{part(5), 5}, {whole(100), 100}, {part(5), 100}, {part(200), 200}, {whole(5), 5}} {
		p.noteSize(look.found)
		if p.bytes != look.want {
			t.Errorf("after look %d it is %d, want %d", i, p.bytes, look.want)
		}
	}
}

// TestAWorkspaceThatGoesAwayBehindARun: what had ended by then did nothing wrong.
func TestAWorkspaceThatGoesAwayBehindARun(t *testing.T) {
	for state, want := range map[sandbox.HandleState]delegation.Reason{
		sandbox.HandleExited: "", sandbox.HandleRunning: delegation.ReasonWorkspaceLimit,
	} {
		t.Run(string(state), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, begin := awayFrom(t, nil), time.Now()
				began := make(chan struct{})
				close(began)
				r.workplace.watch(t.Context(), began, sandbox.Handle{State: state})
				if got := r.Cause(); got != want {
					t.Errorf("it is ended as %q, want %q", got, want)
				}
				if waited := time.Since(begin); (want != "") != (waited >= toFind) {
					t.Errorf("after %v", waited)
				}
			})
		})
	}
}

// TestAWorkspaceThatComesBack: somebody moved it while the watcher was started again.
func TestAWorkspaceThatComesBack(t *testing.T) {
	for name, c := range map[string]struct {
		mounted sandbox.Handle
		found   bool
	}{"the same": {sandbox.Handle{Device: 1, Inode: 2}, true}, "another": {sandbox.Handle{Device: 1, Inode: 3}, false}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				r := awayFrom(t, func() bool { return time.Since(begin) > toFind/3 })
				if found := r.workplace.find(t.Context(), c.mounted); found != c.found || r.Cause() != "" {
					t.Errorf("found: %v, %s", found, r.Cause())
				}
			})
		})
	}
}

// TestAFileSystemThatStopsForAWhile: a run that begins waits for it, but not when it has to end.
func TestAFileSystemThatStopsForAWhile(t *testing.T) {
	for name, c := range map[string]struct {
		stops  time.Duration
		cancel bool
		held   bool
		waits  time.Duration // at most
	}{
		"some seconds":                 {5 * time.Second, false, true, 5 * time.Second},
		"an hour":                      {time.Hour, false, false, 11 * time.Second},
		"an hour, and it is cancelled": {time.Hour, true, false, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				runs := runsOf(t)
				runs.Workspaces = func(sandbox.Spec) (workspace.Directory, error) {
					time.Sleep(c.stops)
					return directory{}, nil
				}
				r := runs.newRun(Request{}, sandbox.Spec{Mounts: []sandbox.Mount{{Workspace: true}}}, deaf{})
				begin := time.Now()
				if c.cancel {
					time.AfterFunc(time.Second, func() { r.End(delegation.ReasonCancelled) })
				}
				r.workplace.hold()
				if held := r.workplace.held != nil; held != c.held {
					t.Errorf("held: %v, %v", held, r.workplace.holdErr)
				}
				if waited := time.Since(begin); waited > c.waits {
					t.Errorf("it waits %v", waited)
				}
				time.Sleep(c.stops) // the call that was left behind returns
			})
		})
	}
}

// directory stands for a workspace that was opened.
type directory struct{ workspace.Directory }

func (directory) Above() ([]sandbox.Directory, error) { return nil, nil }
func (directory) ID() tree.ID                         { return tree.ID{Dev: 1, Ino: 2} }
func (directory) Close() error                        { return nil }

// awayFrom returns an adopted run whose workspace is not there until back says so.
func awayFrom(t *testing.T, back func() bool) *runner {
	runs := runsOf(t)
	runs.Workspaces = func(sandbox.Spec) (workspace.Directory, error) {
		if back != nil && back() {
			return directory{}, nil
		}
		return nil, errReplaced
	}
	r := runs.newRun(Request{}, sandbox.Spec{}, deaf{})
	r.workplace.holdErr = errReplaced
	return r
}
