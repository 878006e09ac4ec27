package mcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"torno/delegation"
	"torno/internal/agent"
	"torno/manager"
	"torno/manager/patch"
)

// Desk is what a tool of a Set may do. It keeps what holds for our own tools: the budgets, the bounded waits, and that a result stays in the
// outbox until the client has it.
type Desk struct {
	s    *Server
	long bool // the tool waits for a child as long as that runs
}

// Task is a child that a set asks for.
type Task struct {
	ID, Text       string
	Profile, Model string
	Timeout        time.Duration   // in whole seconds, rounded up
	Settings       *agent.Settings // what the agent is given beside its task, where the host offers that; nil for nothing
	Again          bool            // Start begins anew in the workspace that an earlier run has left

	Context    []string       // absolute paths that the child may read
	YAMLConfig map[string]any // for agents that are configured so
	AnswerFile string         // beneath the workspace; "" is answer.txt
	Workspace  string         // a directory of the caller's; "" is the outbox's own for the child
	// Fill puts files into the outbox's own workspace before the child is asked for. What is there may be the child's, from before.
	Fill func(context.Context, *os.Root) error
}

// options adds to what all tasks have.
func (t Task) options(o manager.SpawnOptions) manager.SpawnOptions {
	o.ContextPaths, o.YAMLConfig, o.AnswerFile, o.Workspace = t.Context, t.YAMLConfig, t.AnswerFile, t.Workspace
	if t.Settings != nil {
		o.YAMLConfig = map[string]any{}
		maps.Copy(o.YAMLConfig, t.YAMLConfig)
		o.YAMLConfig[agent.SettingsKey] = t.Settings
	}
	return o
}

// Begun is a child that was asked for.
type Begun struct {
	Child
	Warnings []string // in our own words
}

// Start asks for a new child. Where a subagent of that name has been here before, the error is manager.ErrWorkspaceThere or
// manager.ErrOutstanding.
func (d *Desk) Start(ctx context.Context, task Task) (Begun, error) {
	return d.begin(ctx, task, func(ctx context.Context, o manager.SpawnOptions) (*manager.Run, error) {
		o = task.options(o)
		if !task.Again {
			o.Fill = func(context.Context, manager.NewWorkspace) error { return nil } // to fill nothing still wants a new workspace
		}
		return d.s.m.Spawn(ctx, o)
	})
}

// Continue has a child that has ended go on with its conversation.
func (d *Desk) Continue(ctx context.Context, task Task) (Begun, error) {
	return d.begin(ctx, task, func(ctx context.Context, o manager.SpawnOptions) (*manager.Run, error) {
		return d.s.m.Continue(ctx, task.options(o))
	})
}

func (d *Desk) begin(ctx context.Context, task Task, ask asking) (begun Begun, err error) {
	_, leave, err := d.s.budgets.enter(ctx, d.s, 1)
	if err != nil {
		return begun, err
	}
	defer leave()
	in := taskInput{ID: task.ID, Task: task.Text, Profile: task.Profile, Model: task.Model}
	if task.Timeout > 0 {
		seconds := int((task.Timeout + time.Second - 1) / time.Second)
		in.Seconds = &seconds
	}
	one, err := d.s.start(ctx, in, ask)
	if err != nil {
		return begun, err
	}
	begun.Warnings = one.Warnings
	begun.Child, err = d.Look(one.ID)
	if err != nil { // it was asked for all the same
		begun.Child = Child{Item: manager.Item{SubagentID: one.ID, RequestID: one.request, CreatedAt: time.Now()}}
		begun.Warnings = append(begun.Warnings, words("where it stands could not be read yet: "+err.Error()))
	}
	return begun, nil
}

// Child is where a child stands.
type Child struct {
	manager.Item
	Taken bool            // its result is no longer in the outbox: the client has it, and a copy is kept
	kept  *manager.Result // that copy
}

// Ended says whether there is the result of a child. The host may say of its state that it has ended before that.
func (c *Child) Ended() bool { return c.Status != "" }

