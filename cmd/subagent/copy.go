package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"torno/internal/cli"
	"torno/manager"
	"torno/manager/patch"
)

// copyOptions say which directory a new workspace copies, and how.
type copyOptions struct {
	dir string
	mib int64
	how patch.How
}

// historyOption accepts a number of commits, all or none.
func historyOption(to *patch.History) func(string) error {
	return func(s string) error {
		switch s {
		case "all":
			*to = patch.AllHistory
			return nil
		case "none":
			*to = patch.NoHistory
			return nil
		}
		var n int
		if err := cli.Number(&n)(s); err != nil || n > 1<<30 {
			return errors.New("must be a number of commits, all or none")
		}
		*to = patch.History(n)
		return nil
	}
}

// copier returns a function that fills a new workspace with a copy.
func (c *app) copier(m *manager.Manager, from copyOptions, workspace string) (func(context.Context, manager.NewWorkspace) error, error) {
	if workspace != "" {
		return nil, cli.Usage("--copy makes a new workspace: leave --workspace out")
	}
	origin, err := filepath.Abs(from.dir)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(origin); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil, cli.Usage("--copy: there is no directory %s", origin)
	}
	if from.mib > 0 {
		from.how.Bytes = from.mib << 20
	}
	return func(ctx context.Context, w manager.NewWorkspace) error {
		store, err := c.store(m)
		if err != nil {
			return err
		}
		defer store.Close()
		to := patch.Destination{Subagent: w.SubagentID, Path: w.Path, Answer: w.Answer, Root: w.Root, UID: w.UID, GID: w.GID}
		report, err := store.Copy(ctx, origin, to, from.how)
		if err == nil {
			c.sayCopied(report)
		}
		if errors.Is(err, patch.ErrTooMuch) {
			return cli.Hint(err, "--copy-files and --copy-mib allow more; or copy a smaller directory")
		}
		return err
	}, nil
}

// store opens the place where the client keeps its record of the files given to children.
func (c *app) store(m *manager.Manager) (*patch.Store, error) {
	state, err := patch.StateDir(c.Env)
	if err != nil {
		return nil, err
	}
	return patch.OpenStore(state, m.Outbox())
}

// forget drops everything known about an earlier workspace of the child.
func (c *app) forget(m *manager.Manager, id string) error {
	state, err := patch.StateDir(c.Env)
	if err != nil {
		return nil //nolint:nilerr // without a state directory there is nothing to forget
	}
	return patch.Forget(state, m.Outbox(), id)
}

// checkAnswer refuses the path of an answer if the child goes on in a copy that has something else there.
func (c *app) checkAnswer(m *manager.Manager, id, answer string, workspace *os.Root) error {
	state, err := patch.StateDir(c.Env)
	if err != nil {
		return nil //nolint:nilerr // without a state directory there is no record, and nothing is applied
	}
	return patch.CheckAnswer(state, m.Outbox(), id, answer, workspace)
}

// keepAsked records the child's request, for diff and apply. A failure is only a warning, because the request is already
// out.
func (c *app) keepAsked(m *manager.Manager, run *manager.Run) {
	state, err := patch.StateDir(c.Env)
	if err != nil {
		return // without a state directory there is no base either
	}
	if err := patch.Asked(state, m.Outbox(), run.ID(), run.RequestID(), run.AnswerFile()); err != nil {
		c.Warn(fmt.Sprintf("the child's request could not be recorded, so apply may ask for --unfinished, and may list the answer among the changes: %v", err))
	}
}

// own returns Torno's own directories. Nothing from a child may be written there. Without a state directory only the
// outbox counts.
func (c *app) own(m *manager.Manager) patch.Own {
	state, err := patch.StateDir(c.Env)
	if err != nil {
		state = ""
	}
	return patch.OwnOf(state, m.Outbox())
}

// sayCopied lists the contents of the copy, and the things that it leaves out.
func (c *app) sayCopied(r patch.Report) {
	how := ""
	if r.Cloned > 0 && r.Cloned == r.Files {
		how = ", which take no room of their own"
	}
	c.Say("copied %s of %s%s", counted(r.Files, "file"), sizeOf(r.Bytes), how)
	switch {
	case r.Repository.Missing != "":
		c.Warn("the copy has no git repository: " + cli.OneLine(r.Repository.Missing))
	case r.Repository.Branch != "":
		c.Say("its git repository has branch %s with %s", cli.OneLine(r.Repository.Branch), counted(int64(r.Repository.Commits), "commit"))
	}
	if len(r.Ignored) > 0 {
		c.Say("left out, because git ignores it: %s (--copy-ignored copies it)", patch.Named(r.Ignored, maxNamed))
	}
	if r.Git > 0 {
		c.Say("left out: %s", counted(r.Git, "git directory"))
	}
	for _, left := range r.Left {
		c.Warn(fmt.Sprintf("left out: %q: %s", left.Path, left.Why))
	}
	if more := r.LeftCount - int64(len(r.Left)); more > 0 {
		c.Warn(fmt.Sprintf("left out: %d more", more))
	}
}

// counted returns a number with its noun in the singular or plural.
func counted(n int64, thing string) string {
	switch {
	case n == 1:
		return "1 " + thing
	case thing[len(thing)-1] == 'y':
		return fmt.Sprintf("%d %sies", n, thing[:len(thing)-1])
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// sizeOf returns a size for people.
func sizeOf(bytes int64) string {
	switch {
	case bytes >= 10<<20:
		return fmt.Sprintf("%d MiB", bytes>>20)
	case bytes >= 10<<10:
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return counted(bytes, "byte")
}
