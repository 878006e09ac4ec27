package collect

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"time"

	"torno/delegation"
	"torno/internal/inode"
	"torno/internal/journal"
	"torno/internal/tree"
)

// Ask tells what an operator wants from a look.
type Ask struct {
	DryRun bool
	Age    time.Duration // used instead of the rule's age; 0 for the rule's
}

// Found is a workspace that a look has found.
type Found struct {
	journal.Workspace
	Name string // of its outbox
	Over string // why it is over the rule; "" if it is not
	Kept string // why it is kept although it is over
	Gone bool   // it no longer exists, or is being removed now
}

// lookEvery is the interval between two looks at an outbox.
const lookEvery = time.Hour

// Loop first finishes removals that were begun, then looks at all outboxes each hour, until ctx is done.
func (c *Collector) Loop(ctx context.Context) {
	done := make(chan struct{})
	for _, b := range c.boxes() {
		go func() { b.loop(ctx); done <- struct{}{} }()
	}
	for range c.boxes() {
		<-done
	}
}

func (b *box) loop(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		b.removeAll(ctx)
		select {
		case <-ctx.Done():
			return
		case <-b.soon:
		case <-ticker.C:
			if _, err := b.look(ctx, Ask{}); err != nil && ctx.Err() == nil {
				b.Log.Warn("the watcher cannot look through the workspaces; it tries again in an hour", "outbox", b.Name, "error", err)
			}
		}
	}
}

// Look looks at every outbox, or at the outbox with the given id, and has workspaces removed that are over the rule.
func (c *Collector) Look(ctx context.Context, outbox string, ask Ask) (all []Found, err error) {
	for _, b := range c.boxes() {
		if outbox != "" && outbox != b.ID {
			continue
		}
		found, failed := b.look(ctx, ask)
		all, err = append(all, found...), errors.Join(err, failed)
	}
	return all, err
}

func (b *box) look(ctx context.Context, ask Ask) ([]Found, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	known, err := b.Journal.Workspaces(ctx, b.ID)
	if err != nil {
		return nil, err
	}
	rule := b.rule
	if ask.Age > 0 {
		rule.Age = ask.Age
	}
	var all []Found
	var covered []journal.Workspace
	var bytes int64
	for _, w := range known {
		if rule.covers(w.Made) {
			covered = append(covered, w)
			bytes += w.Disk()
		}
	}
	number, now := len(covered), b.Now()
	for _, w := range covered {
		f := Found{Workspace: w, Name: b.Name, Over: rule.over(w, number, bytes, now)}
		if f.Over != "" {
			if f.Kept, f.Gone = b.judge(ctx, w, ask.DryRun); f.Gone || ask.DryRun && f.Kept == "" {
				number--
				bytes -= w.Disk()
			}
		}
		all = append(all, f)
		if ctx.Err() != nil {
			return all, ctx.Err()
		}
	}
	return all, nil
}

// judge finds out whether a workspace that is over the rule is still needed, and has it removed if it is not.
func (b *box) judge(ctx context.Context, w journal.Workspace, dryRun bool) (kept string, gone bool) {
	if kept = b.references(w.Subagent); kept != "" {
		return kept, false
	}
	is, err := b.isThere(ctx, w)
	switch {
	case err != nil:
		return err.Error(), false
	case !is && dryRun:
		return "", true
	case !is:
		return "", b.forget(ctx, w)
	}
	release, err := b.Take(ctx, b.Outbox, w.Subagent)
	if err != nil {
		return err.Error(), false
	}
	release = sync.OnceFunc(release)
	if kept = b.references(w.Subagent); kept != "" || dryRun { // a request that came meanwhile has priority
		release()
		return kept, false
	}
	if err := b.part(ctx, w, release); err != nil {
		b.Log.Warn("the watcher cannot remove a workspace that is over the rule", "outbox", b.Name, "subagent", w.Subagent, "error", err)
		return err.Error(), false
	}
	return "", true
}

// errUnborn explains why a workspace is never removed.
var errUnborn = errors.New("its file system does not record when a directory was made, so the watcher could not notice another directory in its place: remove the workspace by hand")

// isWorkspace reports whether a directory is the workspace in the journal. The inode number alone proves nothing,
// because the file system reuses it.
func isWorkspace(noted journal.Workspace, found inode.Directory) (bool, error) {
	if found.Birth == 0 || noted.Directory.Birth == 0 {
		return false, errUnborn
	}
	return found.Same(noted.Directory), nil
}

// references tells what else needs a workspace, besides a run that works in it, or returns "".
func (b *box) references(id delegation.SubagentID) string {
	for _, file := range []struct{ name, what string }{
		{delegation.RequestName(id), "its request is still in the outbox"}, {delegation.ResponseName(id), "its answer was not taken yet"},
	} {
		if _, err := b.Dir.Stat(file.name); !errors.Is(err, fs.ErrNotExist) {
			return file.what
		}
	}
	switch {
	case b.GoesOn != nil && b.GoesOn(b.ID, id):
		return "a session is kept that its subagent may continue"
	case b.Reads(b.path(id)):
		return "a run reads it"
	}
	return ""
}

// isThere reports whether the workspace is still the directory that the journal knows.
func (b *box) isThere(ctx context.Context, w journal.Workspace) (bool, error) {
	now, err := b.far(ctx, func() (inode.Directory, error) { return b.identityAt(w.Subagent.String()) })
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, b.Dir.Alive()
	case err != nil:
		return false, err
	}
	return isWorkspace(w, now)
}

func (b *box) identityAt(name string) (inode.Directory, error) {
	place, err := b.open(Place)
	if err != nil {
		return inode.Directory{}, err
	}
	defer place.Close()
	dir, err := tree.OpenBeneath(place, name)
	if err != nil {
		return inode.Directory{}, err
	}
	defer dir.Close()
	return inode.Of(dir)
}

func (b *box) forget(ctx context.Context, w journal.Workspace) bool {
	err := b.Journal.ForgetWorkspace(ctx, w)
	if err != nil {
		b.Log.Warn("the journal could not forget a workspace that is gone", "outbox", b.Name, "subagent", w.Subagent, "error", err)
	}
	return err == nil
}
