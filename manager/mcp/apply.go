package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	gopath "path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"torno/delegation"
	"torno/manager"
	"torno/manager/patch"
)

var applyTool = tool{
	name: "apply", title: "Apply a subagent's changes", ends: true, repeats: true,
	about: `
Write the changes that a subagent made in its copy (delegate with copy) to the directory that was copied, or to another directory. apply writes all changes or none. It merges your own changes since the copy line by line; if any of them conflicts, it writes nothing.
Look at the diff first (read with what: diff). Some files may run by themselves: executables, links, names that begin with a dot, CI, build files, settings of editors and agents, hooks. apply writes such a file only if you name it in allow.`,
	input: `{
"type": "object", "additionalProperties": false, "required": ["id"],
"properties": {
	"id": {"type": "string", "description": "the id of the subagent"},
	"paths": {"type": "array", "items": {"type": "string"}, "description": "write only these files and directories, relative to its workspace"},
	"without": {"type": "array", "items": {"type": "string"}, "description": "leave out these files and directories"},
	"ignored": {"type": "boolean", "description": "also write files that git ignores in the directory that was copied; by default only if paths names them"},
	"to": {"type": "string", "description": "the directory to write to; by default the directory that was copied"},
	"dry_run": {"type": "boolean", "description": "write nothing, and only list the changes"},
	"allow": {"type": "array", "items": {"type": "string"}, "description": "the paths of files that run by themselves and that apply may write"},
	"allow_deletions": {"type": "boolean", "description": "write even if that deletes most of the files"},
	"unfinished": {"type": "boolean", "description": "write even while the subagent is still at work"}
}}`,
	call: does(apply),
}

type applyInput struct {
	ID         string   `json:"id"`
	Paths      []string `json:"paths"`
	Without    []string `json:"without"`
	Ignored    bool     `json:"ignored"`
	To         string   `json:"to"`
	Dry        bool     `json:"dry_run"`
	Allow      []string `json:"allow"`
	Deletions  bool     `json:"allow_deletions"`
	Unfinished bool     `json:"unfinished"`
}

// applied lists the files that an apply wrote, would write, or cannot write.
type applied struct {
	ID        string   `json:"id"`
	Directory string   `json:"directory,omitempty"`
	Dry       bool     `json:"dry_run,omitempty"`
	Written   int      `json:"written"` // with dry_run: how many would be written
	Already   int      `json:"there_already,omitempty"`
	Paths     pathList `json:"paths,omitzero"`
	Refused   pathList `json:"refused,omitzero"`
	Conflicts pathList `json:"conflicts,omitzero"`
	Runs      pathList `json:"run_by_themselves,omitzero"`
	PutBack   pathList `json:"put_back,omitzero"`  // by this call, after an apply that did not end
	Ignored   pathList `json:"passed_by,omitzero"` // skipped, because git ignores it
	Answers   pathList `json:"answers,omitzero"`   // skipped, because they lie where its answers do
	Kept      pathList `json:"kept,omitzero"`      // files that an unfinished apply has left; maybe the parent's
	Deletes   string   `json:"deletes,omitempty"`
	Said      string   `json:"says,omitempty"`
	Trouble   foreign  `json:"untrusted_detail,omitzero"`
	Note      string   `json:"note"`
}

func (a applied) say() string {
	var b strings.Builder
	verb := "wrote"
	if a.Dry {
		verb = "would write"
	}
	if a.Directory != "" {
		fmt.Fprintf(&b, "%s %d changes in %s\n", verb, a.Written, a.Directory)
	}
	a.Paths.say(&b, "path")
	a.Refused.say(&b, "refused")
	a.Conflicts.say(&b, "conflict")
	a.Runs.say(&b, "runs by itself")
	a.PutBack.say(&b, "put back")
	a.Kept.say(&b, "kept")
	a.Ignored.say(&b, "skipped, because git ignores it")
	a.Answers.say(&b, "skipped, because it is the answer")
	b.WriteString(a.Trouble.lines())
	for _, said := range []string{a.Deletes, a.Said, noteInText} {
		if said != "" {
			b.WriteString(said + "\n")
		}
	}
	return b.String()
}

