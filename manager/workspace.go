package manager

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

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

// place opens the directory of the workspaces, and makes it if it is missing.
func (m *Manager) place() (*os.Root, error) {
	root, err := m.root()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	place, _, err := m.makeDir(root, Workspaces, 0o755)
	return place, err
}

// makeDir opens a directory, and makes it if it is missing. It gives a new directory to the outbox's owner if it may,
// because the host accepts workspaces of that owner. An existing directory stays as it is; a link is refused.
func (m *Manager) makeDir(parent *os.Root, name string, perm os.FileMode) (dir *os.Root, made bool, err error) {
	err = parent.Mkdir(name, perm)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, false, err
	}
	made = err == nil
	if dir, err = beneath.Step(parent, name); err != nil || !made {
		return dir, made, err
	}
	if err = dir.Chmod(".", perm); err == nil { // the umask has taken away some of perm
		uid, gid := m.dir.Owner()
		if err = dir.Lchown(".", int(uid), int(gid)); errors.Is(err, fs.ErrPermission) {
			err = nil
		}
	}
	if err != nil {
		return nil, made, errors.Join(err, dir.Close())
	}
	return dir, made, nil
}

// makeWorkspace makes an empty default workspace, and reports whether it is new. A subagent that ran before finds its
// files again.
func (r *Run) makeWorkspace() (fresh bool, err error) {
	place, err := r.m.place()
	if err != nil {
		return false, err
	}
	defer place.Close()
	sweepFilling(place)
	dir, fresh, err := r.m.makeDir(place, r.ID(), 0o770)
	if err != nil {
		return false, err
	}
	return fresh, dir.Close()
}

// dropWorkspace removes the default workspace that this run has just made, unless another client has asked for a child
// in it meanwhile. It renames the workspace first, because a large one is not removed in a moment.
func (r *Run) dropWorkspace() error {
	place, err := r.m.place()
	if err != nil {
		return err
	}
	defer place.Close()
	aside := fillingPrefix + randomHex(8) // if this client is killed, another one removes it a day later
	err = r.m.alone(func() error {
		if there, err := r.m.dir.Stat(delegation.RequestName(r.id)); err == nil && there.Mode.IsRegular() {
			return nil
		}
		return place.Rename(r.ID(), aside)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(err, place.RemoveAll(aside))
}

// again calls a function with the workspace in which the child will go on. If the host has yet to make it, there is
// nothing to look at.
func (r *Run) again(call func(workspace *os.Root, answer string) error) error {
	root, err := r.m.openWorkspace(r.m.works(r.id, r.asked, r.profile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	return call(root, r.answer)
}

// NewWorkspace is the empty workspace that Fill gets. Spawn moves it to Path after Fill; until then Fill reaches it only
// through Root.
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

const (
	// fillingPrefix begins the name of a directory beside the workspaces in which a client fills a new one; the
	// subagent's id follows. No id begins with a dot, so no subagent has this directory as its workspace.
	fillingPrefix = ".torno-filling-"
	// A client fills a workspace in much less time than maxFilling. A killed client has left what is older.
	maxFilling = 24 * time.Hour
)

// fill fills a new default workspace below another name and then gives it its own. So no other client takes a half-full
// workspace for an earlier one of the subagent, and no child runs in it before it is whole.
func (r *Run) fill(ctx context.Context, fill func(context.Context, NewWorkspace) error) (err error) {
	place, err := r.m.place()
	if err != nil {
		return err
	}
	defer place.Close()
	sweepFilling(place)
	name := fillingPrefix + r.ID()
	dir, made, err := r.m.makeDir(place, name, 0o770)
	if made {
		defer func() {
			if err != nil {
				err = errors.Join(err, place.RemoveAll(name))
			}
		}()
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	if !made {
		return fmt.Errorf("%s: another client fills it, or was killed less than a day ago: %w", filepath.Join(r.m.Outbox(), Workspaces, name), ErrWorkspaceThere)
	}
	if err := r.m.wantNew(r.id); err != nil { // another client may have filled it before this one began
		return err
	}
	uid, gid := r.m.dir.Owner()
	if err := fill(ctx, NewWorkspace{r.ID(), r.workspace, r.answer, dir, int(uid), int(gid)}); err != nil {
		return err
	}
	// Rename fails if there is a directory, unless another client makes it in the same moment: it is then still empty.
	err = place.Rename(name, r.ID())
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%s: another client has made it meanwhile: %w", r.workspace, ErrWorkspaceThere)
	}
	return err
}

// sweepFilling removes the directories that killed clients have left.
func sweepFilling(place *os.Root) {
	entries, err := fs.ReadDir(place.FS(), ".")
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), fillingPrefix) {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > maxFilling {
			_ = place.RemoveAll(e.Name()) // the next client tries again
		}
	}
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
