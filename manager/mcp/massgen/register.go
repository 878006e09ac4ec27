package massgen

import (
	"os"

	"torno/delegation"
	mg "torno/manager/massgen"
	"torno/manager/massgen/layout"
	"torno/manager/massgen/profile"
	"torno/manager/mcp"
)

// register writes MassGen's records of a child before the child is asked for, so that no child is ever without its
// entry.
func (h *home) register(o *order) error {
	return h.withTree(func(workspace *os.Root, tree *layout.Tree) error {
		if err := saveProfiles(workspace, o.terms.types); err != nil { // for MassGen's own server
			o.warnings = append(o.warnings, mcp.Words("the kinds of subagents were not written: "+err.Error()))
		}
		entry := layout.Entry{
			SubagentID: o.ID, Task: o.task.Task, Status: mg.StatusRunning, Workspace: o.workspace, CreatedAt: stamp(o.began), SourceAgent: h.settings.AgentID,
		}
		err := tree.Update(func(r *layout.Registry) {
			r.ParentAgentID, r.OrchestratorID = h.settings.AgentID, h.settings.OrchestratorID
			if old := r.Find(o.ID); old != nil {
				kept := *old
				o.old = &kept
			}
			if o.old != nil && o.terms.continued {
				entry.CreatedAt, entry.SessionID, entry.LastContinuedAt = o.old.CreatedAt, o.old.SessionID, stamp(o.began)
			}
			r.Put(entry)
		})
		if err != nil {
			return err
		}
		if o.old != nil && o.old.Workspace != o.workspace {
			o.warnings = append(o.warnings, "It works in another workspace than before.")
		}
		if err := tree.SaveMetadata(o.id, layout.Metadata{ParentAgentID: h.settings.AgentID, CreatedAt: entry.CreatedAt, WorkspacePath: o.workspace}); err != nil {
			return err
		}
		if !o.own {
			if err := tree.LinkWorkspace(o.id, o.workspace); err != nil {
				o.warnings = append(o.warnings, mcp.Words("nothing in your workspace leads to its own: "+err.Error()))
			}
		}
		return h.linkLogs(o.id, o.workspace)
	})
}

// unregister notes that the child could not be asked for. It restores the entry of an earlier run, and marks a new
// entry as failed.
func (h *home) unregister(o *order) error {
	return h.update(func(r *layout.Registry) {
		entry := r.Find(o.ID)
		switch {
		case entry == nil:
		case o.old != nil:
			*entry = *o.old
		default:
			entry.Status = mg.StatusFailed
		}
	})
}

// keepTask keeps the whole task, because the registry has only its beginning.
func (h *home) keepTask(o *order) error {
	return h.withTree(func(_ *os.Root, tree *layout.Tree) error { return tree.SaveTask(o.id, o.task.Task) })
}

// saveProfiles writes the active kinds, and the example, to the place where MassGen's own server looks for them.
func saveProfiles(workspace *os.Root, types []profile.Profile) error {
	if err := layout.SaveProfile(workspace, "_template", profile.Template()); err != nil {
		return err
	}
	for _, p := range types {
		if err := layout.SaveProfile(workspace, p.Name, p.Source); err != nil {
			return err
		}
	}
	return nil
}

// withLogs calls do with the logs of a child, if logs are kept.
func (h *home) withLogs(id delegation.SubagentID, do func(logs *os.Root) error) error {
	return h.withLogTree(func(tree *layout.Tree) error {
		logs, err := tree.Child(id)
		if err != nil {
			return err
		}
		defer logs.Close()
		return do(logs)
	})
}

// linkLogs makes a link to the place where the child will write its logs, before it starts.
func (h *home) linkLogs(id delegation.SubagentID, workspace string) error {
	return h.withLogTree(func(tree *layout.Tree) error { return tree.LinkLiveLogs(id, workspace) })
}

// withLogTree calls do with all logs, if logs are kept.
func (h *home) withLogTree(do func(*layout.Tree) error) error {
	if h.settings.Logs == "" {
		return nil
	}
	above, err := os.OpenRoot(h.settings.Logs)
	if err != nil {
		return err
	}
	defer above.Close()
	tree, err := layout.Open(above)
	if err != nil {
		return err
	}
	defer tree.Close()
	return do(tree)
}
