package collect

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"torno/delegation"
	"torno/internal/inode"
	"torno/internal/journal"
	"torno/internal/tree"
	"torno/sandbox"
	"torno/watcher/hang"
	"torno/watcher/workspace"
)

// Place is the directory below an outbox where clients make workspaces.
const Place = "workspaces"

// Outbox is an outbox whose workspaces are looked after.
type Outbox struct {
	ID, Name string
	Dir      *delegation.Dir
}

// Ports lists the functions of the watcher that a Collector needs.
type Ports struct {
	Journal *journal.Journal
	// Take keeps runs away from the workspace of a subagent until release is called. While a run needs the workspace,
	// Take fails with ErrInUse.
	Take func(ctx context.Context, o Outbox, id delegation.SubagentID) (release func(), err error)
	// Reads reports whether an unfinished run may read at path.
	Reads func(path string) bool
	// GoesOn reports whether a session is kept that the subagent may continue.
	GoesOn func(outbox string, id delegation.SubagentID) bool
	// Open opens the directory that a spec's workspace names, as a launcher would.
	Open  func(sandbox.Spec) (workspace.Directory, error)
	Hangs *hang.Calls
	// Now returns the time of day that is believed (package calendar): setting the clock must not empty an outbox.
	Now func() time.Time
	Log *slog.Logger
}

// ErrInUse means that a run needs the workspace.
var ErrInUse = errors.New("a run uses it, or waits for it")

// Collector looks after the workspaces of all outboxes. It is safe for concurrent use.
type Collector struct {
	Ports
	rule  Rule
	boxes func() []*box
}

// box is an outbox that the collector looks after.
type box struct {
	Outbox
	*Collector
	soon   chan struct{} // wakes the loop: there is something to remove
	copies chan struct{} // has room for one, so that only one copy is made at a time

	filling sync.Mutex
	fills   map[string]bool // names of directories that are being filled

	mu sync.Mutex // only one look at a time
}

// New returns a Collector that looks after nothing yet. It calls outboxes once, when it first needs them.
func New(ports Ports, outboxes func() []Outbox, rule Rule) *Collector {
	c := &Collector{Ports: ports, rule: rule}
	c.boxes = sync.OnceValue(func() (all []*box) {
		for _, o := range outboxes() {
			all = append(all, &box{Outbox: o, Collector: c, soon: make(chan struct{}, 1), copies: make(chan struct{}, 1), fills: make(map[string]bool)})
		}
		return all
	})
	return c
}

func (c *Collector) boxOf(outbox string) *box {
	for _, b := range c.boxes() {
		if b.ID == outbox {
			return b
		}
	}
	return nil
}

// hangTime bounds how long the file system may take to open a few directories.
const hangTime = 2 * time.Second

// Begin notes in the journal that a run begins in a directory, if the directory is the subagent's workspace in its
// outbox. made tells that the client has just made it.
func (c *Collector) Begin(ctx context.Context, outbox string, id delegation.SubagentID, held tree.ID, made bool) {
	b := c.boxOf(outbox)
	if b == nil || !c.rule.covers(made) {
		return
	}
	is, err := b.far(ctx, func() (inode.Directory, error) { return b.identify(id, held) })
	if errors.Is(err, errElsewhere) || errors.Is(err, fs.ErrNotExist) {
		return // the workspace is some other directory of the parent's
	}
	if err == nil {
		err = c.Journal.NoteWorkspace(ctx, journal.Workspace{Outbox: b.ID, Subagent: id, Directory: is, Made: made, Used: c.Now()})
	}
	if err != nil {
		c.Log.Warn("the watcher cannot record a workspace, and will not remove it later", "outbox", b.Name, "subagent", id, "error", err)
	}
}

// End notes that a run is over, and how many bytes its workspace holds, or 0 if that is not known.
func (c *Collector) End(ctx context.Context, outbox string, id delegation.SubagentID, bytes int64) {
	if c.boxOf(outbox) == nil || c.rule.Which == None {
		return
	}
	if err := c.Journal.LeaveWorkspace(ctx, outbox, id, bytes, c.Now()); err != nil {
		c.Log.Warn("the journal did not record the last use of a workspace", "subagent", id, "error", err)
	}
}

var errElsewhere = errors.New("the workspace is another directory")

// identify returns the identity of a subagent's workspace, if the workspace is the held directory.
func (b *box) identify(id delegation.SubagentID, held tree.ID) (is inode.Directory, err error) {
	place, err := b.open(Place)
	if err != nil {
		return is, err
	}
	defer place.Close()
	dir, err := tree.OpenBeneath(place, id.String())
	if err != nil {
		return is, err
	}
	defer dir.Close()
	found, err := tree.Reopen(dir)
	if err != nil {
		return is, err
	}
	defer found.Close()
	if found.ID() != held {
		return is, errElsewhere
	}
	return inode.Of(dir)
}

// open opens a directory of the outbox.
func (b *box) open(path string) (*os.File, error) {
	top, err := b.Dir.Reopen()
	if err != nil {
		return nil, err
	}
	defer top.Close()
	return tree.OpenBeneath(top, path)
}

// path returns the path of a workspace, as the mounts of runs name it.
func (b *box) path(id delegation.SubagentID) string {
	return filepath.Join(b.Dir.Path(), Place, id.String())
}

// far makes a call to the outbox's file system, which may hang.
func (b *box) far(ctx context.Context, call func() (inode.Directory, error)) (inode.Directory, error) {
	return farFor(ctx, b, 0, call)
}

func farFor[T any](ctx context.Context, b *box, within time.Duration, call func() (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, within+hangTime)
	defer cancel()
	return hang.DoUnlessFull(ctx, b.Hangs, b.Dir.Path(), call, nil)
}
