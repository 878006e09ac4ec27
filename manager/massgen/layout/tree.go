package layout

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"torno/delegation"
	"torno/internal/beneath"
)

// The names of the layout.
const (
	subagents    = "subagents"
	registryName = "_registry.json"
	statusName   = "_spawn_status.json"
	metadataName = "_metadata.json"
	liveLogs     = "live_logs"
)

// Tree is the directory subagents of a workspace or of MassGen's logs.
type Tree struct{ root *os.Root }

// Open opens subagents below a directory, and makes it where it is not there.
func Open(above *os.Root) (*Tree, error) {
	root, err := enter(above, subagents)
	if err != nil {
		return nil, err
	}
	return &Tree{root}, nil
}

// Close gives the directory back.
func (t *Tree) Close() error { return t.root.Close() }

// enter opens a directory, which it makes where it is not there. A link is refused.
func enter(parent *os.Root, name string) (*os.Root, error) {
	err := parent.Mkdir(name, 0o755)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return beneath.Step(parent, name)
}

// child opens the directory of a child.
func (t *Tree) child(id delegation.SubagentID) (*os.Root, error) {
	if id.IsZero() {
		return nil, errors.New("a child without an id has no directory")
	}
	return enter(t.root, id.String())
}

// save writes a value as MassGen does, with an indent of two.
func save(dir *os.Root, name string, value any) (err error) {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	temp, err := renameio.NewPendingFile(name, renameio.WithRoot(dir), renameio.WithPermissions(0o644))
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, temp.Cleanup()) }()
	if _, err := temp.Write(data); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := temp.CloseAtomicallyReplace(); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return flush(dir)
}

// flush makes a rename in a directory durable.
func flush(dir *os.Root) error {
	held, err := dir.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(held.Sync(), held.Close())
}

// Metadata says whose child it is.
type Metadata struct {
	SubagentID    string `json:"subagent_id"`
	ParentAgentID string `json:"parent_agent_id"`
	CreatedAt     string `json:"created_at"`
	WorkspacePath string `json:"workspace_path"`
}

// SaveMetadata writes a child's metadata.
func (t *Tree) SaveMetadata(id delegation.SubagentID, metadata Metadata) error {
	dir, err := t.child(id)
	if err != nil {
		return err
	}
	defer dir.Close()
	metadata.SubagentID = id.String()
	return save(dir, metadataName, metadata)
}

// LinkLiveLogs makes the link live_logs of a child to where it writes its logs, before the child starts. The link is for MassGen's
// screens: nothing of Torno follows it. Where there is another link it is replaced, and anything else stays and is an error.
func (t *Tree) LinkLiveLogs(id delegation.SubagentID, workspace string) error {
	if !filepath.IsAbs(workspace) {
		return fmt.Errorf("the workspace %s is not absolute", workspace)
	}
	dir, err := t.child(id)
	if err != nil {
		return err
	}
	defer dir.Close()
	target := filepath.Join(workspace, ".massgen", "massgen_logs")
	if there, err := dir.Lstat(liveLogs); err == nil {
		if there.Mode().Type() != fs.ModeSymlink {
			return fmt.Errorf("%s of %s is %s and no link; move it away", liveLogs, id, beneath.Describe(there.Mode()))
		}
		if old, err := dir.Readlink(liveLogs); err == nil && old == target {
			return nil
		}
		if err := dir.Remove(liveLogs); err != nil {
			return err
		}
	}
	return dir.Symlink(target, liveLogs)
}
