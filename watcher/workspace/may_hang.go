package workspace

import (
	"cmp"
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"torno/internal/tree"
	"torno/sandbox"
	"torno/watcher/hang"
)

// HangTime is how long a look through a workspace may take in addition to its own time limit.
const HangTime = 2 * time.Second

// answerTime is how long a file system may take for a call without which no run begins. It is longer than HangTime, because a
// disk that writes back much, or a server that starts again, stops for some seconds, and the run would be answered with an error.
const answerTime = 10 * time.Second

// ErrHangs is returned for a call that was left behind, or that did not begin because too many others hang there.
var ErrHangs = errors.New("its file system does not answer")

// Calls describes calls to workspaces. They are counted by the root of the workspace: no mount is entered below a root,
// so a root stands for a file system.
var Calls = hang.Kind{
	Yield: 100 * time.Millisecond, // for a call that ends when its context ends
	Err:   ErrHangs,
	First: "a file system does not answer; until it does, the watcher does not look at workspaces on it",
	Many:  "too many calls wait for a file system; until one returns, the watcher begins no other call and no run in workspaces on it",
	Over:  "a file system answers again",
}

// openFar opens a workspace whose file system may hang.
func openFar(ctx context.Context, h *hang.Calls, open func(sandbox.Spec) (Directory, error), spec sandbox.Spec) (Directory, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	root := spec.WorkspaceMount().Source.Base
	held, err := hang.DoUnlessFull(ctx, h, root, func() (Directory, error) { return open(spec) }, func(dir Directory, err error) {
		if err == nil {
			dir.Close()
		}
	})
	if err != nil {
		return nil, err
	}
	return &farWorkspace{inner: held, hangs: h, root: root}, nil
}

// farWorkspace is a workspace whose callers do not wait for a file system that hangs. It is safe for concurrent use.
type farWorkspace struct {
	inner Directory
	hangs *hang.Calls
	root  string

	mu     sync.Mutex
	calls  int // running calls, including calls left behind
	closed bool
}

func (f *farWorkspace) ID() tree.ID { return f.inner.ID() }

func (f *farWorkspace) Above() ([]sandbox.Directory, error) {
	return callWorkspace(context.Background(), f, answerTime, func(context.Context) ([]sandbox.Directory, error) { return f.inner.Above() })
}

func (f *farWorkspace) Space() (tree.Space, error) {
	return callWorkspace(context.Background(), f, answerTime, func(context.Context) (tree.Space, error) { return f.inner.Space() })
}

func (f *farWorkspace) Measure(ctx context.Context, bounds tree.Bounds) (tree.Usage, error) {
	bounds.Time = cmp.Or(bounds.Time, lookBudget)
	return callWorkspace(ctx, f, bounds.Time+HangTime, func(ctx context.Context) (tree.Usage, error) { return f.inner.Measure(ctx, bounds) })
}

func (f *farWorkspace) Inspect(ctx context.Context, bounds tree.Bounds, own ...string) (tree.Findings, error) {
	bounds.Time = cmp.Or(bounds.Time, lookBudget)
	return callWorkspace(ctx, f, bounds.Time+HangTime, func(ctx context.Context) (tree.Findings, error) {
		return f.inner.Inspect(ctx, bounds, own...)
	})
}

func (f *farWorkspace) Artifacts(ctx context.Context, bounds tree.Bounds, want tree.Want) (tree.Artifacts, error) {
	bounds.Time = cmp.Or(bounds.Time, lookBudget)
	return callWorkspace(ctx, f, bounds.Time+HangTime, func(ctx context.Context) (tree.Artifacts, error) { return f.inner.Artifacts(ctx, bounds, want) })
}

func (f *farWorkspace) CopyTo(ctx context.Context, to *os.File, bounds tree.CopyBounds) (tree.Copied, error) {
	return callWorkspace(ctx, f, bounds.Time+HangTime, func(ctx context.Context) (tree.Copied, error) { return f.inner.CopyTo(ctx, to, bounds) })
}

// Close closes the workspace as soon as no call is running. Closing a directory does not ask its file system, so it
// cannot hang.
func (f *farWorkspace) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	if f.calls > 0 {
		return nil
	}
	return f.inner.Close()
}

// callWorkspace makes a call, and waits for it for the time within at most.
func callWorkspace[T any](ctx context.Context, f *farWorkspace, within time.Duration, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return hang.DoUnlessFull(ctx, f.hangs, f.root, func() (answer T, err error) {
		if !f.beginCall() {
			return answer, ErrClosed
		}
		defer f.endCall()
		return call(ctx)
	}, nil)
}

// ErrClosed is returned for a call to a workspace after its Close.
var ErrClosed = errors.New("the workspace was closed")

func (f *farWorkspace) beginCall() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return false
	}
	f.calls++
	return true
}

func (f *farWorkspace) endCall() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls--
	if f.closed && f.calls == 0 {
		f.inner.Close()
	}
}
