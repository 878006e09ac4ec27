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

// Desk offers a tool of a Set everything that it may do. It keeps the rules of our own tools: the budgets, the bounded
// waits, and that a result stays in the outbox until the client has it.
type Desk struct {
	s       *Server
	session string // of the client
	long    bool   // the tool waits as long as its child runs
}

// Task is a child that a set asks for.
type Task struct {
	ID, Text       string
	Profile, Model string
	Timeout        time.Duration   // in whole seconds, rounded up
	Settings       *agent.Settings // given to the agent beside its task, if the host offers that; nil for nothing
	Again          bool            // Start begins anew in the workspace that an earlier run has left

	Context    []string       // absolute paths that the child may read
	YAMLConfig map[string]any // for agents that take their configuration this way
	AnswerFile string         // beneath the workspace; "" means answer.txt
	Workspace  string         // a directory of the caller's; "" means the outbox's own for the child
	// Fill puts files into the outbox's own workspace before the child is asked for. Files from an earlier run of the
	// child may be there already.
	Fill func(context.Context, *os.Root) error
}

// options adds the options of this task to those of all tasks.
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

// Start asks for a new child. If a subagent with this name has been here before, the error is manager.ErrWorkspaceThere
// or manager.ErrOutstanding.
func (d *Desk) Start(ctx context.Context, task Task) (Begun, error) {
	return d.begin(ctx, task, func(ctx context.Context, o manager.SpawnOptions) (*manager.Run, error) {
		o = task.options(o)
		if !task.Again {
			o.Fill = func(context.Context, manager.NewWorkspace) error { return nil } // a Fill wants a new workspace
		}
		return d.s.m.Spawn(ctx, o)
	})
}

// Continue lets a child that has ended go on with its conversation.
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
	if err != nil { // the child was asked for all the same
		begun.Child = Child{Item: manager.Item{SubagentID: one.ID, RequestID: one.request, CreatedAt: time.Now()}}
		begun.Warnings = append(begun.Warnings, words("its state could not be read yet: "+err.Error()))
	}
	return begun, nil
}

// Child is the state of a child.
type Child struct {
	manager.Item
	Taken bool            // its result is no longer in the outbox: the client has it, and a copy is kept
	kept  *manager.Result // that copy
}

// Ended reports whether the child has a result. The host may report the state "ended" earlier.
func (c *Child) Ended() bool { return c.Status != "" }

// Look returns the state of one child. If there is no such child, the error is manager.ErrNoRun.
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

// unlisted returns a child that the listing does not contain: its request has just come, or the host must refuse it.
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

// Result returns how a child ended, with at most answerMax bytes of its answer. If another run has taken the child's
// place, the error is manager.ErrSuperseded. If the result was taken, it is manager.ErrNoRun.
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

// withBeginning returns a result with only the beginning of its answer. It keeps nothing of the rest in memory.
func withBeginning(r manager.Result, answerMax int) manager.Result {
	if len(r.Answer) > answerMax {
		r.Answer, r.AnswerTruncated = strings.Clone(r.Answer[:answerMax]), true
	}
	return r
}

// List returns the children whose results are in the outbox, oldest first, without those results.
func (d *Desk) List(ctx context.Context) (manager.Listing, error) { return d.s.list(ctx) }

// Printed returns the end of the output of a child at work. It is the child's text.
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

// Told notes that the result of a child goes out to the client with this answer. When the client has the result, the
// result of our own child leaves the outbox. The result of another server's child stays for that server's client.
func (d *Desk) Told(child Child) {
	if !child.Ended() || child.Taken {
		return
	}
	d.s.changed()
	d.s.budgets.count(child.RequestID, child.Usage)
	for _, old := range d.s.children.shown(d.session, child.SubagentID, child.RequestID) {
		if err := d.s.release(old); err != nil {
			d.s.log.Warn("could not remove a delivered result from the outbox", "subagent", old.id, "error", err)
		}
	}
}

// Take takes the result of a child out of the outbox, for a tool that has the result and needs the child's place. A
// copy is kept for a day.
func (d *Desk) Take(c Child) error {
	d.s.budgets.count(c.RequestID, c.Usage)
	return d.s.release(child{id: c.SubagentID, request: c.RequestID})
}

// Own opens a directory that belongs to the parent. No child writes there.
func (d *Desk) Own(name string) (*os.Root, error) {
	state, err := patch.StateDir(d.s.env)
	if err != nil {
		return nil, err
	}
	return patch.OpenOwn(state, d.s.m.Outbox(), name)
}

// How says in words how a child ended.
func (d *Desk) How(result manager.Result) string { return words(result.Ending()) }

// Watcher returns the heartbeat of the watcher that serves the outbox, with everything that it offers. The error says
// that no watcher serves.
func (d *Desk) Watcher() (delegation.Heartbeat, error) { return d.s.m.Serving() }

// MaxWait bounds how long a call may wait.
const MaxWait = maxWaitSeconds * time.Second

// Waiting takes a place among the waiting calls, for at most limit, until done is called. The context also ends when
// the client's input ends. For a tool that Waits there is no limit, and the client hears from time to time that the
// call goes on.
func (d *Desk) Waiting(ctx context.Context, limit time.Duration) (_ context.Context, done func(), err error) {
	return d.WaitingLong(ctx, min(limit, MaxWait))
}

// WaitingLong does the same as Waiting for a tool that says itself how long it Takes.
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

// TimeIsUp reports whether a wait ended because its time was up, and not because its client left.
func TimeIsUp(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errNotEnded) }

// ForParent reports whether the parent may decide a question. Otherwise only the operator may, on the host.
func ForParent(a delegation.PendingApproval) bool {
	return len(a.DecidedBy) == 0 || slices.Contains(a.DecidedBy, "parent")
}

// Settle waits until a child has ended, or asks something that the parent may decide. A question for the operator ends
// only one wait, so that the client hears of it. Later waits ignore it.
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

// Decide decides the question that the caller saw. The error manager.ErrNotYet means that the host does not have the
// decision yet.
func (d *Desk) Decide(ctx context.Context, id string, seen delegation.PendingApproval, as delegation.Decision, why string) error {
	run, err := d.s.attachLive(id)
	if err != nil {
		return err
	}
	defer d.s.changed()
	return run.Decide(ctx, seen, as, why)
}

// Send sends a text to a child's agent. The error manager.ErrNotYet means that the agent does not have it yet.
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
