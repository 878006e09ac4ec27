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

// runner carries one run to its end. It owns the run's sandbox from create to remove, and everything that was seen of
// it. It belongs to one goroutine at a time: first to the goroutine that admits or adopts the run, and from Launch on
// to the run's own goroutine.
type runner struct {
	*Run
	launcher     sandbox.Launcher
	launcherName string // the launcher's name in profiles
	workspace    string // its path on the host
	workplace    workplace
	warnings     []string
	sandbox      sandbox.SandboxID // the sandbox bound to the run
	handle       sandbox.Handle
	endedBefore  bool                   // the sandbox had ended by itself when this watcher adopted it
	holder       Holder                 // the run as the holder of its resources; set before the sandbox is made
	model        *delegation.ModelUsage // spent by the run
	artifacts    []delegation.Artifact
	session      string // for a later run to continue
	out          *output.Child
	times        milestones
	release      release // set when the run is released
}

// milestones holds the times at which phases of a run ended.
type milestones struct{ dequeued, created, ended time.Time }

// newRun makes a run from a request. The request's key and warnings are for this attempt. spec is the request's own
// Spec, or the terms under which an earlier watcher released the run.
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

// record returns the run's first record for the journal.
func (r *runner) record() journal.Run { return r.client.Record(r.key, r.warnings) }
