package main

import (
	"context"
	"fmt"
	"os"

	"torno/internal/cli"
	"torno/manager"
	"torno/manager/patch"
)

// pickOptions say which part of a workspace the command is about.
type pickOptions struct {
	without []string
	ignored bool
}

func (p *pickOptions) option() cli.Option {
	return cli.Option{Name: "without", Value: "PATH", Help: "leave out this path and everything below it; may be repeated", Set: cli.List(&p.without)}
}

func (p *pickOptions) ignoredOption() cli.Option {
	return cli.Option{Name: "ignored", Help: "also take files that git ignores in the directory that was copied", Set: cli.On(&p.ignored)}
}

func (c *app) diffCommand() cli.Command {
	var pick pickOptions
	return cli.Command{
		Name: "diff", Operands: "ID [PATH…]", Brief: "show the changes that a child made in its copy",
		About: `
Compares the child's workspace with the files that --copy put there, and prints a unified diff that git apply and patch -p1
read. PATHs are relative to the workspace. On standard error diff names the files that apply would refuse, and the files that
may run by themselves. With --json it prints one object for each change, with size, mode and digest, and no content. It passes
by git directories, and files that git ignores in the directory that was copied, unless a PATH names them. It does not show
again the changes that were applied already.`,
		Examples: []string{"subagent diff fix", "subagent diff fix src --without src/vendor", "subagent diff --json fix"},
		Options:  []cli.Option{pick.option(), pick.ignoredOption()},
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			return c.withWork(ctx, args.All(), pick, func(_ *manager.Manager, work *patch.Work) (int, error) {
				if c.JSON {
					return c.listChanges(work)
				}
				return c.showChanges(work)
			})
		},
	}
}

// withWork finds the changes that a child has made, and calls do with them. The operands are the child's ID and paths
// in its workspace.
func (c *app) withWork(ctx context.Context, operands []string, pick pickOptions, do func(*manager.Manager, *patch.Work) (int, error)) (int, error) {
	return c.withWorkspace(operands, pick, func(m *manager.Manager, in place) (code int, err error) {
		store, err := c.store(m)
		if err != nil {
			return 0, err
		}
		defer store.Close()
		if err := store.NoteGiven(ctx, m, in.id, in.path, in.root); err != nil {
			return 0, err
		}
		base, err := store.Base(in.id)
		if err != nil {
			return 0, err
		}
		if base.Workspace != in.path {
			return 0, fmt.Errorf("%s works in %s, which is not the copy: %w", in.id, in.path, patch.ErrNoBase)
		}
		work, err := store.Take(ctx, in.id, in.root, in.pick)
		if err != nil {
			return 0, err
		}
		defer work.Close()
		for _, path := range work.Nowhere(in.pick) {
			c.Warn(fmt.Sprintf("there is and was nothing at %q", path))
		}
		if err := c.tellIgnored(work.Ignored); err != nil {
			return 0, err
		}
		return do(m, work)
	})
}

// tellIgnored names the paths that were skipped because git ignores them.
func (c *app) tellIgnored(paths []string) error {
	if !c.JSON {
		if len(paths) > 0 {
			c.Say("skipped, because git ignores it: %s (--ignored takes it in)", patch.Named(paths, maxNamed))
		}
		return nil
	}
	for _, p := range paths {
		if err := c.Out.Object(passedBy{Path: p, PassedBy: "git ignores it"}); err != nil {
			return err
		}
	}
	return nil
}

// passedBy is the --json output for a path that was skipped.
type passedBy struct {
	Path     string `json:"path"`
	PassedBy string `json:"passed_by"`
}

// place is a part of a child's workspace.
type place struct {
	id, path string
	root     *os.Root
	pick     patch.Selection
}

