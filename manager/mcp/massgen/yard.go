package massgen

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"torno/delegation"
	"torno/internal/beneath"
	"torno/manager"
	"torno/manager/mcp"
)

// yard is the desk, extended by the children outside a sandbox. If a child outside and a child in the outbox have the
// same name, the child outside counts, because it is newer.
type yard struct {
	*mcp.Desk
	h *home
}

// child describes a child outside a sandbox in the same way as the outbox's children.
func (l *local) child(id string) mcp.Child {
	item := manager.Item{
		SubagentID: id, RequestID: l.request, State: delegation.StateRunning, Task: l.task, Workspace: l.work, Timeout: l.timeout,
		CreatedAt: l.process.Began, RunningSince: l.process.Began, Deadline: l.process.Began.Add(l.timeout),
	}
	if l.ended() {
		end := l.process.End()
		item.State, item.Reason, item.ExitCode, item.Status = delegation.StateEnded, end.Reason, end.ExitCode, end.Reason.Wire(end.ExitCode)
		item.StartedAt, item.CompletedAt = l.process.Began, end.At
	}
	return mcp.Child{Item: item}
}

// Look returns the state of one child.
func (y *yard) Look(id string) (mcp.Child, error) {
	if l := y.h.localOf(id); l != nil {
		return l.child(id), nil
	}
	return y.Desk.Look(id)
}

// List returns all children.
func (y *yard) List(ctx context.Context) (manager.Listing, error) {
	list, err := y.Desk.List(ctx)
	if err != nil {
		return list, err
	}
	list.Items = slices.Clone(list.Items) // others share this listing
	y.h.mu.Lock()
	defer y.h.mu.Unlock()
	for id, l := range y.h.locals {
		list.Items = slices.DeleteFunc(list.Items, func(item manager.Item) bool { return item.SubagentID == id })
		list.Items = append(list.Items, l.child(id).Item)
	}
	slices.SortFunc(list.Items, func(a, b manager.Item) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return list, nil
}

// Result returns how a child has ended.
func (y *yard) Result(child mcp.Child, answerMax int) (manager.Result, error) {
	l := y.h.localOf(child.SubagentID)
	if l == nil || l.request != child.RequestID {
		return y.Desk.Result(child, answerMax)
	}
	end := l.process.End()
	result := manager.Result{
		SubagentID: child.SubagentID, RequestID: l.request, Status: child.Status, Reason: end.Reason, ExitCode: end.ExitCode,
		StdoutTail: end.Stdout, StderrTail: end.Stderr, StartedAt: l.process.Began, CompletedAt: end.At, Workspace: l.work,
	}
	root, _, err := y.OpenWorkspace(child.SubagentID)
	if err != nil {
		return result, err
	}
	defer root.Close()
	data, more, err := beneath.ReadFile(root, "answer.txt", int64(answerMax))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		result.AnswerErr = err
	}
	result.Answer, result.AnswerTruncated, result.AnswerWhole = strings.ToValidUTF8(string(data), "\uFFFD"), more, filepath.Join(l.work, "answer.txt")
	return result, nil
}

// End waits until a child has ended.
func (y *yard) End(ctx context.Context, id string) error {
	l := y.h.localOf(id)
	if l == nil {
		return y.Desk.End(ctx, id)
	}
	select {
	case <-l.process.Done():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Cancel asks for the end of a child.
func (y *yard) Cancel(ctx context.Context, id string) error {
	l := y.h.localOf(id)
	if l == nil {
		return y.Desk.Cancel(ctx, id)
	}
	l.process.Cancel()
	return nil
}

// Told notes that a result goes out.
func (y *yard) Told(child mcp.Child) {
	if y.h.localOf(child.SubagentID) == nil {
		y.Desk.Told(child)
	}
}

// OpenWorkspace opens the workspace of a child.
func (y *yard) OpenWorkspace(id string) (*os.Root, string, error) {
	l := y.h.localOf(id)
	if l == nil {
		return y.Desk.OpenWorkspace(id)
	}
	parent, err := os.OpenRoot(filepath.Dir(l.work))
	if err != nil {
		return nil, l.work, fmt.Errorf("the workspace of %s: %w", id, err)
	}
	defer parent.Close()
	root, err := beneath.Step(parent, filepath.Base(l.work))
	return root, l.work, err
}
