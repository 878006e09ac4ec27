package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"torno/delegation"
	"torno/manager"
)

var delegateTool = tool{
	name: "delegate", title: "Delegate tasks to subagents",
	about: `
Delegate one or more tasks to subagents: each runs in a sandbox of its own, in parallel, while you go on. Returns their ids at once; call wait for the results.
A subagent does not know your conversation, and sees none of your files unless you name them. Say in the task everything that it needs, which things it must leave alone, and in which form you want the answer. context lists paths that it may read. With copy it works on a copy of a directory, and apply takes its changes over. Each profile (status lists them) takes one kind of task: a prompt if the profile has an agent, otherwise a shell command.`,
	input: `{
"type": "object", "additionalProperties": false, "required": ["tasks"],
"properties": {"tasks": {"type": "array", "minItems": 1, "description": "one entry for each subagent", "items": {
	"type": "object", "additionalProperties": false, "required": ["task"],
	"properties": {
		"task": {"type": "string", "description": "what to do: a complete prompt or a shell command, as the profile takes it"},
		"id": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$", "description": "a name for the subagent; by default a new name. Use the same name later to work in the same workspace again"},
		"context": {"type": "array", "items": {"type": "string"}, "description": "files and directories that it may read"},
		"copy": {"type": "string", "description": "a directory; the subagent works in a copy of it, and apply can take the changes over"},
		"copy_ignored": {"type": "boolean", "description": "with copy: also copy the files that git ignores there"},
		"profile": {"type": "string", "description": "a profile that status lists; by default the first"},
		"model": {"type": "string", "description": "the model, if the profile lets you choose it"},
		"timeout_seconds": {"type": "integer", "minimum": 1, "description": "how long it may run; by default the time that its profile gives"}
	}}}}}`,
	call: does(delegate),
}

type delegateInput struct {
	Tasks []taskInput `json:"tasks"`
}

type taskInput struct {
	Task    string   `json:"task"`
	ID      string   `json:"id"`
	Context []string `json:"context"`
	Copy    string   `json:"copy"`
	Ignored bool     `json:"copy_ignored"`
	Profile string   `json:"profile"`
	Model   string   `json:"model"`
	Seconds *int     `json:"timeout_seconds"`
}

// delegated tells how the tasks of a call began.
type delegated struct {
	Subagents []started  `json:"subagents"`
	Budget    *budgetNow `json:"budget,omitempty"`
	Next      string     `json:"next,omitempty"`
}

// started is one task of a call.
type started struct {
	ID        string   `json:"id,omitempty"`
	Workspace string   `json:"workspace,omitempty"`
	Copied    string   `json:"copied,omitempty"` // the directory copied into its workspace, and the paths left out
	Warnings  []string `json:"warnings,omitempty"`
	Error     *trouble `json:"error,omitempty"`
	request   string
}

func (d delegated) say() string {
	var b strings.Builder
	for i, one := range d.Subagents {
		if one.Error != nil {
			fmt.Fprintf(&b, "task %d was not delegated: %s\n", i+1, one.Error.say())
			continue
		}
		fmt.Fprintf(&b, "task %d: subagent %s, workspace %s\n", i+1, one.ID, one.Workspace)
		for _, text := range slices.Concat([]string{one.Copied}, one.Warnings) {
			if text != "" {
				fmt.Fprintf(&b, "  %s\n", text)
			}
		}
	}
	if d.Budget != nil {
		b.WriteString(d.Budget.say())
	}
	if d.Next != "" {
		b.WriteString("next: " + d.Next)
	}
	return b.String()
}

func delegate(ctx context.Context, s *Server, in delegateInput) (answer, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	budget, leave, err := s.budgets.enter(ctx, s, len(in.Tasks))
	if err != nil {
		return nil, err
	}
	defer leave()
	var d delegated
	failures := 0
	var first error
	for _, task := range in.Tasks {
		one, err := s.start(ctx, task, s.m.Spawn)
		if err != nil {
			one.Error = s.trouble(err)
			failures++
			if first == nil {
				first = err
			}
		}
		d.Subagents = append(d.Subagents, one)
	}
	if failures == len(in.Tasks) && failures == 1 {
		return nil, first
	}
	if failures == len(in.Tasks) {
		return nil, &mistake{code: "none_delegated", text: "none of the tasks was delegated", next: "correct them and call again", details: d}
	}
	d.Next = "go on with your own work, then call wait with these ids"
	if failures > 0 {
		d.Next = "wait for the subagents that were started; correct the other tasks and delegate them again"
	}
	budget.Children += len(in.Tasks) - failures
	budget = s.budgets.warn(budget)
	d.Budget = &budget
	return d, nil
}