// Look says where one child stands. The error of a child that there is not is manager.ErrNoRun.
func (d *Desk) Look(id string) (Child, error) {
	if item, there := d.s.m.Find(id); there {
		return Child{Item: item}, nil
	}
	run, err := d.s.m.Attach(id)
	if err == nil {
		return unlisted(run)
	}
	_, bad := errors.AsType[*delegation.Refusal](err)
	if !bad && !errors.Is(err, manager.ErrNoRun) {
		return Child{}, err
	}
	kept, err := d.s.m.Taken(id)
	if bad || errors.Is(err, manager.ErrNoRun) {
		return Child{}, fmt.Errorf("%s: %w", words(id), manager.ErrNoRun)
	}
	if err != nil {
		return Child{}, err
	}
	return Child{Item: itemOf(kept), Taken: true, kept: &kept}, nil
}

// unlisted is a child whose request came just now, or is one that listings leave out because the host must refuse it.
func unlisted(run *manager.Run) (Child, error) {
	result, err := run.Brief(0)
	if errors.Is(err, manager.ErrRunning) {
		return Child{Item: manager.Item{SubagentID: run.ID(), RequestID: run.RequestID(), Workspace: run.Workspace()}}, nil
	}
	return Child{Item: itemOf(result)}, err
}

func itemOf(r manager.Result) manager.Item {
	return manager.Item{
		SubagentID: r.SubagentID, RequestID: r.RequestID, State: delegation.StateEnded, Status: r.Status, Reason: r.Reason, ExitCode: r.ExitCode,
		Usage: r.Usage, Workspace: r.Workspace, CreatedAt: r.StartedAt, StartedAt: r.StartedAt, CompletedAt: r.CompletedAt,
	}
}

// Result is how a child has ended, with so many bytes of its answer at most. Where another run is in its place by now the error is
// manager.ErrSuperseded, and manager.ErrNoRun where its result was taken.
func (d *Desk) Result(child Child, answerMax int) (manager.Result, error) {
	if child.Taken {
		return withBeginning(*child.kept, answerMax), nil
	}
	run, err := d.s.m.Attach(child.SubagentID)
	if err != nil {
		return manager.Result{}, err
	}
	if run.RequestID() != child.RequestID {
		return manager.Result{}, fmt.Errorf("subagent %s: %w", child.SubagentID, manager.ErrSuperseded)
	}
	return run.Brief(int64(answerMax))
}

// withBeginning is a result with the beginning of its answer. It keeps nothing of the rest in memory.
func withBeginning(r manager.Result, answerMax int) manager.Result {
	if len(r.Answer) > answerMax {
		r.Answer, r.AnswerTruncated = strings.Clone(r.Answer[:answerMax]), true
	}
	return r
}

// List is the children whose results are in the outbox, oldest first, without those results.
func (d *Desk) List(ctx context.Context) (manager.Listing, error) { return d.s.list(ctx) }

// Printed is the end of what a child that is at work has shown so far. It is the child's text.
func (d *Desk) Printed(ctx context.Context, child Child) (string, error) {
	run, err := d.s.m.Attach(child.SubagentID)
	if err != nil {
		return "", err
	}
	var last []byte
	for e, err := range run.Events(ctx, 1, false) {
		if err != nil {
			return "", err
		}
		last = append(last, shownOf(e)...)
		last = last[max(0, len(last)-delegation.TailBytes):]
	}
	return delegation.Tail(last), nil
}

// Told notes that the result of a child goes out to the client with this answer. That of a child of this server leaves the outbox when the
// client has it; another server's stays for its own client.
func (d *Desk) Told(child Child) {
	if !child.Ended() || child.Taken {
		return
	}
	d.s.changed()
	d.s.budgets.count(child.RequestID, child.Usage)
	for _, old := range d.s.children.shown(child.SubagentID, child.RequestID) {
		if err := d.s.release(old); err != nil {
			d.s.log.Warn("a result that the client has stays in the outbox", "subagent", old.id, "error", err)
		}
	}
}

// Take takes the result of a child out of the outbox for a tool that has it and needs the child's place. A copy is kept for a day.
func (d *Desk) Take(c Child) error {
	d.s.budgets.count(c.RequestID, c.Usage)
	return d.s.release(child{id: c.SubagentID, request: c.RequestID})
}

