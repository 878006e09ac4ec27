package workspace

import (
	"context"
	"os"
	"sync"
	"time"

	"torno/internal/tree"
	"torno/sandbox"
	"torno/watcher/hang"
)

// Directory is the open directory of a workspace. It stays the run's directory even if its path now leads elsewhere.
type Directory interface {
	ID() tree.ID
	Above() ([]sandbox.Directory, error) // the directory and each directory above it at present, the innermost first
	Space() (tree.Space, error)
	Measure(context.Context, tree.Bounds) (tree.Usage, error)
	Inspect(ctx context.Context, bounds tree.Bounds, own ...string) (tree.Findings, error)
	Artifacts(context.Context, tree.Bounds, tree.Want) (tree.Artifacts, error)
	CopyTo(context.Context, *os.File, tree.CopyBounds) (tree.Copied, error)
	Close() error
}

// Held is a workspace that a run holds, from before its sandbox is made until after the answer.
type Held struct {
	Directory
	AboveThen []sandbox.Directory // the directory and each directory above it, when it was opened

	since time.Time          // later changes are the run's doing
	asked chan chan<- growth // asks how much the run has written, at once; the answer may not come

	mu      sync.Mutex
	written int64 // at the newest look
	holds   int64 // at the newest look
}

// Bytes returns the size of the contents at the newest look, or 0 before the first.
func (h *Held) Bytes() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.holds
}

// growth is how much a run has written.
type growth struct {
	held  *Held
	bytes int64
}

// Open opens the directory of a workspace, whose file system may hang, and holds it.
func Open(ctx context.Context, calls *hang.Calls, open func(sandbox.Spec) (Directory, error), spec sandbox.Spec) (*Held, error) {
	dir, err := openFar(ctx, calls, open, spec)
	if err != nil {
		return nil, err
	}
	above, err := dir.Above()
	if err != nil {
		dir.Close()
		return nil, err
	}
	return Hold(dir, above), nil
}

// Hold holds an open directory. above lists the directory and the directories above it.
func Hold(dir Directory, above []sandbox.Directory) *Held {
	return &Held{Directory: dir, AboveThen: above, since: time.Now(), asked: make(chan chan<- growth)}
}

// LimitsOf returns the limits of a workspace.
func LimitsOf(l sandbox.Limits) tree.Bounds {
	return tree.Bounds{Bytes: l.Workspace, Entries: l.WorkspaceFiles}
}
