package watcher

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"torno/delegation"
	"torno/internal/tree"
	"torno/sandbox"
)

// Workspace is a run's workspace, held: whatever is at its path by now, this is the directory that the run has.
type Workspace interface {
	ID() tree.ID
	Above() ([]sandbox.Directory, error) // it and each directory above it now, the innermost first
	Space() (tree.Space, error)
	Measure(context.Context, tree.Bounds) (tree.Usage, error)
	Inspect(ctx context.Context, bounds tree.Bounds, own ...string) (tree.Findings, error)
	Close() error
}

// Disk is what stays free on each file system that workspaces lie on. The zero Disk lets them fill up.
type Disk struct {
	Floor      int64 // bytes
	FloorFiles int64 // inodes, where the file system counts them
}

// crossed says whether less is free.
func (d Disk) crossed(s tree.Space) bool {
	return s.Bytes < d.Floor || s.Files >= 0 && s.Files < d.FloorFiles
}

// workspace is what a run's goroutine holds of it, from before the sandbox is made until after the answer.
type workspace struct {
	Workspace
	above []sandbox.Directory // when it was opened
	since time.Time           // what changed later is the run's doing
	// asked is for who wants to know at once how much the run has written; the answer may not come.
	asked chan chan<- growth

	mu      sync.Mutex
	written int64 // by the newest look
}

// growth is how much a run has written.
type growth struct {
	run   *run
	bytes int64
}

// holdWorkspace holds the workspace of a run. What is wrong with one that cannot be held is for the launcher to say, which
// looks at it next.
func (w *Watcher) holdWorkspace(r *run) {
	held, above, err := w.openWorkspace(r)
	if err != nil {
		r.unheld = err
		return
	}
	r.held = &workspace{Workspace: held, above: above, since: time.Now(), asked: make(chan chan<- growth)}
}

// lookAbove finds out which directory a run will work in, and what lies above it. Where there is none now, or its file system
// does not answer, the run is looked at when it is about to start, as every other one is.
func (w *Watcher) lookAbove(r *run) {
	held, err := w.hangs.openFar(w.life, w.config.Workspaces, r.spec)
	if err != nil {
		return
	}
	defer held.Close()
	r.ticket.Above, _ = held.Above()
}

// openWorkspace waits for a file descriptor if there is none to spare.
func (w *Watcher) openWorkspace(r *run) (held Workspace, above []sandbox.Directory, err error) {
	waits := w.notices.newHold("")
	defer waits.close()
	for try := 1; ; try++ {
		held, above, err = w.openOnce(r)
		if err == nil || codeOf(err, "") != delegation.NoticeDescriptors || r.ending.Err() != nil || w.life.Err() != nil {
			return held, above, err
		}
		waits.begin(delegation.NoticeDescriptors, err)
		w.pause(r.ending, backoff(try))
	}
}

func (w *Watcher) openOnce(r *run) (Workspace, []sandbox.Directory, error) {
	held, err := w.hangs.openFar(w.life, w.config.Workspaces, r.spec)
	if err != nil {
		return nil, nil, err
	}
	above, err := held.Above()
	if err != nil {
		held.Close()
		return nil, nil, err
	}
	return held, above, nil
}

// findRoom turns a run down where the disk is full.
func (w *Watcher) findRoom(r *run) (verdict, bool) {
	if errors.Is(r.unheld, errHangs) {
		return failed(delegation.CodeInternal, fmt.Errorf("hold its workspace: %w", r.unheld)), false // a launcher would hang as well
	}
	if r.held == nil {
		return verdict{}, true
	}
	space, err := r.held.Space()
	switch {
	case err != nil:
		return failed(delegation.CodeInternal, err), false
	case w.config.Disk.crossed(space):
		r.box.room.meet(delegation.NoticeDisk, errors.New(w.config.Disk.short(space)))
		return verdict{reason: delegation.ReasonRefused, refusal: w.config.Disk.refuse(space)}, false
	}
	return verdict{}, true
}

// proveWorkspace makes sure that the launcher has mounted what is held, before anything runs in it. Where something runs in
// it already, whoever watches it ends it.
func (r *run) proveWorkspace() (verdict, bool) {
	mounted := tree.ID{Dev: r.handle.Device, Ino: r.handle.Inode}
	if r.held != nil && mounted != (tree.ID{}) && mounted != r.held.ID() {
		r.letGo()
		r.unheld = errReplaced
	}
	if r.held == nil && (r.handle.State == "" || r.handle.State == sandbox.HandleCreated) {
		return failed(delegation.CodeMountProof, fmt.Errorf("hold its workspace: %w", r.unheld)), false
	}
	return verdict{}, true
}

var errReplaced = errors.New("it was replaced by another directory meanwhile")

// letGo lets the workspace go.
func (r *run) letGo() {
	if r.held != nil {
		r.holds.Store(nil)
		r.held.Close()
		r.held = nil
	}
}

// refuse is the answer to a request for which there is no room. It does not wait: when there will be room nobody knows,
// and who asked may have something to delete.
func (d Disk) refuse(s tree.Space) *delegation.Refusal {
	return &delegation.Refusal{
		Code: delegation.CodeDiskFull, Field: "workspace", Text: "There is no room for a run: " + d.short(s),
		Hint: "Delete what is not needed and ask again with a new request_id, or tell the operator.",
	}
}

// short says what is missing.
func (d Disk) short(s tree.Space) string {
	if s.Bytes < d.Floor {
		return fmt.Sprintf("the workspace's file system has %s left, and %s must stay free.", showBytes(s.Bytes), showBytes(d.Floor))
	}
	return fmt.Sprintf("the workspace's file system has %d inodes left, and %d must stay free.", s.Files, d.FloorFiles)
}

// overLimit ends the run because of what is in its workspace.
func (r *run) overLimit(why *delegation.Refusal) {
	r.tooMuch.CompareAndSwap(nil, why)
	r.box.log.Warn("a run is ended because of its workspace", "run", r.hash, "because", why.Text)
	r.End(delegation.ReasonWorkspaceLimit)
}

// limitsOf are the limits of a run's workspace.
func limitsOf(l sandbox.Limits) tree.Bounds {
	return tree.Bounds{Bytes: l.Workspace, Entries: l.WorkspaceFiles}
}

// showBytes is a size for people.
func showBytes(n int64) string {
	for _, unit := range []struct {
		bytes int64
		name  string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}} {
		if n >= unit.bytes {
			return fmt.Sprintf("%.4g %s", float64(n)/float64(unit.bytes), unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
