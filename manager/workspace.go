package manager

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"torno/delegation"
	"torno/internal/beneath"
)

// Workspaces is the directory for the workspaces of an outbox, unless a caller chooses another one.
const Workspaces = "workspaces"

// beneath returns path relative to the outbox if it lies there.
func (m *Manager) beneath(path string) (string, bool) {
	rel, err := filepath.Rel(m.Outbox(), path)
	if err != nil || !filepath.IsLocal(rel) || rel == "." {
		return "", false
	}
	return rel, true
}

// openWorkspace opens a workspace. Below the outbox no component may be a link, because an earlier child may have left
// one there. Elsewhere the caller knows where its directory is, so only the last component is checked.
func (m *Manager) openWorkspace(path string) (*os.Root, error) {
	if rel, ok := m.beneath(path); ok {
		root, err := m.root()
		if err != nil {
			return nil, err
		}
		defer root.Close()
		return beneath.Dir(root, rel)
	}
	parent, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	return beneath.Step(parent, filepath.Base(path))
}

// makeWorkspace makes the default workspace of a subagent and reports whether it is new. A subagent that ran before
// finds its files again.
func (m *Manager) makeWorkspace(id delegation.SubagentID) (fresh bool, err error) {
	root, err := m.root()
	if err != nil {
		return false, err
	}
	defer root.Close()
	if _, err := m.makeDir(root, Workspaces, 0o755); err != nil {
		return false, err
	}
	return m.makeDir(root, filepath.Join(Workspaces, id.String()), 0o770)
}

// makeDir makes one directory below the outbox and gives it to the outbox's owner if it may, because the host accepts
// workspaces of that owner. An existing directory stays as it is; a link is refused.
func (m *Manager) makeDir(root *os.Root, rel string, perm os.FileMode) (made bool, err error) {
	parent, err := beneath.Dir(root, filepath.Dir(rel))
	if err != nil {
		return false, err
	}
	defer parent.Close()
	name := filepath.Base(rel)
	err = parent.Mkdir(name, perm)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return false, err
	}
	made = err == nil
	dir, err := beneath.Step(parent, name)
	if err != nil || !made {
		return made, closing(dir, err)
	}
	if err := dir.Chmod(".", perm); err != nil { // the umask has taken away some of perm
		return made, closing(dir, err)
	}
	uid, gid := m.dir.Owner()
	if err := dir.Lchown(".", int(uid), int(gid)); err != nil && !errors.Is(err, fs.ErrPermission) {
		return made, closing(dir, err)
	}
	return made, closing(dir, nil)
}

// closing closes dir, if there is one, and returns err.
func closing(dir *os.Root, err error) error {
	if dir == nil {
		return err
	}
	return errors.Join(err, dir.Close())
}

// NewWorkspace is a default workspace that was just made, and is empty.
type NewWorkspace struct {
	SubagentID string
	Path       string
	Answer     string // where in the workspace the answer will be
	Root       *os.Root
	UID, GID   int // of the outbox's owner, who shall own everything in the workspace
}

// wantNew fails if a subagent already has a default workspace. It must run before anything of an earlier run is
// touched.
func (m *Manager) wantNew(id delegation.SubagentID) error {
	root, err := m.root()
	if err != nil {
		return err
	}
	defer root.Close()
	rel := filepath.Join(Workspaces, id.String())
	if _, err := root.Lstat(rel); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, fmt.Errorf("%s: %w", filepath.Join(m.Outbox(), rel), ErrWorkspaceThere))
	}
	return nil
}

// fill fills a workspace that was just made. No child knows of it yet.
func (r *Run) fill(ctx context.Context, fresh bool, fill func(context.Context, NewWorkspace) error) error {
	if !fresh {
		return fmt.Errorf("%s: %w", r.workspace, ErrWorkspaceThere)
	}
	root, err := r.m.openWorkspace(r.workspace)
	if err != nil {
		return err
	}
	defer root.Close()
	uid, gid := r.m.dir.Owner()
	err = fill(ctx, NewWorkspace{r.id.String(), r.workspace, r.answer, root, int(uid), int(gid)})
	if err != nil {
		return errors.Join(err, r.m.dropWorkspace(r.id))
	}
	return nil
}

// OpenWorkspace opens the workspace of a subagent, whether or not its result was taken, and returns the path too.
func (m *Manager) OpenWorkspace(id string) (*os.Root, string, error) {
	subagent, err := parseID(id)
	if err != nil {
		return nil, "", err
	}
	path := filepath.Join(m.Outbox(), Workspaces, id)
	run, err := m.Attach(id)
	if taken, ok := errors.AsType[*TakenError](err); ok {
		path = taken.Workspace
	} else if err == nil && run.workspace != "" {
		path = m.works(subagent, run.asked, run.profile)
	}
	root, err := m.openWorkspace(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, path, fmt.Errorf("subagent %s has no workspace at %s: %w", subagent, path, ErrNoRun)
	}
	return root, path, err
}

// Find returns the state of one subagent, if it has a request in the outbox.
func (m *Manager) Find(id string) (Item, bool) {
	subagent, err := delegation.ParseSubagentID(id)
	if err != nil {
		return Item{}, false
	}
	name := delegation.RequestName(subagent)
	found, ok := m.look(name, m.requestLimit(), m.lookedBefore()[name])
	if !ok {
		return Item{}, false
	}
	return found.item(), true
}

// dropWorkspace removes a default workspace that no child was given.
func (m *Manager) dropWorkspace(id delegation.SubagentID) error {
	root, err := m.root()
	if err != nil {
		return err
	}
	defer root.Close()
	return root.RemoveAll(filepath.Join(Workspaces, id.String()))
}

// answerPath returns where in the workspace an answer file is, or an error if it lies outside.
func answerPath(workspace, answer string) (string, error) {
	rel := answer
	if filepath.IsAbs(answer) {
		var err error
		if rel, err = filepath.Rel(workspace, answer); err != nil {
			return "", err
		}
	}
	rel = filepath.Clean(rel)
	if !filepath.IsLocal(rel) || rel == "." || strings.HasSuffix(answer, "/") {
		return "", fmt.Errorf("answer_file %s is not in the workspace %s", answer, workspace)
	}
	return rel, nil
}
