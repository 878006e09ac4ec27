package watcher

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"torno/internal/tree"
	"torno/sandbox"
)

// A file system may keep a call for ever, as a network file system does whose server is gone. Nothing ends such a call: no
// context, no signal and no close. So each call to a workspace has a goroutine of its own, and its caller leaves it there
// when it takes too long. A root with maxHung such calls gets no further one until one of them returns.
const (
	hangTime  = 2 * time.Second        // how long a call may take, beyond what it may walk
	yieldTime = 100 * time.Millisecond // for a call that ends when its context does
	maxHung   = 4
)

// errHangs is of a call that was left behind, or was not begun because others hang there.
var errHangs = errors.New("the file system that it lies on does not answer")

// hangs counts the calls that were left behind, by the root beneath which the workspaces lie. No mount is entered below a
// root, so it stands for a file system. It is safe for concurrent use.
type hangs struct {
	log *slog.Logger

	mu   sync.Mutex
	left map[string]int
}

func newHangs(log *slog.Logger) *hangs { return &hangs{log: log, left: make(map[string]int)} }

// full says whether no further call to a root may begin.
func (h *hangs) full(root string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.left[root] >= maxHung
}

// leave counts a call that is left behind, unless it has returned just now.
func (h *hangs) leave(root string, c *farCall) (left bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.returned {
		return false
	}
	c.left = true
	h.left[root]++
	switch h.left[root] {
	case 1:
		h.log.Warn("a file system does not answer; workspaces on it are not looked at meanwhile", "root", root)
	case maxHung:
		h.log.Warn("too many calls wait for a file system; no other begins, and no run in workspaces on it, until one returns",
			"root", root, "calls", maxHung)
	}
	return true
}

// back notes that a call has returned, and says whether its caller had left.
func (h *hangs) back(root string, c *farCall) (left bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.returned = true
	if !c.left {
		return false
	}
	if h.left[root]--; h.left[root] == 0 {
		delete(h.left, root)
		h.log.Info("a file system answers again", "root", root)
	}
	return true
}

// farCall is what a call and its caller know of each other. The lock of hangs guards it.
type farCall struct{ returned, left bool }

// callRoot makes a call to what lies beneath a root, and leaves it behind when ctx is done. late gets an answer that comes
// when the caller is gone.
func callRoot[T any](ctx context.Context, h *hangs, root string, call func() (T, error), late func(T)) (answer T, err error) {
	if h.full(root) {
		return answer, errHangs
	}
	type result struct {
		answer T
		err    error
	}
	c, results := new(farCall), make(chan result, 1)
	go func() {
		answer, err := call()
		results <- result{answer, err}
		if h.back(root, c) && err == nil && late != nil {
			late(answer)
		}
	}()
	select {
	case r := <-results:
		return r.answer, r.err
	case <-ctx.Done():
	}
	yield := time.NewTimer(yieldTime)
	defer yield.Stop()
	select {
	case r := <-results:
		return r.answer, r.err
	case <-yield.C:
	}
	if h.leave(root, c) {
		return answer, errHangs
	}
	r := <-results
	return r.answer, r.err
}

// openFar holds a workspace whose file system may hang.
func (h *hangs) openFar(ctx context.Context, open func(sandbox.Spec) (Workspace, error), spec sandbox.Spec) (Workspace, error) {
	ctx, cancel := context.WithTimeout(ctx, hangTime)
	defer cancel()
	root := spec.WorkspaceMount().Source.Base
	held, err := callRoot(ctx, h, root, func() (Workspace, error) { return open(spec) }, func(ws Workspace) { ws.Close() })
	if err != nil {
		return nil, err
	}
	return &farWorkspace{inner: held, hangs: h, root: root}, nil
}

// farWorkspace is a workspace whose callers do not wait for a file system that hangs. It is safe for concurrent use.
type farWorkspace struct {
	inner Workspace
	hangs *hangs
	root  string

	mu     sync.Mutex
	calls  int // under way, those left behind included
	closed bool
}

func (f *farWorkspace) ID() tree.ID { return f.inner.ID() }

func (f *farWorkspace) Above() ([]sandbox.Directory, error) {
	return callWorkspace(context.Background(), f, 0, func(context.Context) ([]sandbox.Directory, error) { return f.inner.Above() })
}

func (f *farWorkspace) Space() (tree.Space, error) {
	return callWorkspace(context.Background(), f, 0, func(context.Context) (tree.Space, error) { return f.inner.Space() })
}

func (f *farWorkspace) Measure(ctx context.Context, bounds tree.Bounds) (tree.Usage, error) {
	bounds.Time = cmp.Or(bounds.Time, lookBudget)
	return callWorkspace(ctx, f, bounds.Time, func(ctx context.Context) (tree.Usage, error) { return f.inner.Measure(ctx, bounds) })
}

func (f *farWorkspace) Inspect(ctx context.Context, bounds tree.Bounds, own ...string) (tree.Findings, error) {
	bounds.Time = cmp.Or(bounds.Time, lookBudget)
	return callWorkspace(ctx, f, bounds.Time, func(ctx context.Context) (tree.Findings, error) {
		return f.inner.Inspect(ctx, bounds, own...)
	})
}

// Close lets the workspace go as soon as no call is under way. To close a directory does not ask its file system.
func (f *farWorkspace) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed = true; f.calls > 0 {
		return nil
	}
	return f.inner.Close()
}

// callWorkspace makes a call that may take some time, and hangTime more.
func callWorkspace[T any](ctx context.Context, f *farWorkspace, within time.Duration, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, within+hangTime)
	defer cancel()
	return callRoot(ctx, f.hangs, f.root, func() (answer T, err error) {
		if !f.enter() {
			return answer, errClosed
		}
		defer f.leave()
		return call(ctx)
	}, nil)
}

var errClosed = errors.New("the workspace was let go")

func (f *farWorkspace) enter() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return false
	}
	f.calls++
	return true
}

func (f *farWorkspace) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls--; f.closed && f.calls == 0 {
		f.inner.Close()
	}
}
