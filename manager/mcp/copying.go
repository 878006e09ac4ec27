package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"torno/manager"
	"torno/manager/patch"
)

// copier returns a function that copies a directory to a new workspace. The function records in one how much it copied
// and which paths it left out. With ignored it also copies the files that git ignores.
func (s *Server) copier(dir string, ignored bool, one *started) func(context.Context, manager.NewWorkspace) error {
	return func(ctx context.Context, w manager.NewWorkspace) error {
		origin, err := filepath.Abs(dir)
		if err != nil {
			return err
		}
		store, err := s.store()
		if err != nil {
			return err
		}
		defer store.Close()
		to := patch.Destination{Subagent: w.SubagentID, Path: w.Path, Answer: w.Answer, Root: w.Root, UID: w.UID, GID: w.GID}
		how := patch.DefaultHow
		how.Ignored = ignored
		report, err := store.Copy(ctx, origin, to, how)
		if err != nil {
			return err
		}
		one.Copied = words(fmt.Sprintf("a copy of %s: %d files, %d bytes", origin, report.Files, report.Bytes))
		if missing := report.Repository.Missing; missing != "" {
			one.Warnings = append(one.Warnings, words("the copy has no git repository: "+missing))
		}
		if len(report.Ignored) > 0 {
			one.Copied = words(one.Copied + "; left out, because git ignores it: " + patch.Named(report.Ignored, maxNamed))
		}
		if report.Git > 0 {
			one.Warnings = append(one.Warnings, fmt.Sprintf("git directories are not copied: %d", report.Git))
		}
		for i, left := range report.Left {
			if i == maxNamed {
				break
			}
			one.Warnings = append(one.Warnings, words(fmt.Sprintf("left out: %q: %s", left.Path, left.Why)))
		}
		if more := report.LeftCount - int64(min(len(report.Left), maxNamed)); more > 0 {
			one.Warnings = append(one.Warnings, fmt.Sprintf("left out: %d more", more))
		}
		return nil
	}
}

// maxNamed bounds how many omitted paths of a copy are named.
const maxNamed = 10

// store opens the place where the client keeps its record of the files given to children.
func (s *Server) store() (*patch.Store, error) {
	state, err := patch.StateDir(s.env)
	if err != nil {
		return nil, err
	}
	return patch.OpenStore(state, s.m.Outbox())
}

// forget drops everything known about an earlier workspace of a child that has a new one.
func (s *Server) forget(id string) error {
	state, err := patch.StateDir(s.env)
	if err != nil {
		return nil //nolint:nilerr // without a state directory there is nothing to forget
	}
	return patch.Forget(state, s.m.Outbox(), id)
}

// checkAnswer refuses the path of an answer if the child goes on in a copy that has something else there.
func (s *Server) checkAnswer(id, answer string, workspace *os.Root) error {
	state, err := patch.StateDir(s.env)
	if err != nil {
		return nil //nolint:nilerr // without a state directory there is no base either
	}
	return patch.CheckAnswer(state, s.m.Outbox(), id, answer, workspace)
}

// keepAsked records the child's request, for diff and apply.
func (s *Server) keepAsked(run *manager.Run) error {
	state, err := patch.StateDir(s.env)
	if err != nil {
		return nil //nolint:nilerr // without a state directory there is no base either
	}
	return patch.Asked(state, s.m.Outbox(), run.ID(), run.RequestID(), run.AnswerFile())
}

// withWork finds the changes that a child has made in its copy, and calls do with them.
func (s *Server) withWork(ctx context.Context, id string, pick patch.Selection, do func(*patch.Work) (answer, error)) (answer, error) {
	root, path, err := s.m.OpenWorkspace(id)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	store, err := s.store()
	if err != nil {
		return nil, err
	}
	defer store.Close()
	if err := store.NoteGiven(ctx, s.m, id, path, root); err != nil {
		return nil, err
	}
	base, err := store.Base(id)
	if err != nil {
		return nil, err
	}
	if base.Workspace != path {
		return nil, fmt.Errorf("%s works in %s, which is not the copy: %w", id, path, patch.ErrNoBase)
	}
	work, err := store.Take(ctx, id, root, pick)
	if err != nil {
		return nil, &strange{errors.Join(err, tooLate(ctx))}
	}
	defer work.Close()
	if none := work.Nowhere(pick); len(none) > 0 {
		return nil, badArgument("paths", "the workspace has nothing at %s, and the copy had nothing there", words(strings.Join(none, ", ")))
	}
	a, err := do(work)
	if err != nil {
		err = &strange{err}
	}
	return a, err
}

// selection parses the paths of a call.
func selection(paths, without []string, ignored bool) (patch.Selection, error) {
	pick, err := patch.Select(paths, without)
	pick.Ignored = ignored
	if err != nil {
		return pick, badArgument("paths", "%s", words(err.Error()))
	}
	return pick, nil
}
