package collect

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"torno/internal/crash"
	"torno/internal/inode"
	"torno/internal/journal"
	"torno/internal/mounts"
	"torno/internal/tree"
	"torno/watcher/hang"
	"torno/watcher/limit"
	"torno/watcher/workspace"
)

// leavingPrefix begins the names of workspaces that are being removed.
const leavingPrefix = ".torno-leaving-"

// part begins the removal of a workspace: it writes to the journal, then renames the workspace so that nothing finds
// it. The loop does the rest soon. part keeps runs away until the workspace has its new name or will never get it, even
// if the file system hangs in the middle.
func (b *box) part(ctx context.Context, w journal.Workspace, release func()) error {
	var random [8]byte
	rand.Read(random[:]) // never fails
	leaving := journal.LeavingWorkspace{Workspace: w, Name: leavingPrefix + hex.EncodeToString(random[:])}
	crash.At("collect.parted")
	if err := b.Journal.PartWithWorkspace(ctx, leaving); err != nil {
		release()
		return err
	}
	b.Log.Info("a workspace is removed", "outbox", b.Name, "subagent", w.Subagent, "unused_since", w.Used, "bytes", w.Disk())
	crash.At("collect.renamed")
	if b.Hangs.Full(b.Dir.Path()) {
		release()
		return workspace.ErrHangs
	}
	limited, cancel := context.WithTimeout(ctx, hangTime)
	defer cancel()
	_, err := hang.Do(limited, b.Hangs, b.Dir.Path(), func() (struct{}, error) { defer release(); return struct{}{}, b.putAside(leaving) }, nil)
	switch {
	case errors.Is(err, workspace.ErrHangs), errors.Is(err, errAside):
		return err // the next look finds out how it ended
	case err != nil:
		return errors.Join(err, b.takeBack(ctx, leaving))
	}
	select {
	case b.soon <- struct{}{}:
	default:
	}
	return nil
}

// putAside renames a workspace. If another directory was put in its place at this moment, putAside gives that directory
// its name back.
func (b *box) putAside(w journal.LeavingWorkspace) error {
	place, owner, err := b.place()
	if err != nil {
		return err
	}
	defer place.Close()
	name := w.Subagent.String()
	if err := owner.Do(func() error { return tree.Rename(place, name, w.Name) }); err != nil {
		return fmt.Errorf("put the workspace %s aside: %w", name, err)
	}
	is, err := b.identityAt(w.Name)
	if err == nil {
		err = isMeant(w, is)
	}
	if err != nil {
		return errors.Join(err, putBack(place, owner, w))
	}
	return nil
}

// errAside means that a directory lies under the name that was meant for the workspace.
var errAside = errors.New("it lies under another name until its own is free")

// putBack gives a directory its own name back. While another directory has that name, putBack leaves it where it is.
func putBack(place *os.File, owner mounts.User, w journal.LeavingWorkspace) error {
	name := w.Subagent.String()
	if err := owner.Do(func() error { return tree.Rename(place, w.Name, name) }); err != nil {
		return fmt.Errorf("give %s its name %s back: %w: %w", w.Name, name, errAside, err)
	}
	return nil
}

