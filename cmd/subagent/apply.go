package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"torno/delegation"
	"torno/internal/cli"
	"torno/manager"
	"torno/manager/patch"
)

// These are the reasons why an apply is not done.
var (
	errConflict    = errors.New("some changes do not fit")
	errUnsafe      = errors.New("some changes are refused")
	errSelfRunning = errors.New("some of the files run by themselves")
	errDeletesMost = errors.New("most of the files that the child was given would be deleted")
	errUnfinished  = errors.New("the child is not done yet")
)

// applyOptions holds the flags of apply.
type applyOptions struct {
	to         string
	dry        bool
	autorun    bool
	deletions  bool
	allowed    []string // files that run by themselves, named one by one
	unfinished bool
}

func (c *app) applyCommand() cli.Command {
	var pick pickOptions
	var o applyOptions
	return cli.Command{
		Name: "apply", Operands: "ID [PATH…]", Brief: "take over the changes that a child made in its copy",
		About: `
Compares three sides: the files that --copy gave the child, the child's copy of them, and the directory today. apply takes
each change that only the child has made, deletions too. If both sides have changed different lines of a text, apply merges
them. Any other change on both sides is a conflict. apply writes nothing unless everything fits. It always refuses links that
lead out, set-id files, devices and the like, and names with invisible characters or that some file system takes for another name.

Some files may run by themselves: executables, links, names that begin with a dot, files that programs are known to read (CI,
build files, settings of editors and agents), and everything in git's directories of hooks. apply writes them only with --allow PATH
for each file, with --allow-autorun for all, or if a person at a terminal agrees. It never touches git directories. It passes by
files that git ignores in the directory, unless a PATH names them. After a crash, give the same command again: it goes on.`,
		Examples: []string{"subagent apply fix --dry-run", "subagent apply fix src docs --without docs/draft.md"},
		Options: []cli.Option{
			{Name: "to", Value: "DIR", Help: "the directory to write to; by default the directory that was copied", Set: cli.Text(&o.to)},
			{Name: "dry-run", Help: "only say what apply would do", Set: cli.On(&o.dry)},
			{Name: "allow", Value: "PATH", Help: "write this file too, although it may run by itself; may be repeated", Set: cli.List(&o.allowed)},
			{Name: "allow-autorun", Help: "write all files that may run by themselves, too", Set: cli.On(&o.autorun)},
			{Name: "allow-deletions", Help: "apply even if it deletes most of the files", Set: cli.On(&o.deletions)},
			{Name: "unfinished", Help: "apply even while the child is still at work", Set: cli.On(&o.unfinished)},
			pick.option(), pick.ignoredOption(),
		},
		Run: func(ctx context.Context, args cli.Args) (int, error) {
			operands := args.All()
			if err := c.checkEnded(operands, pick, o); err != nil {
				return 0, err
			}
			return c.withWork(ctx, operands, pick, func(m *manager.Manager, work *patch.Work) (int, error) {
				if err := o.wantEnded(m, operands[0], endOf(work)); err != nil {
					return 0, err
				}
				return c.apply(ctx, m, work, o)
			})
		},
	}
}

// checkEnded makes sure that the child has ended before anything of its work is read. wantEnded checks once more after
// the read, because a child that ends in between was still at work during the read.
func (c *app) checkEnded(operands []string, pick pickOptions, o applyOptions) error {
	_, err := c.withWorkspace(operands, pick, func(m *manager.Manager, in place) (int, error) {
		return 0, o.wantEnded(m, in.id, func(manager.Result) bool { return true })
	})
	return err
}

// endOf returns a function that reports whether a taken result belongs to the child's last run in its copy.
func endOf(work *patch.Work) func(manager.Result) bool {
	last := work.Base.LastAsked()
	return func(r manager.Result) bool {
		return r.TakenAt.After(work.Base.MadeAt) && (last == "" || r.RequestID == last)
	}
}