func apply(ctx context.Context, s *Server, in applyInput) (answer, error) {
	if in.ID == "" {
		return nil, badArgument("id", "id is missing: it names the subagent")
	}
	pick, err := selection(in.Paths, in.Without, in.Ignored)
	if err != nil {
		return nil, err
	}
	if err := s.wantEnded(in, func(manager.Result) bool { return true }); err != nil {
		return nil, err
	}
	return s.withWork(ctx, in.ID, pick, func(work *patch.Work) (answer, error) {
		// A child that ended in between was still at work during the read.
		if err := s.wantEnded(in, endOf(work)); err != nil {
			return nil, err
		}
		return s.carryOut(ctx, work, in)
	})
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
func (s *Server) wantEnded(in applyInput, isLast func(manager.Result) bool) error {
	if in.Unfinished || in.Dry {
		return nil
	}
	if item, asked := s.m.Find(in.ID); asked {
		if item.State == delegation.StateEnded {
			return nil
		}
		return fmt.Errorf("%s: %w", in.ID, errNotEnded)
	}
	if taken, err := s.m.Taken(in.ID); err == nil && isLast(taken) {
		return nil
	}
	root, _, err := s.m.OpenWorkspace(in.ID)
	if err != nil {
		return err
	}
	root.Close()
	return fmt.Errorf("%s: %w, as far as is known: it has no request in the outbox, and no result of it was kept", in.ID, errNotEnded)
}

// carryOut makes the plan, judges it, and writes the files.
func (s *Server) carryOut(ctx context.Context, work *patch.Work, in applyInput) (answer, error) {
	dir, err := filepath.Abs(cmp.Or(in.To, work.Base.Origin))
	if err != nil {
		return nil, err
	}
	root, err := s.openTo(work, in, dir)
	if err != nil {
		t := s.trouble(err)
		return nil, &mistake{code: t.Code, field: "to", text: "open the directory to write to: " + t.Text, next: t.Next}
	}
	defer root.Close()
	said := applied{ID: in.ID, Directory: words(dir), Dry: in.Dry, Ignored: namesOnly(work.Ignored), Answers: namesOnly(work.Answers), Note: note}
	if !in.Dry {
		cut, err := work.Interrupted(ctx, dir, root)
		said.tell(cut)
		if err != nil {
			return nil, s.besides(err, said)
		}
	}
	plan, err := work.Plan(ctx, dir, root)
	if err != nil {
		return nil, s.besides(err, said)
	}
	said.warnOfHooks(plan.HooksUnknown)
	if err := judge(plan, in, &said); err != nil {
		return nil, err
	}
	said.Already = plan.Already
	if in.Dry {
		said.list(plan, len(plan.Steps))
		return said, nil
	}
	done, err := plan.Apply(ctx)
	said.list(plan, done)
	if err != nil {
		t := s.trouble(&strange{errors.Join(err, tooLate(ctx))})
		said.Trouble = t.Strange
		return nil, &mistake{code: t.Code, text: t.Text, next: "make the same call again: it continues where this call stopped", details: said}
	}
	return said, nil
}

func (s *Server) openTo(work *patch.Work, in applyInput, dir string) (*os.Root, error) {
	if in.To == "" {
		return work.Origin()
	}
	return patch.OpenDirectory(s.m.Outbox(), dir)
}

// tell says that an earlier apply did not end. It names each file that the parent had saved meanwhile.
func (a *applied) tell(cut *patch.Marker) {
	if cut == nil {
		return
	}
	a.Said = fmt.Sprintf("an apply that began at %s did not end; the changes that it wrote count", cut.BeganAt.Format(time.RFC3339))
	a.PutBack, a.Kept = pathsOf(cut.PutBack), pathsOf(cut.Kept)
}

// besides returns an error with the files that an earlier apply had taken out, and that the next call will not find.
func (s *Server) besides(err error, said applied) error {
	if said.Said == "" {
		return err
	}
	t := s.trouble(err)
	return &mistake{code: t.Code, field: t.Field, text: t.Text, next: t.Next, details: said}
}

// warnOfHooks warns that nobody is asked about the further files that git's hooks read, because these are unknown.
// unknown says why.
func (a *applied) warnOfHooks(unknown string) {
	if unknown == "" {
		return
	}
	if a.Said != "" {
		a.Said += "; "
	}
	a.Said += words(unknown) + ": files that only git's hooks read count as ordinary files"
}

// judge fails if the plan may not be carried out, and says everything that stands in the way. In a dry run, files that
// run by themselves and deletions do not make it fail; they are only reported.
func judge(plan *patch.Plan, in applyInput, said *applied) error {
	said.Refused, said.Conflicts = pathsOf(plan.Refused), pathsOf(plan.Conflicts)
	asked := slices.DeleteFunc(slices.Clone(plan.Running), func(t patch.Trouble) bool {
		return !in.Dry && in.allows(t.Path)
	})
	for _, t := range asked {
		said.Runs.addWhole(t.Path, t.Why)
	}
	gone, of := plan.Deletes()
	most := 2*gone > of && !in.Deletions
	if most {
		said.Deletes = fmt.Sprintf("%d of %d files would be deleted", gone, of)
	}
	var why error
	switch {
	case len(plan.Refused) > 0:
		why = errUnsafe
	case len(plan.Conflicts) > 0:
		why = errConflict
	case in.Dry:
	case len(asked) > 0:
		why = errRuns
	case most:
		why = errDeletes
	}
	if why == nil {
		return nil
	}
	found := *said
	found.Directory = ""
	t := (&Server{}).trouble(why)
	return &mistake{code: t.Code, text: why.Error() + ", so nothing was written", next: t.Next, details: found}
}

// allows reports whether the caller allows a path that runs by itself. The caller writes the whole path, as answers show
// it: so each text allows one path at most, whatever names the child has chosen.
func (in applyInput) allows(path string) bool {
	whole, _ := quote([]byte(path), 1<<30)
	return slices.ContainsFunc(in.Allow, func(p string) bool {
		return p == whole.text || whole.text == path && gopath.Clean(p) == path
	})
}

func pathsOf(all []patch.Trouble) (list pathList) {
	for _, t := range all {
		list.add(t.Path, "", t.Why)
	}
	return list
}

// list names the first done steps of a plan.
func (a *applied) list(plan *patch.Plan, done int) {
	a.Written = done
	for i := range plan.Steps[:done] {
		step := &plan.Steps[i]
		a.Paths.add(step.Change.Path, step.What(), step.Change.RunsByItself)
	}
}
