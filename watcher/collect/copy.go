package collect

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"torno/delegation"
	"torno/internal/crash"
	"torno/internal/inode"
	"torno/internal/journal"
	"torno/internal/mounts"
	"torno/internal/tree"
	"torno/sandbox"
	"torno/watcher/hang"
	"torno/watcher/workspace"
)

const (
	copyPrefix = ".torno-copy-" // begins the names of directories where copies are made
	// basePrefix begins the name of the base: the state that a child was given, kept beside its workspace and out of
	// its reach. The subagent's id follows.
	basePrefix = delegation.BasePrefix

	mostCopyBytes   = 8 << 30
	mostCopyEntries = 500_000
	copyTime        = 10 * time.Minute
)

// Copy makes the workspace of a subagent as a copy, unless it exists already, and lists the files that were left out.
//
// The journal notes the copy first (I9). The copy grows under a temporary name, next to a second copy, the base. The
// parent compares the result with the base. Both get their final names when they are whole, the workspace last. If the
// watcher dies in the middle, the rest is removed like a workspace that is over the rule, and the next run begins anew.
func (c *Collector) Copy(ctx context.Context, outbox string, id delegation.SubagentID, spec sandbox.Spec, room func(tree.Space) error) ([]string, error) {
	b := c.boxOf(outbox)
	if b == nil {
		return nil, errors.New("its outbox is not in its own directory")
	}
	select {
	case b.copies <- struct{}{}:
		defer func() { <-b.copies }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	m := &making{box: b, id: id, spec: spec, room: room, origin: spec.CopyOf.Source.Base + "//" + spec.CopyOf.Source.Rel}
	is, err := b.far(ctx, func() (inode.Directory, error) { return b.identityAt(id.String()) })
	if err == nil {
		return []string{m.where()}, m.isOurs(ctx, is)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return m.create(ctx)
}

// making is the state of one copy while it is made.
type making struct {
	*box
	id     delegation.SubagentID
	spec   sandbox.Spec
	room   func(tree.Space) error
	origin string
	copied tree.Copied
	base   int64 // bytes of the base, which lies beside the workspace
}

// isOurs refuses a directory in the workspace's place that is not a copy of the directory that the request names.
func (m *making) isOurs(ctx context.Context, is inode.Directory) error {
	known, ok, err := m.Journal.WorkspaceOf(ctx, m.ID, m.id)
	if err != nil || ok && known.Directory.Same(is) && known.Origin == m.origin {
		return err
	}
	return &delegation.Refusal{
		Code: delegation.CodeWorkspace, Field: "workspace",
		Text: "The subagent already has a workspace that is not a copy of this one: " + Place + "/" + m.id.String(),
		Hint: "Ask for the workspace of the subagent's earlier runs, or give the new one another subagent_id.",
	}
}

// create makes the copy. If ctx ends and the file system does not answer, create leaves the call behind.
func (m *making) create(ctx context.Context) ([]string, error) {
	if err := m.dropOldBase(ctx); err != nil {
		return nil, err
	}
	var random [8]byte
	rand.Read(random[:]) // never fails
	staging := m.staging(copyPrefix + hex.EncodeToString(random[:]))
	crash.At("copy.noted")
	m.busy(staging.Name, true)
	if err := m.Journal.PartWithWorkspace(ctx, staging); err != nil {
		m.busy(staging.Name, false)
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, copyTime+hangTime)
	defer cancel()
	_, err := hang.DoUnlessFull(ctx, m.Hangs, m.spec.CopyOf.Source.Base, func() (struct{}, error) {
		defer m.removeSoon(staging.Name)
		return struct{}{}, m.fill(ctx, staging.Name)
	}, nil)
	if errors.Is(err, workspace.ErrHangs) && ctx.Err() == nil {
		m.removeSoon(staging.Name) // the call has not begun
	}
	if no, ok := errors.AsType[*tree.NoCopyError](err); ok {
		return nil, &delegation.Refusal{
			Code: delegation.CodeWorkspaceLimit, Field: "workspace", Text: "The workspace cannot be copied: " + no.Why,
			Hint: "Name a smaller directory, or ask for a profile that works in the directory itself.",
		}
	}
	if err != nil {
		return nil, err
	}
	return m.said(), nil
}

// busy notes whether a directory is being filled. While it is, it must not be removed.
func (b *box) busy(name string, is bool) {
	b.filling.Lock()
	defer b.filling.Unlock()
	if is {
		b.fills[name] = true
	} else {
		delete(b.fills, name)
	}
}

func (b *box) isBusy(name string) bool {
	b.filling.Lock()
	defer b.filling.Unlock()
	return b.fills[name]
}

// removeSoon wakes the loop to remove the rest of a directory that was being filled.
func (b *box) removeSoon(name string) {
	b.busy(name, false)
	select {
	case b.soon <- struct{}{}:
	default:
	}
}

// fill makes both copies. Everything that it does in the outbox, it does with the rights of the owner of the outbox's
// workspaces. So the kernel does the checks that root would have to do with care.
func (m *making) fill(ctx context.Context, name string) error {
	from, err := m.Open(sandbox.Spec{Mounts: []sandbox.Mount{*m.spec.CopyOf}, Owners: m.spec.Owners})
	if err != nil {
		return err
	}
	defer from.Close()
	place, owner, err := m.ensurePlace()
	if err != nil {
		return err
	}
	defer place.Close()
	staging, work, base, err := m.stage(ctx, place, name, owner)
	if err != nil {
		return err
	}
	defer staging.Close()
	defer work.Close()
	defer base.Close()
	bounds := m.bounds(owner)
	if m.copied, err = from.CopyTo(ctx, work, bounds); err != nil {
		return err
	}
	whole, err := tree.Reopen(work)
	if err != nil {
		return err
	}
	defer whole.Close()
	bounds.NoGit = true
	compared, err := whole.CopyTo(ctx, base, bounds)
	if err != nil {
		return err
	}
	m.base = compared.Bytes
	if err := ctx.Err(); err != nil {
		return err
	}
	return m.publish(ctx, place, staging, work, base, owner)
}

// bounds returns the limits of the run's workspace, or the host's own limits if those are lower.
func (m *making) bounds(owner mounts.User) tree.CopyBounds {
	atMost := func(limit, most int64) int64 {
		if limit > 0 {
			return min(limit, most)
		}
		return most
	}
	return tree.CopyBounds{
		Bytes: atMost(m.spec.Limits.Workspace, mostCopyBytes), Entries: atMost(m.spec.Limits.WorkspaceFiles, mostCopyEntries),
		Time: copyTime, Processor: copyTime / 2, Room: m.room, As: owner.Do,
	}
}

// ensurePlace opens the directory of workspaces, and makes it if it is missing.
func (m *making) ensurePlace() (*os.File, mounts.User, error) {
	place, owner, err := m.place()
	if !errors.Is(err, fs.ErrNotExist) {
		return place, owner, err
	}
	top, err := m.Dir.Reopen()
	if err != nil {
		return nil, owner, err
	}
	defer top.Close()
	if owner, err = userOf(top); err != nil {
		return nil, owner, err
	}
	err = owner.Do(func() error {
		made, err := tree.Make(top, Place, 0o755)
		if err == nil {
			err = made.Close()
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, owner, err
	}
	return m.place()
}

// stage makes the empty directories for fill. The journal knows the outer one before anything lies in it.
func (m *making) stage(ctx context.Context, place *os.File, name string, owner mounts.User) (staging, work, base *os.File, err error) {
	crash.At("copy.staged")
	err = owner.Do(func() (err error) {
		staging, err = tree.Make(place, name, 0o700)
		return err
	})
	if err == nil {
		err = m.noteStaging(ctx, staging, name, owner.UID)
	}
	if err == nil {
		err = owner.Do(func() (err error) {
			if work, err = tree.Make(staging, "work", 0o770); err == nil {
				base, err = tree.Make(staging, "base", 0o770)
			}
			return err
		})
	}
	if err != nil {
		for _, f := range []*os.File{staging, work} {
			if f != nil {
				f.Close()
			}
		}
	}
	return staging, work, base, err
}

// noteStaging notes in the journal which directory is being filled, so that no other is emptied in its place. Whoever may
// rename directories there can have exchanged it already, but not for one that holds anything, or into which others can
// move something.
func (m *making) noteStaging(ctx context.Context, staging *os.File, name string, owner uint32) error {
	info, err := staging.Stat()
	if err != nil {
		return err
	}
	uid, _, err := tree.OwnerOf(staging)
	if err != nil {
		return err
	}
	if _, err := staging.Readdirnames(1); uid != owner || info.Mode()&0o022 != 0 || !errors.Is(err, io.EOF) {
		return errOther
	}
	is, err := inode.Of(staging)
	if err != nil {
		return err
	}
	crash.At("copy.seen")
	w := m.staging(name)
	w.Directory = is
	return m.Journal.PartWithWorkspace(ctx, w)
}

// staging is the record of the directory in which the copies are made.
func (m *making) staging(name string) journal.LeavingWorkspace {
	return journal.LeavingWorkspace{Workspace: journal.Workspace{Outbox: m.ID, Subagent: m.id, Used: m.Now()}, Name: name}
}

// publish gives both copies their final names. From the moment that the workspace has its name, it is whole and belongs
// to the subagent.
func (m *making) publish(ctx context.Context, place, staging, work, base *os.File, owner mounts.User) error {
	workIs, err := inode.Of(work)
	if err != nil {
		return err
	}
	baseIs, err := inode.Of(base)
	if err != nil {
		return err
	}
	w := journal.Workspace{Outbox: m.ID, Subagent: m.id, Directory: workIs, Made: true, Used: m.Now(), Origin: m.origin, Base: m.base}
	crash.At("copy.known")
	if err := m.Journal.NoteWorkspace(ctx, w); err != nil {
		return err
	}
	w.Directory = baseIs
	if err := m.Journal.PartWithWorkspace(ctx, journal.LeavingWorkspace{Workspace: w, Name: basePrefix + m.id.String()}); err != nil {
		return err
	}
	crash.At("copy.based")
	return owner.Do(func() error {
		if err := tree.MoveOut(staging, "base", place, basePrefix+m.id.String()); err != nil {
			return fmt.Errorf("name the base of a subagent's copy: %w", err)
		}
		crash.At("copy.named")
		if err := tree.MoveOut(staging, "work", place, m.id.String()); err != nil {
			return fmt.Errorf("name a subagent's copy: %w", err)
		}
		return nil
	})
}

// dropOldBase removes the base of the subagent's earlier copy, because that copy is gone.
func (m *making) dropOldBase(ctx context.Context) error {
	leaving, err := m.Journal.LeavingWorkspaces(ctx, m.ID)
	if err != nil {
		return err
	}
	for _, w := range leaving {
		if w.Name == basePrefix+m.id.String() {
			return m.remove(ctx, w)
		}
	}
	return nil
}

// isBaseInUse reports whether a leaving directory is the base of a workspace that is kept.
func (b *box) isBaseInUse(ctx context.Context, w journal.LeavingWorkspace) bool {
	if !strings.HasPrefix(w.Name, basePrefix) {
		return false
	}
	known, ok, err := b.Journal.WorkspaceOf(ctx, b.ID, w.Subagent)
	return err != nil || ok && known.Origin != ""
}

// mostSaid is how many of the omitted files a response names.
const mostSaid = 5

// where tells a parent where the copy is, because it may look for the child's work in the directory that it named.
func (m *making) where() string {
	return fmt.Sprintf("The child works in a copy of its workspace, which is %s/%s in the outbox.", Place, m.id)
}

// said returns the sentences about the copy for the parent.
func (m *making) said() []string {
	c := m.copied
	said := []string{m.where(), fmt.Sprintf("%d files were copied, %d bytes.", c.Files, c.Bytes)}
	if c.Git > 0 {
		said = append(said, fmt.Sprintf("%d git directories were copied without hooks, settings, remotes and alternates.", c.Git))
	}
	for _, left := range c.Left[:min(len(c.Left), mostSaid)] {
		said = append(said, fmt.Sprintf("Not copied: %q: %s.", left.Path, left.Why))
	}
	if more := c.LeftCount - int64(mostSaid); more > 0 {
		said = append(said, fmt.Sprintf("Not copied: %d more.", more))
	}
	return said
}