// notMeant handles a foreign directory that has a leaving workspace's name: a watcher may have renamed it and died
// before it looked. The journal remembers it until it has its name back.
func (b *box) notMeant(ctx context.Context, w journal.LeavingWorkspace) error {
	if strings.HasPrefix(w.Name, leavingPrefix) {
		_, err := farFor(ctx, b, 0, func() (struct{}, error) {
			place, owner, err := b.place()
			if err != nil {
				return struct{}{}, err
			}
			defer place.Close()
			return struct{}{}, putBack(place, owner, w)
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return b.takeBack(ctx, w)
}

// takeBack keeps a workspace after all.
func (b *box) takeBack(ctx context.Context, w journal.LeavingWorkspace) error {
	if is, err := b.isThere(ctx, w.Workspace); err == nil && is {
		if err := b.Journal.NoteWorkspace(ctx, w.Workspace); err != nil {
			return err
		}
	}
	return b.Journal.WorkspaceGone(ctx, w)
}

// place opens the directory of the workspaces and returns its owner.
func (b *box) place() (*os.File, mounts.User, error) {
	place, err := b.open(Place)
	if err != nil {
		return nil, mounts.User{}, err
	}
	owner, err := userOf(place)
	if err != nil {
		place.Close()
	}
	return place, owner, err
}

// userOf returns the user who owns a directory, with the groups that this host's files give that user, but never root's
// group. The directory's group counts only if the user is in it, because an owner can give a directory to other groups,
// and one whose container runs in group 0 to that group.
func userOf(dir *os.File) (mounts.User, error) {
	uid, gid, err := tree.OwnerOf(dir)
	if err != nil {
		return mounts.User{}, err
	}
	who, err := mounts.UserOf(uid)
	if err != nil || uid == 0 {
		return who, err
	}
	who.Groups = slices.DeleteFunc(who.Groups, func(group uint32) bool { return group == 0 })
	switch {
	case gid != 0 && who.In(gid):
		who.GID = gid
	case who.GID == 0:
		who.GID = mounts.NoGroup
	}
	return who, nil
}

// errOther means that another directory lies there.
var errOther = errors.New("another directory was put in its place")

// isMeant returns nil if the directory is the workspace that should be removed.
func isMeant(w journal.LeavingWorkspace, found inode.Directory) error {
	is, err := isWorkspace(w.Workspace, found)
	if err != nil || !is {
		return errors.Join(errOther, err)
	}
	return nil
}

// holdsMeant makes the check of isMeant for a held directory. A half copy needs no time of birth: it was empty when the
// journal got to know it.
func holdsMeant(w journal.LeavingWorkspace, dir *os.File) error {
	is, err := inode.Of(dir)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(w.Name, copyPrefix) {
		return isMeant(w, is)
	}
	if !is.Same(w.Directory) {
		return errOther
	}
	return nil
}

// removeAll removes all leaving workspaces. If one cannot be removed, the next look tries again.
func (b *box) removeAll(ctx context.Context) {
	leaving, err := b.Journal.LeavingWorkspaces(ctx, b.ID)
	if err != nil {
		b.Log.Warn("the watcher cannot list the workspaces that it has to remove", "outbox", b.Name, "error", err)
		return
	}
	for _, w := range leaving {
		if b.isBusy(w.Name) || b.isBaseInUse(ctx, w) {
			continue
		}
		if err := b.remove(ctx, w); err != nil && ctx.Err() == nil {
			b.Log.Warn("the watcher cannot remove a workspace; it tries again in an hour", "outbox", b.Name, "subagent", w.Subagent, "name", w.Name, "error", err)
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// Bounds of one step, and of all steps of one removal: at most a twentieth of a core, and no workspace takes for ever.
var step = tree.Bounds{Entries: 1000, Time: 100 * time.Millisecond}

const (
	stepShare = 20
	mostSteps = 10_000
)

// remove empties a workspace in small steps, then removes it. A watcher that died before it knew the directory of a copy
// has put nothing into it.
func (b *box) remove(ctx context.Context, w journal.LeavingWorkspace) error {
	if w.Directory.IsZero() {
		err := b.removeEmpty(ctx, w)
		if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTDIR) {
			b.Log.Warn("a directory that the watcher did not fill has the name of a half copy; it stays", "outbox", b.Name, "name", w.Name)
			return b.takeBack(ctx, w)
		}
		return err
	}
	share := limit.Share{Of: stepShare, Burst: time.Second}
	for range mostSteps {
		begin := time.Now()
		e, err := farFor(ctx, b, step.Time, func() (tree.Emptied, error) { return b.empty(ctx, w) })
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return b.takeBack(ctx, w) // it never got its new name, or is gone
		case errors.Is(err, errOther):
			return errors.Join(err, b.notMeant(ctx, w))
		case err != nil:
			return err
		case !e.Stopped && e.Left > 0:
			return fmt.Errorf("%d entries cannot be removed with the rights of its owner: something is mounted there, or belongs to another user", e.Left)
		case !e.Stopped:
			return b.removeEmpty(ctx, w)
		}
		if share.Pause(ctx, time.Since(begin)); ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return errors.New("it does not become empty")
}

// empty removes a part of the contents of a workspace.
func (b *box) empty(ctx context.Context, w journal.LeavingWorkspace) (e tree.Emptied, err error) {
	place, _, err := b.place()
	if err != nil {
		return e, err
	}
	defer place.Close()
	owner, err := ownerAt(place, w)
	if err != nil {
		return e, err
	}
	failed := owner.Do(func() error {
		e, err = tree.Empty(ctx, place, w.Name, func(dir *os.File) error { return holdsMeant(w, dir) }, step)
		return err
	})
	return e, failed
}

// ownerAt returns the user who owns a workspace.
func ownerAt(place *os.File, w journal.LeavingWorkspace) (mounts.User, error) {
	dir, err := tree.OpenBeneath(place, w.Name)
	if err != nil {
		return mounts.User{}, err
	}
	defer dir.Close()
	if err := holdsMeant(w, dir); err != nil {
		return mounts.User{}, err
	}
	return userOf(dir)
}

func (b *box) removeEmpty(ctx context.Context, w journal.LeavingWorkspace) error {
	crash.At("collect.removed")
	_, err := farFor(ctx, b, 0, func() (struct{}, error) {
		place, owner, err := b.place()
		if err != nil {
			return struct{}{}, err
		}
		defer place.Close()
		return struct{}{}, owner.Do(func() error { return tree.RemoveEmpty(place, w.Name) })
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	crash.At("collect.forgotten")
	return b.Journal.WorkspaceGone(ctx, w)
}
