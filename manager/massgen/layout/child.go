package layout

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"torno/delegation"
	"torno/internal/atomicfile"
	"torno/internal/beneath"
)

// maxTask bounds how much of a task is kept and read.
const maxTask = 1 << 20

// SaveTask keeps the whole task of a child. The child can be continued with it.
func (t *Tree) SaveTask(id delegation.SubagentID, task string) error {
	dir, err := t.child(id)
	if err != nil {
		return err
	}
	defer dir.Close()
	return write(dir, taskName, []byte(task))
}

// Task returns the task that SaveTask has kept. If there is none, the error is fs.ErrNotExist.
func (t *Tree) Task(id delegation.SubagentID) (string, error) {
	dir, err := beneath.Step(t.root, id.String())
	if err != nil {
		return "", err
	}
	defer dir.Close()
	data, more, err := beneath.ReadFile(dir, taskName, maxTask)
	if err == nil && more {
		err = fmt.Errorf("%s is longer than %d bytes", taskName, maxTask)
	}
	return string(data), err
}

// Workspace makes the workspace of a child in the tree, and opens it. It first removes a link that LinkWorkspace has
// made.
func (t *Tree) Workspace(id delegation.SubagentID) (*os.Root, error) {
	dir, err := t.child(id)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if there, err := dir.Lstat(workspaceDir); err == nil && there.Mode().Type() == fs.ModeSymlink {
		if err := dir.Remove(workspaceDir); err != nil {
			return nil, err
		}
	}
	return enter(dir, workspaceDir)
}

// HasWorkspace reports whether the workspace of a child lies in the tree.
func (t *Tree) HasWorkspace(id delegation.SubagentID) bool {
	dir, err := beneath.Step(t.root, id.String())
	if err != nil {
		return false
	}
	defer dir.Close()
	work, err := beneath.Step(dir, workspaceDir)
	if err != nil {
		return false
	}
	work.Close()
	return true
}

// NoteSandbox makes an empty file of this name.
const sandboxName = ".sandbox"

// NoteSandbox records that a child in a sandbox writes into the workspace in the tree.
func (t *Tree) NoteSandbox(id delegation.SubagentID) error {
	dir, err := t.child(id)
	if err != nil {
		return err
	}
	defer dir.Close()
	return write(dir, sandboxName, nil)
}

// HadSandbox reports whether NoteSandbox was called for a child.
func (t *Tree) HadSandbox(id delegation.SubagentID) (bool, error) {
	dir, err := beneath.Step(t.root, id.String())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer dir.Close()
	_, err = dir.Lstat(sandboxName)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// WorkspacePath returns the path of the workspace that Workspace makes. The tree lies in the directory above.
func WorkspacePath(above string, id delegation.SubagentID) string {
	return filepath.Join(above, subagents, id.String(), workspaceDir)
}

// LinkWorkspace makes the workspace of a child a link to its actual place. The link is for people and screens; Torno
// itself never follows it.
func (t *Tree) LinkWorkspace(id delegation.SubagentID, workspace string) error {
	return t.link(id, workspaceDir, workspace)
}

// ProfilesDir is the directory of a workspace's active profiles, for MassGen's own server.
const ProfilesDir = ".massgen/subagent_types"

// SaveProfile writes an active profile of a workspace, unless the file has that text already.
func SaveProfile(workspace *os.Root, name string, source []byte) error {
	here, err := workspace.OpenRoot(".")
	if err != nil {
		return err
	}
	for _, step := range []string{".massgen", "subagent_types", name} {
		next, err := enter(here, step)
		here.Close()
		if err != nil {
			return fmt.Errorf("write the profile %s: %w", name, err)
		}
		here = next
	}
	defer here.Close()
	old, more, err := beneath.ReadFile(here, "SUBAGENT.md", int64(len(source)))
	if err == nil && !more && string(old) == string(source) {
		return nil
	}
	return write(here, "SUBAGENT.md", source)
}

// write replaces a file. Its mode is 0644, unless the umask narrows that.
func write(dir *os.Root, name string, data []byte) error {
	draft, err := atomicfile.BeginIn(dir, ".", 0o644)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	_, err = draft.Write(data)
	if err == nil {
		err = draft.Put(name, atomicfile.Durable)
	}
	if err = errors.Join(err, draft.Drop()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// link makes a link in a child's directory. It replaces another link. Anything else stays, and is an error.
func (t *Tree) link(id delegation.SubagentID, name, target string) error {
	dir, err := t.child(id)
	if err != nil {
		return err
	}
	defer dir.Close()
	if there, err := dir.Lstat(name); err == nil {
		if there.Mode().Type() != fs.ModeSymlink {
			return fmt.Errorf("%s of %s is %s and no link; move it away", name, id, beneath.Describe(there.Mode()))
		}
		if old, err := dir.Readlink(name); err == nil && old == target {
			return nil
		}
		if err := dir.Remove(name); err != nil {
			return err
		}
	}
	return dir.Symlink(target, name)
}
