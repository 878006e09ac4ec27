package run

import (
	"context"
	"time"

	"torno/delegation"
	"torno/internal/agent"
	"torno/internal/crash"
	"torno/internal/journal"
	"torno/sandbox"
	"torno/watcher/output"
	"torno/watcher/schedule"
)

// runner carries one run to its end. It owns the run's sandbox from create to remove, and what was seen of it. It belongs to one
// goroutine: to the one that admits or adopts the run, and from Launch on to the run's own.
type runner struct {
	*Run
	launcher     sandbox.Launcher
	launcherName string // as profiles call it
	workspace    string // where it is on the host
	workplace    workplace
	warnings     []string
	sandbox      sandbox.SandboxID // the one that is bound to the run
	handle       sandbox.Handle
	holder       Holder                 // of its resources, from before the sandbox is made
	model        *delegation.ModelUsage // what it has spent
	artifacts    []delegation.Artifact
	session      string // with which a later run goes on
	out          *output.Child
	times        milestones
	release      release // once it is released
}

// milestones are when the phases of a run ended.
type milestones struct{ dequeued, created, ended time.Time }

// newRun makes a run of a request. Its key and its warnings are those of the attempt. spec is the request's, or what an earlier watcher has
// released the run with.
func (runs *Runs) newRun(q Request, spec sandbox.Spec, c Client) *runner {
	r := &Run{
		runs: runs, request: q, client: c, key: q.Key, hash: q.Key.Hash(), spec: spec, live: c.Live(), number: runs.numbers.Add(1), log: runs.Log.With("outbox", q.Outbox),
		hurry: make(chan struct{}), over: make(chan struct{}), abandoned: make(chan struct{}),
	}
	r.ticket = schedule.Ticket{
		Run: r, Lane: q.Outbox, Subject: schedule.Subject{Outbox: q.Key.Outbox, Subagent: q.Key.Subagent}, Bytes: q.Bytes, Needs: spec.Door != nil,
	}
	r.standing.now.Phase = Queued
	r.inputs = newInputs(spec.Process.Lasting)
	r.ending, r.stop = context.WithCancelCause(context.Background())
	r.runner = &runner{
		Run: r, launcher: runs.Launchers[q.Launcher], launcherName: q.Launcher, workspace: spec.WorkspacePath(), workplace: workplace{Run: r},
		warnings: q.Warnings, out: &output.Child{Live: r.live, Agent: spec.Process.Agent != ""},
	}
	r.runner.out.OnAcknowledged, r.runner.out.Inputs = r.acknowledged, r.inputs.noted
	if runs.Session != nil {
		r.runner.out.OnSession = func(p agent.Part) { runs.Session(r.runner.sandbox, p) }
	}
	r.desk = r.runner.newDesk()
	r.runner.out.OnAsk = r.takeAsk
	r.live.Note = func() {
		crash.At("segment.noted")
		runs.Notes.Save(r.hash, r.runner.out.Progress())
	}
	return r.runner
}

// record is the run as the journal first sees it.
func (r *runner) record() journal.Run { return r.client.Record(r.key, r.warnings) }
