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

// Service is what the door gives access to.
type Service interface {
	Status(context.Context) (Status, error)
	Runs(context.Context, Query) ([]Run, error)
	Run(ctx context.Context, ref string) (Run, error)
	// Output hands the child's output to emit, and stays until it ends when follow is set.
	Output(ctx context.Context, ref string, follow bool, emit func(Output) error) error
	// Events hands the events of a run to emit, and at last their end.
	Events(ctx context.Context, ref string, q EventQuery, emit func(EventLine) error) error
	Cancel(ctx context.Context, ref string) (Run, error)
	// Abandon ends a stranded run without its sandbox, which may live on.
	Abandon(ctx context.Context, ref string) (Run, error)
	// Accept says what the directory is that the name of an outbox leads to.
	Accept(ctx context.Context, outbox string, as Identity) (Accepted, error)
	// Reload has the configuration read again. Reloaded says what came of it.
	Reload(context.Context) (Reload, error)
	Reloaded(ctx context.Context, number int) (Reload, error)
	// Collect has workspaces removed that are over the rule and not needed, and tells of all that the rule is about.
	Collect(context.Context, Collect) ([]Workspace, error)
	// Budgets tells what was spent of budgets, and ResetBudget has one begin anew.
	Budgets(context.Context) (Budgets, error)
	ResetBudget(context.Context, BudgetOf) (Budget, error)

	Approvals
}

// Identity says whether a directory is the outbox that had its name, or another one.
type Identity string

// The identities that an operator can give to a directory.
const (
	Same Identity = "same" // the outbox lies in this directory from now on
	New  Identity = "new"  // it is another outbox; what is unfinished of the earlier one ends
)

// Accepted is an outbox that was accepted.
type Accepted struct {
	Name string   `json:"name"`
	ID   string   `json:"id"`
	Dir  string   `json:"dir"`
	As   Identity `json:"as"`
}

// What goes wrong with a reference. A Client gives these back as they were.
var (
	ErrNoRun     = errors.New("there is no such run")
	ErrAmbiguous = errors.New("the reference fits several runs")
	ErrEnded     = errors.New("the run has ended already")
	// ErrStranded says that a run is to end, and ends when the site of its sandbox is back.
	ErrStranded    = errors.New("the run is stranded, and is ended when the site of its sandbox is back")
	ErrNotStranded = errors.New("the run is not stranded, so it is cancelled and not given up")
	// ErrUntaken says that a run has not ended, and that the watcher cannot end it: it has not taken it up yet.
	ErrUntaken  = errors.New("the watcher has not taken the run up")
	ErrNoOutbox = errors.New("there is no such outbox")
	ErrAsked    = errors.New("nobody has to say which outbox this is")
	// ErrNoBudget says that no gateway counts what is asked for.
	ErrNoBudget = errors.New("there is no such budget")
	// ErrNoRoutes: the configuration has no routes, so there is no model gateway.
	ErrNoRoutes = errors.New("nothing is counted, because the configuration has no routes to a model")
)

// Query chooses runs.
type Query struct {
	All    bool   // ended ones too
	Outbox string // "" for every one
	Limit  int
}

// Status is a running watcher.
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

// Pool is what a launcher has of sandboxes that were made ahead of runs.
type Pool struct {
	Launcher string  `json:"launcher"`
	Off      string  `json:"off,omitempty"` // why it has none, and makes none
	Shelves  []Shelf `json:"shelves,omitempty"`
}

// Shelf are those of one outbox, of one profile and one set of prefixes.
type Shelf struct {
	Outbox   string        `json:"outbox"`
	Profile  string        `json:"profile"`
	Prefixes []string      `json:"prefixes"`
	Ready    int           `json:"ready"`
	Wanted   int           `json:"wanted"`
	Used     int           `json:"used"`   // by runs, since the shelf was opened
	Missed   int           `json:"missed"` // runs that found none ready, since then
	Memory   int64         `json:"memory_bytes"`
	Oldest   time.Duration `json:"oldest_ns,omitempty"`
	Trouble  string        `json:"trouble,omitempty"` // why there are fewer than wanted
}