// wantEnded fails unless the child's response is there or was taken. A withdrawn request proves nothing: its child may
// still be at work.
func (o applyOptions) wantEnded(m *manager.Manager, id string, isLast func(manager.Result) bool) error {
	if o.unfinished || o.dry {
		return nil
	}
	if item, asked := m.Find(id); asked {
		if item.State == delegation.StateEnded {
			return nil
		}
		return fmt.Errorf("%s: %w", id, errUnfinished)
	}
	if taken, err := m.Taken(id); err == nil && isLast(taken) {
		return nil
	}
	return fmt.Errorf("%s: %w, as far as is known: it has no request in the outbox, and no result of it was kept", id, errUnfinished)
}

func (c *app) apply(ctx context.Context, m *manager.Manager, work *patch.Work, o applyOptions) (int, error) {
	dir, err := filepath.Abs(cmp.Or(o.to, work.Base.Origin))
	if err != nil {
		return 0, err
	}
	open := work.Origin
	if o.to != "" {
		open = func() (*os.Root, error) { return patch.OpenDirectory(m.Outbox(), dir) }
	}
	root, err := open()
	if err != nil {
		return 0, fmt.Errorf("open the directory to write to: %w", err)
	}
	defer root.Close()
	if !o.dry {
		cut, err := work.Interrupted(ctx, dir, root)
		if err := errors.Join(c.tellInterrupted(cut), err); err != nil {
			return 0, err
		}
	}
	plan, err := work.Plan(ctx, dir, root)
	if err != nil {
		return 0, err
	}
	err = c.judge(plan, o)
	if o.dry && (err == nil || errors.Is(err, errSelfRunning) || errors.Is(err, errDeletesMost)) {
		_, listing := c.listSteps(plan, len(plan.Steps), "would write", dir)
		return exitCompleted, errors.Join(err, listing)
	}
	if err != nil {
		return 0, err
	}
	done, err := plan.Apply(ctx)
	if err != nil {
		_, listing := c.listSteps(plan, done, "wrote only", dir)
		return 0, cli.Hint(errors.Join(err, listing), "give the same command again: it goes on where this one ended")
	}
	return c.listSteps(plan, done, "wrote", dir)
}

// tellInterrupted says that an apply did not end. It names each file that the parent had saved meanwhile.
func (c *app) tellInterrupted(cut *patch.Marker) error {
	if cut == nil {
		return nil
	}
	c.Say("an apply to %s that began at %s did not end; the changes that it wrote count", cut.Dir, cut.BeganAt.Format(time.RFC3339))
	c.nameAll("put back: ", troubleLines(cut.PutBack))
	c.nameAll("kept: ", troubleLines(cut.Kept))
	if !c.JSON {
		return nil
	}
	var all error
	for _, t := range cut.PutBack {
		all = errors.Join(all, c.Out.Object(applied{Path: t.Path, PutBack: t.Why}))
	}
	for _, t := range cut.Kept {
		all = errors.Join(all, c.Out.Object(applied{Path: t.Path, Kept: t.Why}))
	}
	return all
}

// judge returns an error if something keeps the plan from being carried out.
func (c *app) judge(plan *patch.Plan, o applyOptions) error {
	asked := o.notAllowed(plan.Running)
	if c.JSON {
		if err := c.listTroubles(plan, asked); err != nil {
			return err
		}
	}
	c.warnOfHooks(plan.HooksUnknown)
	for _, named := range o.allowed {
		writes := func(s patch.Step) bool {
			return s.Change.Path == path.Clean(named) && s.After != nil && s.After.Kind != patch.Directory
		}
		if !slices.ContainsFunc(plan.Steps, writes) {
			c.Warn(fmt.Sprintf("--allow %s names none of the files that would be written", named))
		}
	}
	c.nameAll("refused: ", troubleLines(plan.Refused))
	c.nameEach("conflict: ", troubleLines(plan.Conflicts))
	if len(plan.Refused) > 0 {
		return fmt.Errorf("%w, so nothing was written: %d", errUnsafe, len(plan.Refused))
	}
	if len(plan.Conflicts) > 0 {
		return fmt.Errorf("%w, so nothing was written: %d", errConflict, len(plan.Conflicts))
	}
	c.nameAll("runs by itself: ", troubleLines(asked))
	var running error
	if len(asked) > 0 && (o.dry || !c.agrees("write these too? [y/N] ")) {
		running = fmt.Errorf("%w, so nothing %s: %d", errSelfRunning, o.written(), len(asked))
	}
	if running != nil && !o.dry {
		return running
	}
	return cmp.Or(running, c.judgeDeletions(plan, o))
}