func (in delegateInput) check() error {
	if len(in.Tasks) == 0 {
		return badArgument("tasks", "tasks is missing: a list with an entry for each subagent")
	}
	for i, task := range in.Tasks {
		where := fmt.Sprintf("tasks[%d]", i)
		if strings.TrimSpace(task.Task) == "" {
			return badArgument(where+".task", "%s.task is missing: a text that says what to do", where)
		}
		if task.Ignored && task.Copy == "" {
			return badArgument(where+".copy_ignored", "%s.copy_ignored works only with copy, and copy is missing", where)
		}
		if err := checkSeconds(where+".timeout_seconds", task.Seconds); err != nil {
			return err
		}
		for j := range i {
			if task.ID != "" && in.Tasks[j].ID == task.ID {
				return badArgument(where+".id", "%s.id is also the id of tasks[%d]", where, j)
			}
		}
	}
	return nil
}

// maxSeconds is a month. The wire format allows no longer time, and the watcher's own limit is lower.
const maxSeconds = 31 * 24 * 3600

// checkSeconds checks how long a child may run, if the argument is given.
func checkSeconds(where string, seconds *int) error {
	if seconds != nil && (*seconds < 1 || *seconds > maxSeconds) {
		return badArgument(where, "%s must be from 1 to %d", where, maxSeconds)
	}
	return nil
}

// asking is Spawn or Continue of a manager.
type asking func(context.Context, manager.SpawnOptions) (*manager.Run, error)

// start asks for one child.
func (s *Server) start(ctx context.Context, task taskInput, ask asking) (one started, err error) {
	if err := context.Cause(ctx); err != nil {
		return one, fmt.Errorf("it was not started: %w", err)
	}
	o := manager.SpawnOptions{ID: task.ID, Task: task.Task, Profile: task.Profile, Model: task.Model, ParentID: s.budgets.parent}
	if task.Seconds != nil {
		o.Timeout = time.Duration(*task.Seconds) * time.Second
	}
	for _, path := range task.Context {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return one, err
		}
		o.ContextPaths = append(o.ContextPaths, absolute)
	}
	o.Made = s.forget
	o.Again = func(workspace *os.Root, answer string) error { return s.checkAnswer(task.ID, answer, workspace) }
	if task.Copy != "" {
		o.Fill = s.copier(task.Copy, task.Ignored, &one)
	}
	if err := s.makeRoom(task.ID); err != nil {
		return one, err
	}
	run, err := ask(ctx, o)
	if refusal, ok := errors.AsType[*delegation.Refusal](err); ok && refusal.Code == delegation.CodeAnswerFile {
		var unused [4]byte
		rand.Read(unused[:])                                // never fails
		o.AnswerFile = fmt.Sprintf("answer_%x.txt", unused) // something else has the usual name
		run, err = ask(ctx, o)
	}
	if err != nil {
		return started{}, errors.Join(err, tooLate(ctx))
	}
	s.children.add(run)
	s.changed()
	one.ID, one.request, one.Workspace = run.ID(), run.RequestID(), words(run.Workspace())
	if err := s.keepAsked(run); err != nil {
		one.Warnings = append(one.Warnings, words("its request could not be recorded, so apply may ask for unfinished, and may list the answer among the changes: "+err.Error()))
	}
	return one, nil
}

// tooLate returns an error if the time of a call is up.
func tooLate(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, errTooLong) {
		return cause
	}
	return nil
}

// makeRoom takes an earlier result of the subagent out of the outbox, if the client has it. The client knows if nobody could
// look for its answer, and does without it.
func (s *Server) makeRoom(id string) error {
	if _, err := delegation.ParseSubagentID(id); err != nil {
		return nil //nolint:nilerr // no id was given, or Spawn reports the mistake
	}
	one, has := s.children.deliveredOf(id)
	if !has {
		return nil
	}
	err := s.release(one)
	if errors.Is(err, manager.ErrNotSeen) && !one.others {
		err = s.take(one, manager.Result.WithoutAnswer)
	}
	return err
}
