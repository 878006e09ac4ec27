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

// hangs counts the calls of one kind that were left behind, by where they hang: those to workspaces by the root beneath which
// the workspace lies, no mount being entered below a root, so that it stands for a file system. It is safe for concurrent use.
type hangs struct {
	farKind
	log *slog.Logger

	mu   sync.Mutex
	left map[string]int
}

// farKind is a kind of calls that may hang.
type farKind struct {
	yield             time.Duration // how long one may still take when its context is done
	err               error         // of one that was left behind, or was not begun because others hang there
	first, many, over string        // what is logged when the first one is left, when no other may begin, and when all are back
}

var workspaceCalls = farKind{
	yield: yieldTime,
	err:   errHangs,
	first: "a file system does not answer; workspaces on it are not looked at meanwhile",
	many:  "too many calls wait for a file system; no other begins, and no run in workspaces on it, until one returns",
	over:  "a file system answers again",
}

func newHangs(kind farKind, log *slog.Logger) *hangs {
	return &hangs{farKind: kind, log: log, left: make(map[string]int)}
}

// full says whether no further call may begin there.
func (h *hangs) full(where string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.left[where] >= maxHung
}

// all are the calls that were left behind and have not come back.
func (h *hangs) all() (sum int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, n := range h.left {
		sum += n
	}
	return sum
}

// leave counts a call that is left behind, unless it has returned just now.
func (h *hangs) leave(where string, c *farCall) (left bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.returned {
		return false
	}
	c.left = true
	h.left[where]++
	switch h.left[where] {
	case 1:
		h.log.Warn(h.first, "where", where) //nolint:sloglint // the kinds are constant
	case maxHung:
		h.log.Warn(h.many, "where", where, "calls", maxHung) //nolint:sloglint // the same
	}
	return true
}

// back notes that a call has returned, and says whether its caller had left.
func (h *hangs) back(c *farCall) (left bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.returned = true
	return c.left
}

// forget stops counting a call that was left behind.
func (h *hangs) forget(where string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.left[where]--; h.left[where] == 0 {
		delete(h.left, where)
		h.log.Info(h.over, "where", where) //nolint:sloglint // the same
	}
}

// farCall is what a call and its caller know of each other. The lock of hangs guards it.
type farCall struct{ returned, left bool }

// callRoot makes a call to what lies beneath a root, unless too many hang there.
func callRoot[T any](ctx context.Context, h *hangs, root string, call func() (T, error), late func(T, error)) (answer T, err error) {
	if h.full(root) {
		return answer, h.err
	}
	return callFar(ctx, h, root, call, late)
}

// callFar makes a call, and leaves it behind when ctx is done and it does not return. late gets what it returns when the caller
// is gone; the call counts until late is through with that.
func callFar[T any](ctx context.Context, h *hangs, where string, call func() (T, error), late func(T, error)) (answer T, err error) {
	type result struct {
		answer T
		err    error
	}
	c, results := new(farCall), make(chan result, 1)
	go func() {
		answer, err := call()
		results <- result{answer, err}
		if !h.back(c) {
			return
		}
		if late != nil {
			late(answer, err)
		}
		h.forget(where)
	}()
	select {
	case r := <-results:
		return r.answer, r.err
	case <-ctx.Done():
	}
	yield := time.NewTimer(h.yield)
	defer yield.Stop()
	select {
	case r := <-results:
		return r.answer, r.err
	case <-yield.C:
	}
	if h.leave(where, c) {
		return answer, h.err
	}
	r := <-results
	return r.answer, r.err
}

// openFar holds a workspace whose file system may hang.
func (h *hangs) openFar(ctx context.Context, open func(sandbox.Spec) (Workspace, error), spec sandbox.Spec) (Workspace, error) {
	ctx, cancel := context.WithTimeout(ctx, hangTime)
	defer cancel()
	root := spec.WorkspaceMount().Source.Base
	held, err := callRoot(ctx, h, root, func() (Workspace, error) { return open(spec) }, func(ws Workspace, err error) {
		if err == nil {
			ws.Close()
		}
	})
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