// withWorkspace opens the workspace of the child that the first operand names.
func (c *app) withWorkspace(operands []string, pick pickOptions, do func(*manager.Manager, place) (int, error)) (int, error) {
	if len(operands) == 0 {
		return 0, cli.Usage("which subagent? an id is missing")
	}
	selection, err := patch.Select(operands[1:], pick.without)
	if err != nil {
		return 0, cli.Usage("%v", err)
	}
	selection.Ignored = pick.ignored
	m, err := c.open()
	if err != nil {
		return 0, err
	}
	defer m.Close()
	root, path, err := m.OpenWorkspace(operands[0])
	if err != nil {
		return 0, err
	}
	defer root.Close()
	return do(m, place{operands[0], path, root, selection})
}

// showChanges prints the differences, and then warns of the changes that need attention.
func (c *app) showChanges(work *patch.Work) (int, error) {
	left, err := work.Show(foreign{c.Out})
	if err != nil {
		return 0, err
	}
	if left > 0 {
		c.Warn(fmt.Sprintf("%s not shown: name their paths, or use --json", counted(int64(left), "change")))
	}
	c.sayChanges(work)
	return exitCompleted, nil
}

// foreign passes text from a stranger to an Output.
type foreign struct{ to *cli.Output }

func (f foreign) Write(p []byte) (int, error) {
	f.to.Foreign(p)
	return len(p), f.to.Err()
}

// maxNamed bounds how many paths of a kind standard error names.
const maxNamed = 20

// sayChanges counts the changes. It names the files that apply would refuse, and the files that run by themselves.
func (c *app) sayChanges(work *patch.Work) {
	counts := map[string]int64{}
	var refused, running []string
	for i := range work.Changes {
		change := &work.Changes[i]
		counts[change.What()]++
		if change.Refused != "" {
			refused = append(refused, fmt.Sprintf("%q: %s", change.Path, change.Refused))
		} else if change.RunsByItself != "" {
			running = append(running, fmt.Sprintf("%q: %s", change.Path, change.RunsByItself))
		}
	}
	c.Say("%d changed, %d added, %d deleted", counts["changed"], counts["added"], counts["deleted"])
	c.nameAll("would be refused: ", refused)
	c.nameAll("runs by itself: ", running)
	if work.Git > 0 {
		c.Say("passed by: %s", counted(work.Git, "git directory"))
	}
}

// nameEach prints a line for each text, up to maxNamed, and then how many more there are.
func (c *app) nameEach(label string, all []string) {
	for i, text := range all {
		if i == maxNamed {
			c.Warn(fmt.Sprintf("%s%d more", label, len(all)-i))
			return
		}
		c.Warn(label + text)
	}
}

// nameAll prints a line for each text, without a bound. A child chooses its file names. With a bound it could hide the
// dangerous name behind harmless ones.
func (c *app) nameAll(label string, all []string) {
	for _, text := range all {
		c.Warn(label + text)
	}
}

// changed is the --json output for a change.
type changed struct {
	Path         string `json:"path"`
	Change       string `json:"change"`
	Before       *facts `json:"before,omitempty"`
	After        *facts `json:"after,omitempty"`
	Refused      string `json:"refused,omitempty"`
	RunsByItself string `json:"runs_by_itself,omitempty"`
}

// facts describes a file in the output of --json.
type facts struct {
	Kind   patch.Kind `json:"kind"`
	Mode   string     `json:"mode"`
	Size   int64      `json:"size"`
	Digest string     `json:"digest,omitempty"`
	Target string     `json:"target,omitempty"`
}

func factsOf(e *patch.Entry) *facts {
	if e == nil {
		return nil
	}
	return &facts{Kind: e.Kind, Mode: e.Mode(), Size: e.Size, Digest: e.Digest, Target: e.Target}
}

func changedOf(c *patch.Change) changed {
	return changed{c.Path, c.What(), factsOf(c.Before), factsOf(c.After), c.Refused, c.RunsByItself}
}

func (c *app) listChanges(work *patch.Work) (int, error) {
	for i := range work.Changes {
		if err := c.Out.Object(changedOf(&work.Changes[i])); err != nil {
			return 0, err
		}
	}
	return exitCompleted, nil
}
