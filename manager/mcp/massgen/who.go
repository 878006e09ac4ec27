package massgen

import (
	"errors"

	"torno/delegation"
	"torno/manager"
	mg "torno/manager/massgen"
	"torno/manager/massgen/layout"
	"torno/manager/mcp"
)

// subject holds everything known about a child that a call names.
type subject struct {
	mg.Child
	entry layout.Entry
	child mcp.Child
	there bool // it is in the outbox, or its result was taken
}

// who looks a child up: in the outbox, in this parent's registry, and in the registries of its peers.
func (h *home) who(desk *yard, id string) (s subject, err error) {
	s.child, err = desk.Look(id)
	s.there = err == nil
	if err != nil && !errors.Is(err, manager.ErrNoRun) {
		return s, err
	}
	registry, err := h.registry()
	if err != nil && s.there && !s.child.Ended() {
		s.Known, s.State = h.of(s.child).request != "", mg.StatusRunning // so it can be ended, whatever the file says
		return s, nil
	}
	if err != nil {
		return s, err
	}
	entry := registry.Find(id)
	if entry == nil {
		for _, one := range h.peers() {
			if one.SubagentID == id {
				entry = &one
			}
		}
	}
	s.Known = entry != nil || s.there && h.of(s.child).request != ""
	if entry != nil {
		s.entry, s.Recovery, s.State = *entry, entry.Continuable, known(entry.Status)
		s.Workspace, s.SessionID = pathOf(entry.Workspace), sessionOf(*entry)
	}
	s.There = h.hasWorkspace(desk, id)
	if !s.there {
		s.lost()
		return s, nil
	}
	s.Workspace = mcp.Words(s.child.Workspace)
	switch {
	case !s.child.Ended():
		s.State, s.Background = mg.StatusRunning, !h.of(s.child).blocking
	case s.State == mg.StatusRunning || s.State == "":
		s.State = endState(s.child)
	}
	return s, nil
}

// hasWorkspace reports whether a child's workspace is there, in the outbox or where MassGen puts it. It outlives every
// record of the run.
func (h *home) hasWorkspace(desk *yard, id string) bool {
	if root, _, err := desk.OpenWorkspace(id); err == nil {
		root.Close()
		return true
	}
	subagent, err := delegation.ParseSubagentID(id)
	if err != nil {
		return false
	}
	there := false
	err = h.withExisting(func(tree *layout.Tree) error { there = tree.HasWorkspace(subagent); return nil })
	return err == nil && there
}

// lost marks a child as failed if only a registry mentions it and says that it has not ended.
func (s *subject) lost() {
	if s.Known && !s.State.Terminal() {
		s.State = mg.StatusFailed
	}
}

// endState returns the state of a child that has ended, judged by its response alone.
func endState(child mcp.Child) mg.Status {
	switch {
	case child.Status == "completed" && child.ExitCode == 0:
		return mg.StatusCompleted
	case child.Status == "timeout":
		return mg.StatusTimeout
	case child.Status == "cancelled":
		return mg.StatusCancelled
	}
	return mg.StatusFailed
}
