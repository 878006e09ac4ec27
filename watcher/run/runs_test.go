package run

import (
	"context"
	"log/slog"
	"testing"

	"torno/delegation"
	"torno/sandbox"
	"torno/watcher/hang"
	"torno/watcher/notice"
	"torno/watcher/output"
	"torno/watcher/workspace"
)

// runsOf are Runs that only the test uses.
func runsOf(t *testing.T) *Runs {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	life, end := context.WithCancel(context.Background())
	t.Cleanup(end)
	return NewRuns(Ports{
		Notices: notice.New(log), Hangs: hang.New(workspace.Calls, log), Timing: Timing{}.Usual(), Log: log, Life: life, Serving: life,
		Keeps: func() bool { return false },
	})
}

// deaf is a client that hears nothing.
type deaf struct{ Client }

func (deaf) Live() *output.Live { return &output.Live{} }

func TestAnEndThatComesLateIsAskedAndIsNoCause(t *testing.T) {
	r := runsOf(t).newRun(Request{}, sandbox.Spec{}, deaf{})
	if r.EndAsked() != "" {
		t.Error("somebody has asked already")
	}
	r.stop(nil) // its agent has ended
	r.End(delegation.ReasonOperator)
	r.End(delegation.ReasonShutdown)
	if r.Cause() != "" || r.EndAsked() != delegation.ReasonOperator {
		t.Errorf("the cause is %q, asked was %q", r.Cause(), r.EndAsked())
	}
}
