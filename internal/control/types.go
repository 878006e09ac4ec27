package control

import (
	"context"
	"errors"
	"time"

	"torno/delegation"
	"torno/internal/approval"
	"torno/internal/journal"
	"torno/sandbox"
)

// Service is everything that an operator can ask of a watcher through the door.
type Service interface {
	Status(context.Context) (Status, error)
	Runs(context.Context, Query) ([]Run, error)
	Run(ctx context.Context, ref string) (Run, error)
	// Output hands the child's output to emit. With follow it goes on until the output ends.
	Output(ctx context.Context, ref string, follow bool, emit func(Output) error) error
	// Events hands the events of a run to emit, and at last their end.
	Events(ctx context.Context, ref string, q EventQuery, emit func(EventLine) error) error
	Cancel(ctx context.Context, ref string) (Run, error)
	// Abandon ends a stranded run and leaves its sandbox alone, which may live on.
	Abandon(ctx context.Context, ref string) (Run, error)
	// Accept tells the watcher whether the directory that an outbox's name leads to is the same outbox or a new one.
	Accept(ctx context.Context, outbox string, as Identity) (Accepted, error)
	// Reload makes the watcher read the configuration again. Reloaded returns the result of a reload.
	Reload(context.Context) (Reload, error)
	Reloaded(ctx context.Context, number int) (Reload, error)
	// Collect removes workspaces that are over the rule and not needed. It returns all workspaces to which the rule
	// applies.
	Collect(context.Context, Collect) ([]Workspace, error)
	// Budgets returns how much of each budget was spent. ResetBudget makes a budget begin anew.
	Budgets(context.Context) (Budgets, error)
	ResetBudget(context.Context, BudgetOf) (Budget, error)

	Approvals
}

// Identity is the operator's answer whether a directory is the outbox that had its name before, or a new one.
type Identity string

// The identities that an operator can give to a directory.
const (
	Same Identity = "same" // the outbox lies in this directory from now on
	New  Identity = "new"  // it is another outbox; unfinished runs of the earlier one end
)

// Accepted is an outbox that was accepted.
type Accepted struct {
	Name string   `json:"name"`
	ID   string   `json:"id"`
	Dir  string   `json:"dir"`
	As   Identity `json:"as"`
}

// Errors of a Service. A Client returns the same errors.
var (
	ErrNoRun     = errors.New("there is no such run")
	ErrAmbiguous = errors.New("the reference fits several runs")
	ErrEnded     = errors.New("the run has ended already")
	// ErrStranded: the run will end, but only when the site of its sandbox is back.
	ErrStranded    = errors.New("the run is stranded; it is ended when the site of its sandbox is back")
	ErrNotStranded = errors.New("the run is not stranded (cancel it instead)")
	// ErrUntaken: the run has not ended, and the watcher cannot end it, because it has not taken the run up yet.
	ErrUntaken  = errors.New("the watcher does not carry this run yet")
	ErrNoOutbox = errors.New("there is no such outbox")
	ErrAsked    = errors.New("the watcher waits for no decision about this outbox")
	// ErrNoBudget: no gateway counts this budget.
	ErrNoBudget = errors.New("there is no such budget")
	// ErrNoRoutes: the configuration has no routes, so there is no model gateway.
	ErrNoRoutes = errors.New("nothing is counted, because the configuration has no routes to a model")
)

// Query chooses runs.
type Query struct {
	All    bool   // ended runs too
	Outbox string // "" for every outbox
	Limit  int
}

// Status describes a running watcher.
type Status struct {
	Version      string         `json:"version"`
	Installation string         `json:"installation"`
	PID          int            `json:"pid"`
	StartedAt    time.Time      `json:"started_at"`
	MaxRunning   int            `json:"max_running,omitempty"` // of all outboxes together
	Outboxes     []OutboxStatus `json:"outboxes"`
	Launchers    []Launcher     `json:"launchers"`
	Profiles     []Profile      `json:"profiles,omitempty"`
	Pools        []Pool         `json:"pools,omitempty"`
}

// Pool is a launcher's stock of sandboxes that were made ahead of runs.
type Pool struct {
	Launcher string  `json:"launcher"`
	Off      string  `json:"off,omitempty"` // why the launcher has none, and makes none
	Shelves  []Shelf `json:"shelves,omitempty"`
}

