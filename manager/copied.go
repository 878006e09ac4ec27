package manager

import (
	"os"
	"path/filepath"
	"slices"

	"torno/delegation"
	"torno/internal/beneath"
)

// works says where a child works whose request names a workspace: there, or in a copy of it, if its profile gives each child one and the
// host has made it. "" is the first profile.
func (m *Manager) works(id delegation.SubagentID, workspace, profile string) string {
	own := filepath.Join(m.Outbox(), Workspaces, id.String())
	if workspace == own || !m.hasBase(id) {
		return workspace
	}
	beat, err := m.heartbeat()
	if err != nil {
		return own // no watcher serves that could tell of the profile; the base is there because a copy was made
	}
	offered := slices.IndexFunc(beat.Profiles, func(p delegation.ProfileOffer) bool { return profile == "" || p.Name == profile })
	if offered >= 0 && beat.Profiles[offered].Workspace != delegation.WorkspaceCopy {
		return workspace
	}
	return own
}

// hasBase says whether the host has kept what it gave a child.
func (m *Manager) hasBase(id delegation.SubagentID) bool {
	root, err := m.root()
	if err != nil {
		return false
	}
	defer root.Close()
	info, err := root.Lstat(filepath.Join(Workspaces, delegation.BasePrefix+id.String()))
	return err == nil && info.IsDir()
}

// OpenBase opens what the host has copied into a child's workspace, as it was then. The error is fs.ErrNotExist where the host made no copy.
func (m *Manager) OpenBase(id string) (*os.Root, error) {
	subagent, err := delegation.ParseSubagentID(id)
	if err != nil {
		return nil, refuse(delegation.CodeBadID, "subagent_id", "%v", err)
	}
	root, err := m.root()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return beneath.Dir(root, filepath.Join(Workspaces, delegation.BasePrefix+subagent.String()))
}

// OriginOf is the directory of which a child has a copy: what its last request names; "" where that is not known.
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

// AnswerOf is where in its workspace the answer of a subagent comes to lie; "" for none.
func (m *Manager) AnswerOf(id string) string {
	if run, err := m.Attach(id); err == nil {
		return run.answer
	}
	return "answer.txt"
}
