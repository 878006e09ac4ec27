package layout

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"torno/delegation"
	"torno/internal/beneath"
	"torno/manager/massgen/carry"
)

// These are the names of the layout.
const (
	subagents    = "subagents"
	registryName = "_registry.json"
	statusName   = "_spawn_status.json"
	metadataName = "_metadata.json"
	liveLogs     = "live_logs"
	lockName     = "_registry.lock"
	taskName     = "_task.md"
	workspaceDir = "workspace"
)

// Tree is the directory "subagents" of a workspace or of MassGen's logs.
type Tree struct{ root *os.Root }

// Open opens the directory "subagents" below a directory, and makes it if it is missing.
func Open(above *os.Root) (*Tree, error) {
	root, err := enter(above, subagents)
	if err != nil {
		return nil, err
	}
	return &Tree{root}, nil
}

// OpenExisting opens like Open, but makes nothing. If the directory is missing, the error is fs.ErrNotExist.
func OpenExisting(above *os.Root) (*Tree, error) {
	root, err := beneath.Step(above, subagents)
	if err != nil {
		return nil, err
	}
	return &Tree{root}, nil
}

// Close closes the handle of the directory.
func (t *Tree) Close() error { return t.root.Close() }

// enter opens a directory. If it is missing, enter makes it and gives it to its parent's owner. It refuses a link.
func enter(parent *os.Root, name string) (*os.Root, error) {
	return carry.Enter(parent, name)
}

// Child opens the directory of a child, and makes it if it is missing.
func (t *Tree) Child(id delegation.SubagentID) (*os.Root, error) { return t.child(id) }

func (t *Tree) child(id delegation.SubagentID) (*os.Root, error) {
	if id.IsZero() {
		return nil, errors.New("a child without an id has no directory")
	}
	return enter(t.root, id.String())
}

// encode writes a value as MassGen does, with an indent of two.
func encode(value any) ([]byte, error) { return json.MarshalIndent(value, "", "  ") }

func save(dir *os.Root, name string, value any) error {
	data, err := encode(value)
	if err != nil {
		return err
	}
	return write(dir, name, data)
}

// Metadata says which parent a child belongs to.
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

// LinkLiveLogs makes the link live_logs of a child, before the child starts. It points to the place where the child
// will write its logs. The link is for MassGen's screens; Torno itself never follows it. LinkLiveLogs replaces another
// link. Anything else stays, and is an error.
func (t *Tree) LinkLiveLogs(id delegation.SubagentID, workspace string) error {
	if !filepath.IsAbs(workspace) {
		return fmt.Errorf("the workspace %s is not absolute", workspace)
	}
	return t.link(id, liveLogs, filepath.Join(workspace, ".massgen", "massgen_logs"))
}
