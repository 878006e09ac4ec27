package manager

import (
	"os"
	"path/filepath"

	"torno/delegation"
	"torno/internal/beneath"
)

// works returns the directory in which a child works. That is the workspace that its request names, or a copy of it if
// the child's profile gives each child a copy and the host has made one. An empty profile means the first profile.
func (m *Manager) works(id delegation.SubagentID, workspace, profile string) string {
	own := filepath.Join(m.Outbox(), Workspaces, id.String())
	if workspace == own || !m.hasBase(id) {
		return workspace
	}
	beat, err := m.heartbeat()
	if err != nil {
		return own // no watcher serves, so the profile is unknown; the base exists because a copy was made
	}
	if offer, ok := offered(beat, profile); ok && offer.Workspace != delegation.WorkspaceCopy {
		return workspace
	}
	return own
}

// hasBase reports whether the host has kept a record of what it gave a child.
func (m *Manager) hasBase(id delegation.SubagentID) bool {
	root, err := m.root()
	if err != nil {
		return false
	}
	defer root.Close()
	info, err := root.Lstat(filepath.Join(Workspaces, delegation.BasePrefix+id.String()))
	return err == nil && info.IsDir()
}

// OpenBase opens the host's record of the files that it copied into a child's workspace, in their state at that time.
// The error is fs.ErrNotExist if the host made no copy.
func (m *Manager) OpenBase(id string) (*os.Root, error) {
	subagent, err := parseID(id)
	if err != nil {
		return nil, err
	}
	root, err := m.root()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return beneath.Dir(root, filepath.Join(Workspaces, delegation.BasePrefix+subagent.String()))
}

// OriginOf returns the directory that was copied for a child, which its last request names. It returns "" if that is
// not known.
func (m *Manager) OriginOf(id string) string {
	run, err := m.Attach(id)
	if err == nil {
		return run.asked
	}
	if taken, err := m.Taken(id); err == nil {
		return taken.Original
	}
	return ""
}

// AnswerOf returns where in its workspace a subagent puts its answer, or "" for no answer.
func (m *Manager) AnswerOf(id string) string {
	if run, err := m.Attach(id); err == nil {
		return run.answer
	}
	return "answer.txt"
}