// Shelf is the part of a pool for one outbox, one profile and one set of prefixes.
type Shelf struct {
	Outbox   string        `json:"outbox"`
	Profile  string        `json:"profile"`
	Prefixes []string      `json:"prefixes"`
	Ready    int           `json:"ready"`
	Wanted   int           `json:"wanted"`
	Used     int           `json:"used"`   // how many sandboxes runs have taken since the shelf was opened
	Missed   int           `json:"missed"` // how many runs have found none ready since then
	Memory   int64         `json:"memory_bytes"`
	Oldest   time.Duration `json:"oldest_ns,omitempty"`
	Trouble  string        `json:"trouble,omitempty"` // why there are fewer than wanted
}

// Profile is a profile on offer, with its launcher.
type Profile struct {
	Name     string `json:"name"`
	Launcher string `json:"launcher"`
	Chosen   string `json:"chosen,omitempty"` // why the watcher chose this launcher; "" if the operator named it
}

// LauncherOf returns the launcher of a profile, and why the watcher chose it. For a profile that is not on offer it
// returns the argument otherwise, which is the launcher in the configuration.
func (s Status) LauncherOf(profile, otherwise string) (launcher, chosen string) {
	for _, p := range s.Profiles {
		if p.Name == profile {
			return p.Launcher, p.Chosen
		}
	}
	return otherwise, ""
}

// OutboxStatus describes one served outbox.
type OutboxStatus struct {
	Name    string `json:"name"`
	ID      string `json:"id"`
	Dir     string `json:"dir"`
	Running int    `json:"running"`
	Queued  int    `json:"queued"`
	// MaxRunning and MaxQueued are the outbox's limits.
	MaxRunning int    `json:"max_running,omitempty"`
	MaxQueued  int    `json:"max_queued,omitempty"`
	Trouble    string `json:"trouble,omitempty"`
	// Notices tell why the watcher cannot serve the outbox fully. The parent reads the same notices.
	Notices delegation.Notices `json:"notices,omitempty"`
}

// Launcher is a launcher in use, with everything that it enforces, or why it cannot be asked now.
type Launcher struct {
	Name       string             `json:"name"`
	Guarantees sandbox.Guarantees `json:"guarantees,omitempty"`
	Trouble    string             `json:"trouble,omitempty"`
}

// Enforced returns the guarantees of each launcher. ok is false if one of them cannot be asked.
func (s Status) Enforced() (all map[string]sandbox.Guarantees, ok bool) {
	all = map[string]sandbox.Guarantees{}
	for _, l := range s.Launchers {
		if l.Trouble != "" {
			return nil, false
		}
		all[l.Name] = l.Guarantees
	}
	return all, true
}

// Run is a run as operators see it. None of it was read back from an outbox.
type Run struct {
	Key      string `json:"key"`
	Outbox   string `json:"outbox"`    // the outbox's name
	OutboxID string `json:"outbox_id"` // the outbox's id, which is part of the key
	Subagent string `json:"subagent_id"`
	Request  string `json:"request_id"`
	Attempt  int    `json:"attempt"`
	// Parent is the parent_id of the request. ParentRun is the key of the run that it meant, or "" if it meant none.
	// Depth is 1 for a run without a parent, and 0 if it is not known.
	Parent    string              `json:"parent_id,omitempty"`
	ParentRun string              `json:"parent_run,omitempty"`
	Depth     int                 `json:"depth,omitempty"`
	State     delegation.State    `json:"state"`
	Reason    delegation.Reason   `json:"reason,omitempty"`
	Error     *delegation.Refusal `json:"error,omitempty"`
	Text      string              `json:"text,omitempty"`
	ExitCode  *int                `json:"exit_code,omitempty"`
	Profile   string              `json:"profile,omitempty"`
	Launcher  string              `json:"launcher,omitempty"`
	Sandbox   string              `json:"sandbox,omitempty"` // the launcher's own name for the sandbox; known from the release on
	// SandboxID is the id of the sandbox that is bound to the run, or was last. Docker has it as a label, gVisor in the
	// names of its directories.
	SandboxID sandbox.SandboxID `json:"sandbox_id,omitempty"`
	// Attestation holds the facts that the host saw about the sandbox before the agent ran. It is nil if the host did
	// not look.
	Attestation *sandbox.Attestation `json:"attestation,omitempty"`
	Workspace   string               `json:"workspace,omitempty"`
	SpecDigest  string               `json:"spec_digest,omitempty"`
	File        string               `json:"file"`
	Warnings    []string             `json:"warnings,omitempty"`
	StdoutTail  string               `json:"stdout_tail,omitempty"`
	StderrTail  string               `json:"stderr_tail,omitempty"`
	Created     time.Time            `json:"created"`
	Starting    time.Time            `json:"starting,omitzero"`
	Made        time.Time            `json:"sandbox_made,omitzero"`
	Released    time.Time            `json:"released,omitzero"`
	Started     time.Time            `json:"started,omitzero"`
	Ended       time.Time            `json:"ended,omitzero"`
	Timings     *delegation.Timings  `json:"timings_ms,omitempty"`
	// Usage is the resources that an ended run used. For a running one it holds only the spending on its model so far,
	// and only if a gateway can be asked.
	Usage *delegation.Usage `json:"usage,omitempty"`
	// Stranded is why the site of the run's sandbox cannot be reached. It is "" if the site can be reached, and if no
	// watcher runs.
	Stranded string `json:"stranded,omitempty"`
	// Position is the run's place in the queue. It is 0 if the run does not wait, and if no watcher runs.
	Position int `json:"position,omitempty"`
	// Unserved is why the watcher does not carry the run although it has not ended. It is "" if the watcher carries it,
	// and if no watcher runs.
	Unserved   string    `json:"unserved,omitempty"`
	Answered   bool      `json:"answered"`
	AnsweredAt time.Time `json:"answered_at,omitzero"`
	// Questions are the agent's questions, in order. Service.Run fills them in; Service.Runs does not.
	Questions []Asked `json:"questions,omitempty"`
}