// warnOfHooks warns that nobody is asked about the further files that git's hooks read, because these are unknown.
// unknown says why.
func (c *app) warnOfHooks(unknown string) {
	if unknown != "" {
		c.Warn(unknown + ": files that only git's hooks read count as ordinary files")
	}
}

// judgeDeletions asks the person before more than half of the files given to the child are deleted.
func (c *app) judgeDeletions(plan *patch.Plan, o applyOptions) error {
	gone, of := plan.Deletes()
	if 2*gone <= of || o.deletions {
		return nil
	}
	c.Warn(fmt.Sprintf("%d of %s would be deleted", gone, counted(int64(of), "file")))
	if !o.dry && c.agrees("delete them? [y/N] ") {
		return nil
	}
	return fmt.Errorf("%w, so nothing %s: %d of %d", errDeletesMost, o.written(), gone, of)
}

// written returns the verb for a refusal's files. It says "would be" for a dry run, because a dry run writes nothing.
func (o applyOptions) written() string {
	if o.dry {
		return "would be written"
	}
	return "was written"
}

// notAllowed returns the files that run by themselves and that no option allows.
func (o applyOptions) notAllowed(running []patch.Trouble) (rest []patch.Trouble) {
	for _, t := range running {
		if !o.autorun && !slices.ContainsFunc(o.allowed, func(p string) bool { return path.Clean(p) == t.Path }) {
			rest = append(rest, t)
		}
	}
	return rest
}

// agrees asks the person at the terminal. Without a terminal it returns false.
func (c *app) agrees(question string) bool {
	if c.JSON || !cli.IsTerminal(c.In) || !c.Errors.Terminal {
		return false
	}
	fmt.Fprint(c.Errors, question)
	answer, err := bufio.NewReader(c.In).ReadString('\n')
	return err == nil && strings.EqualFold(strings.TrimSpace(answer), "y")
}

func troubleLines(all []patch.Trouble) []string {
	lines := make([]string, len(all))
	for i, t := range all {
		lines[i] = fmt.Sprintf("%q: %s", t.Path, t.Why)
	}
	return lines
}

// applied describes one path of a plan in the output of --json.
type applied struct {
	Path         string `json:"path"`
	Action       string `json:"action,omitempty"`
	DryRun       bool   `json:"dry_run,omitempty"`
	Conflict     string `json:"conflict,omitempty"`
	Refused      string `json:"refused,omitempty"`
	RunsByItself string `json:"runs_by_itself,omitempty"`
	PutBack      string `json:"put_back,omitempty"`
	Kept         string `json:"kept,omitempty"`
}

// listTroubles prints everything that keeps a plan from being carried out. asked holds the files that run by themselves
// and need permission.
func (c *app) listTroubles(plan *patch.Plan, asked []patch.Trouble) error {
	for _, t := range plan.Refused {
		if err := c.Out.Object(applied{Path: t.Path, Refused: t.Why}); err != nil {
			return err
		}
	}
	for _, t := range plan.Conflicts {
		if err := c.Out.Object(applied{Path: t.Path, Conflict: t.Why}); err != nil {
			return err
		}
	}
	for _, t := range asked {
		if err := c.Out.Object(applied{Path: t.Path, RunsByItself: t.Why}); err != nil {
			return err
		}
	}
	return nil
}

// listSteps prints the first done steps of a plan, and how many they are.
func (c *app) listSteps(plan *patch.Plan, done int, did, dir string) (int, error) {
	for i := range plan.Steps[:done] {
		s := &plan.Steps[i]
		line := applied{Path: s.Change.Path, Action: s.What(), DryRun: did == "would write", RunsByItself: s.Change.RunsByItself}
		if c.JSON {
			if err := c.Out.Object(line); err != nil {
				return 0, err
			}
			continue
		}
		fmt.Fprintf(c.Out, "%-7s %s\n", line.Action, cli.OneLine(line.Path))
	}
	c.Say("%s %s in %s", did, counted(int64(done), "change"), dir)
	if plan.Already > 0 {
		c.Say("%s there already", counted(int64(plan.Already), "change"))
	}
	return exitCompleted, nil
}