// Profile is a profile that is on offer and what launches it.
type Profile struct {
	Name     string `json:"name"`
	Launcher string `json:"launcher"`
	Chosen   string `json:"chosen,omitempty"` // why it is this one, where the operator has left it to the watcher
}

// LauncherOf is what launches a profile, and why it was chosen. A profile that is not on offer has what the configuration says.
func (s Status) LauncherOf(profile, otherwise string) (launcher, chosen string) {
	for _, p := range s.Profiles {
		if p.Name == profile {
			return p.Launcher, p.Chosen
		}
	}
	return otherwise, ""
}

// OutboxStatus is one served outbox.
type OutboxStatus struct {
	Name    string `json:"name"`
	ID      string `json:"id"`
	Dir     string `json:"dir"`
	Running int    `json:"running"`
	Queued  int    `json:"queued"`
	// MaxRunning and MaxQueued are its limits.
	MaxRunning int    `json:"max_running,omitempty"`
	MaxQueued  int    `json:"max_queued,omitempty"`
	Trouble    string `json:"trouble,omitempty"`
	// Notices are what keeps the watcher from serving it, as its parent is told.
	Notices delegation.Notices `json:"notices,omitempty"`
}

// Launcher is a launcher in use and what it enforces, or why that cannot be asked now.
type Launcher struct {
	Name       string             `json:"name"`
	Guarantees sandbox.Guarantees `json:"guarantees,omitempty"`
	Trouble    string             `json:"trouble,omitempty"`
}

// Enforced is what each launcher enforces. It is not ok where one of them cannot be asked.
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

// Run is a run as operators see it. Nothing in it was read back from an outbox.
type Run struct {
	Key      string `json:"key"`
	Outbox   string `json:"outbox"`    // its name
	OutboxID string `json:"outbox_id"` // which is in the key
	Subagent string `json:"subagent_id"`
	Request  string `json:"request_id"`
	Attempt  int    `json:"attempt"`
	// Parent is the parent_id of the request, ParentRun the key of the run that it meant, "" where it meant none; Depth is 1 for a run
	// without a parent, and 0 where it is not known.
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
	Sandbox   string              `json:"sandbox,omitempty"` // the launcher's own name for it, from the release on
	// SandboxID is the id of the sandbox that is, or was last, bound to the run; a label of Docker's and gVisor's directories have it.
	SandboxID sandbox.SandboxID `json:"sandbox_id,omitempty"`
	// Attestation is what the host saw of the sandbox before the agent ran; nil where it did not look.
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
	// Usage is what an ended run used. Of a running one it has only what was spent on its model so far, where a gateway can be asked.
	Usage *delegation.Usage `json:"usage,omitempty"`
	// Stranded is why the site of its sandbox cannot be reached; "" where that is not so, and where no watcher runs.
	Stranded string `json:"stranded,omitempty"`
	// Position is where it waits in the queue; 0 where it does not, and where no watcher runs.
	Position int `json:"position,omitempty"`
	// Unserved is why no watcher carries it although it has not ended; "" where one does, and where no watcher runs.
	Unserved   string    `json:"unserved,omitempty"`
	Answered   bool      `json:"answered"`
	AnsweredAt time.Time `json:"answered_at,omitzero"`
	// Questions are the questions of the agent, in order. Only Run fills them in, Runs does not.
	Questions []Asked `json:"questions,omitempty"`
}

// Asked describes a question that an agent has asked, and how it was decided. The child chose Tool and Arguments.
type Asked struct {
	Approval  int              `json:"approval"`
	Tool      string           `json:"tool"`
	Arguments string           `json:"arguments,omitempty"` // their beginning, where somebody was to decide by it
	Digest    string           `json:"digest"`
	AskedAt   time.Time        `json:"asked_at"`
	Outcome   approval.Outcome `json:"outcome,omitempty"` // absent until it is decided
	By        approval.Decider `json:"by,omitempty"`
	Why       string           `json:"why,omitempty"`
	DecidedAt time.Time        `json:"decided_at,omitzero"`
}

// AskedFromJournal converts a question. The journal counts its times from the release of the run.
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

// FromJournal shows a record. outbox is the name of its outbox.
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