// Asked describes a question that an agent has asked, and how it was decided. The child chose Tool and Arguments.
type Asked struct {
	Approval  int              `json:"approval"`
	Tool      string           `json:"tool"`
	Arguments string           `json:"arguments,omitempty"` // their beginning, if somebody had to decide by it
	Digest    string           `json:"digest"`
	AskedAt   time.Time        `json:"asked_at"`
	Outcome   approval.Outcome `json:"outcome,omitempty"` // absent until it is decided
	By        approval.Decider `json:"by,omitempty"`
	Why       string           `json:"why,omitempty"`
	DecidedAt time.Time        `json:"decided_at,omitzero"`
}

// AskedFromJournal converts a question of the journal. The journal counts a question's times from the run's release.
func AskedFromJournal(a journal.Asked, released time.Time) Asked {
	shown := Asked{
		Approval: a.Number, Tool: a.Tool, Arguments: a.Preview, Digest: a.Digest, AskedAt: released.Add(a.Approval.Asked), Outcome: a.Outcome, By: a.By, Why: a.Why,
	}
	if a.Outcome != "" {
		shown.DecidedAt = released.Add(a.Decided)
	}
	return shown
}

// Output is a piece of a child's output.
type Output struct {
	Stream sandbox.Stream `json:"stream,omitempty"`
	Bytes  []byte         `json:"bytes,omitempty"`
	Gap    bool           `json:"gap,omitempty"`
}

// FromJournal converts a record of the journal. outbox is the name of its outbox.
func FromJournal(r journal.Run, outbox string) Run {
	run := Run{
		Parent: r.Descent.Parent, ParentRun: r.Descent.Run, Depth: r.Descent.Depth,
		Key: r.Key, Outbox: outbox, OutboxID: r.Outbox, Subagent: r.Subagent.String(), Request: r.Request.String(), Attempt: r.Attempt,
		State: r.State, Reason: r.Reason, Error: r.Refusal(), Text: r.Text, ExitCode: r.ExitCode, Profile: r.Profile,
		Launcher: r.Launcher, Workspace: r.Workspace, SpecDigest: r.SpecDigest, File: r.FileName, Warnings: r.Warnings,
		StdoutTail: r.StdoutTail, StderrTail: r.StderrTail, Created: r.Created, Started: r.Started, Ended: r.Ended,
		Timings: r.Timings, Usage: r.Usage, Answered: r.Answered,
		SandboxID: r.Sandbox, Starting: r.Starting, Made: r.Made, Released: r.Released, Attestation: r.Attestation, AnsweredAt: r.AnsweredAt,
	}
	if run.Subagent == "" {
		run.Subagent = r.SubagentText
	}
	if r.Handle != nil {
		run.Sandbox = r.Handle.ID
	}
	return run
}
