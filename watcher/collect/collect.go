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

// Place is where, beneath an outbox, clients make workspaces.
const Place = "workspaces"

// Outbox is an outbox whose workspaces are looked after.
type Outbox struct {
	ID, Name string
	Dir      *delegation.Dir
}

// Ports are what a Collector needs of the watcher.
type Ports struct {
	Journal *journal.Journal
	// Take keeps the workspace of a subagent from runs until release is called. It fails with ErrInUse while a run needs it.
	Take func(ctx context.Context, o Outbox, id delegation.SubagentID) (release func(), err error)
	// Reads says whether a run that is not over may read what lies at a path.
	Reads func(path string) bool
	// GoesOn says whether a session is kept with which a subagent may go on.
	GoesOn func(outbox string, id delegation.SubagentID) bool
	// Open opens the directory that a spec's workspace names, as a launcher would.
	Open  func(sandbox.Spec) (workspace.Directory, error)
	Hangs *hang.Calls
	// Now tells the time of day that is believed (package calendar): a clock that is set must not empty an outbox.
	Now func() time.Time
	Log *slog.Logger
}

// ErrInUse says that a run needs a workspace.
var ErrInUse = errors.New("a run uses it, or waits for it")

// Collector looks after the workspaces of all outboxes. It is safe for concurrent use.
type Collector struct {
	Ports
	rule  Rule
	boxes func() []*box
}

// box is an outbox under the collector's care.
type box struct {
	Outbox
	*Collector
	soon   chan struct{} // there is something to remove
	copies chan struct{} // holds one: a copy is made

	filling sync.Mutex
	fills   map[string]bool // names of directories that are being filled

	mu sync.Mutex // one look at a time
}

// New looks after nothing yet. Which outboxes there are is asked once, when that is needed.
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

// hangTime is how long the file system may take to open a few directories.
const hangTime = 2 * time.Second

// Begin notes that a run begins in a directory, where that is its subagent's in its outbox. made says that its client has just made it.
func (c *Collector) Begin(ctx context.Context, outbox string, id delegation.SubagentID, held tree.ID, made bool) {
	b := c.boxOf(outbox)
	if b == nil || !c.rule.covers(made) {
		return
	}
	is, err := b.far(ctx, func() (inode.Directory, error) { return b.identify(id, held) })
	if errors.Is(err, errElsewhere) || errors.Is(err, fs.ErrNotExist) {
		return // it is a parent's own
	}
	if err == nil {
		err = c.Journal.NoteWorkspace(ctx, journal.Workspace{Outbox: b.ID, Subagent: id, Directory: is, Made: made, Used: c.Now()})
	}
	if err != nil {
		c.Log.Warn("a workspace is not noted, and is not removed one day", "outbox", b.Name, "subagent", id, "error", err)
	}
}

// End notes that a run is over, and what its workspace holds; 0 where that is not known.
func (c *Collector) End(ctx context.Context, outbox string, id delegation.SubagentID, bytes int64) {
	if c.boxOf(outbox) == nil || c.rule.Which == None {
		return
	}
	if err := c.Journal.LeaveWorkspace(ctx, outbox, id, bytes, c.Now()); err != nil {
		c.Log.Warn("the last use of a workspace is not noted", "subagent", id, "error", err)
	}
}

var errElsewhere = errors.New("the workspace is another directory")

// identify says which directory a subagent's workspace is, if it is the one that is held.
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

// path is where a workspace lies, as runs' mounts name it.
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
