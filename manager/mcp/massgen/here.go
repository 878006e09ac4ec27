package massgen

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"torno/manager/massgen/inherit"
	"torno/manager/massgen/layout"
	"torno/manager/massgen/modes"
	"torno/manager/mcp"
)

// Children outside a sandbox are processes of this server. They exist only if the settings name the mode inherited, a
// fallback or a prefix, and no watcher serves. They end with the server. The server keeps all facts about them in its
// memory, and each of their results says that they ran outside a sandbox.

// local is a child outside a sandbox.
type local struct {
	process *inherit.Process
	request string
	task    string
	work    string // its workspace
	timeout time.Duration
}

// orderHere starts a child as a process of this server.
func (h *home) orderHere(ctx context.Context, desk *yard, o *order, way modes.Way) error {
	if err := desk.Allowed(ctx); err != nil {
		return err
	}
	if err := h.checkWorkspace(o); err != nil {
		return err
	}
	o.here, o.own, o.workspace, o.statusFile = true, true, layout.WorkspacePath(h.settings.Workspace, o.id), h.statusFile(o.id)
	o.warnings = append(o.warnings, way.Warning)
	o.ID, o.outbox, o.Timeout = o.id.String(), desk.Outbox(), time.Duration(o.timeout)*time.Second
	for _, prepare := range []func(context.Context, *order) error{h.readable, h.prompt, h.team, h.furnish} {
		if err := prepare(ctx, o); err != nil {
			return err
		}
	}
	if err := h.register(o); err != nil {
		return err
	}
	if err := h.launch(o, way.Prefix); err != nil {
		return fmt.Errorf("start it outside a sandbox: %w", errors.Join(err, h.unregister(o)))
	}
	if err := h.keepTask(o); err != nil {
		o.warnings = append(o.warnings, mcp.Words("the whole task was not kept, so continue_subagent has its beginning alone: "+err.Error()))
	}
	h.remember(o.ID, o.kid)
	return nil
}

// checkWorkspace fails if a child in a sandbox could write into the workspace: uv would run the programs of a project that
// it left there as the parent.
func (h *home) checkWorkspace(o *order) error {
	return h.withTree(func(_ *os.Root, tree *layout.Tree) error {
		had, err := tree.HadSandbox(o.id)
		if had {
			err = fmt.Errorf("%s may have written into its workspace in a sandbox, so it cannot go on outside one; next: choose another subagent_id, or try again when a watcher serves", o.id)
		}
		return err
	})
}

// launch starts MassGen in the child's workspace, as MassGen's own server does. There are two differences: the task
// stands after "--", and references in it are not followed.
func (h *home) launch(o *order, prefix []string) error {
	err := h.withTree(func(_ *os.Root, tree *layout.Tree) error {
		work, err := tree.Workspace(o.id)
		if err != nil {
			return err
		}
		defer work.Close()
		if err := work.Remove("answer.txt"); err != nil && !os.IsNotExist(err) {
			return err // an earlier answer would pass for this run's
		}
		return nil
	})
	if err != nil {
		return err
	}
	argv := append(slices.Clone(prefix), "uv", "run", "massgen", "--config", filepath.Join(o.workspace, o.config()), "--automation", "--no-parse-at-references",
		"--output-file", filepath.Join(o.workspace, "answer.txt"), "--", o.Text)
	h.mu.Lock()
	defer h.mu.Unlock()
	running := 0
	for _, l := range h.locals {
		if !l.ended() {
			running++
		}
	}
	if running >= h.settings.MaxConcurrent {
		return fmt.Errorf("%d subagents run outside a sandbox, which is as many as may; wait for one of them", running)
	}
	process, err := inherit.Start(inherit.Command{Argv: argv, Dir: o.workspace, Timeout: o.Timeout})
	if err != nil {
		return err
	}
	o.request = newRequest()
	if len(h.locals) >= maxRemembered { // few of them still run
		maps.DeleteFunc(h.locals, func(_ string, l *local) bool { return l.ended() })
	}
	h.locals[o.ID] = &local{process, o.request, o.kid.task, o.workspace, o.Timeout}
	return nil
}

func newRequest() string {
	var random [16]byte
	rand.Read(random[:]) // never fails
	return hex.EncodeToString(random[:])
}

func (l *local) ended() bool {
	select {
	case <-l.process.Done():
		return true
	default:
		return false
	}
}

// endAll ends the children outside a sandbox, because they end with the server. It waits until they are gone.
func (h *home) endAll() {
	h.mu.Lock()
	all := make([]*local, 0, len(h.locals))
	for _, l := range h.locals {
		all = append(all, l)
	}
	h.mu.Unlock()
	for _, l := range all {
		l.process.Cancel()
	}
	for _, l := range all {
		<-l.process.Done()
	}
}

// forgetLocal drops a child that has ended and goes on in a sandbox.
func (h *home) forgetLocal(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.locals, id)
}

// localOf returns the child outside a sandbox with this name, or nil.
func (h *home) localOf(id string) *local {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.locals[id]
}