// Own opens a directory of the parent's own, into which no child writes.
func (d *Desk) Own(name string) (*os.Root, error) {
	state, err := patch.StateDir(d.s.env)
	if err != nil {
		return nil, err
	}
	return patch.OpenOwn(state, d.s.m.Outbox(), name)
}

// How says in words how a child ended.
func (d *Desk) How(result manager.Result) string { return words(result.Ending()) }

// Watcher is what serves the outbox and what it offers; the error says that none does.
func (d *Desk) Watcher() (delegation.Heartbeat, error) { return d.s.m.Serving() }

// MaxWait is the longest that a call may wait.
const MaxWait = maxWaitSeconds * time.Second

// Waiting takes a place among the calls that wait, for at most so long, until done. The context ends with the client's input, too. For a tool
// that Waits there is no limit, and the client hears now and then that the call goes on.
func (d *Desk) Waiting(ctx context.Context, limit time.Duration) (_ context.Context, done func(), err error) {
	return d.WaitingLong(ctx, min(limit, MaxWait))
}

// WaitingLong is Waiting for a tool that says itself how long it Takes.
func (d *Desk) WaitingLong(ctx context.Context, limit time.Duration) (_ context.Context, done func(), err error) {
	leave, err := d.s.enterWait()
	if err != nil {
		return nil, nil, err
	}
	ctx, stop := whileListening(ctx)
	if d.long {
		quiet := d.s.keepAlive(ctx)
		return ctx, func() { quiet(); stop(); leave() }, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errNotEnded)
	return ctx, func() { cancel(); stop(); leave() }, nil
}

// TimeIsUp says whether a wait ended because its time was up, and not its client.
func TimeIsUp(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errNotEnded) }

// ForParent says whether the parent may decide a question. Else the operator alone does, on the host.
func ForParent(a delegation.PendingApproval) bool {
	return len(a.DecidedBy) == 0 || slices.Contains(a.DecidedBy, "parent")
}

// Settle waits until a child has ended, or asks what the parent may decide. A question for the operator ends one wait, so that it is
// heard of; later waits go on beside it.
func (d *Desk) Settle(ctx context.Context, id string) error {
	asks := errors.New("it asks something")
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var request string
	if run, err := d.s.m.Attach(id); err == nil {
		request = run.RequestID()
	}
	err := d.end(ctx, id, func(now manager.WaitUpdate) {
		news := d.s.asked.untold(request, now.Approvals)
		if len(news) == 0 && !slices.ContainsFunc(now.Approvals, ForParent) {
			return
		}
		d.s.asked.note(news)
		cancel(asks)
	})
	if errors.Is(context.Cause(ctx), asks) {
		return nil
	}
	return err
}

// End waits until a child has ended.
func (d *Desk) End(ctx context.Context, id string) error { return d.end(ctx, id, nil) }

func (d *Desk) end(ctx context.Context, id string, tell func(manager.WaitUpdate)) error {
	run, err := d.s.m.Attach(id)
	if err == nil {
		return run.WaitForEnd(ctx, tell)
	}
	if _, missing := d.s.m.Taken(id); missing == nil {
		return nil
	}
	return err
}

// Decide decides a question of a child's agent as it was seen. The error manager.ErrNotYet says that the host has not got it yet.
func (d *Desk) Decide(ctx context.Context, id string, seen delegation.PendingApproval, as delegation.Decision, why string) error {
	run, err := d.s.attachLive(id)
	if err != nil {
		return err
	}
	defer d.s.changed()
	return run.Decide(ctx, seen, as, why)
}

// Send says something to a child's agent. The error manager.ErrNotYet says that the agent has not got it yet.
func (d *Desk) Send(ctx context.Context, id, text string) error {
	run, err := d.s.attachLive(id)
	if err != nil {
		return err
	}
	_, err = run.Send(ctx, delegation.InputMessage, text)
	return err
}

// Cancel asks the host to end a child, and does not wait.
func (d *Desk) Cancel(ctx context.Context, id string) error {
	defer d.s.changed()
	return d.s.m.Cancel(ctx, id)
}
