package watcher

import (
	"testing"
	"time"

	"torno/delegation"
	"torno/sandbox/sandboxtest"
)

// TestWhyARunIsEndedOutlivesTheWatcher, which dies between the signals and the note of the end. What is left of the run, an
// exit code or nothing at all, does not say who wanted it.
func TestWhyARunIsEndedOutlivesTheWatcher(t *testing.T) {
	for name, c := range map[string]struct {
		end    func(*desk)
		status delegation.Status
		reason delegation.Reason
	}{
		"cancelled": {func(d *desk) { d.touch("cancel_s1") }, delegation.StatusCancelled, delegation.ReasonCancelled},
		"too long":  {(*desk).overtime, delegation.StatusTimeout, delegation.ReasonDeadline},
		"by its operator": {func(d *desk) {
			d.watcher.runs.Running(d.latest("s1").Key).End(delegation.ReasonOperator)
		}, delegation.StatusCancelled, delegation.ReasonOperator},
		"a full workspace": {func(d *desk) {
			d.watcher.runs.Running(d.latest("s1").Key).EndOver(&delegation.Refusal{Code: delegation.CodeDiskFull, Text: "too much"})
		}, delegation.StatusError, delegation.ReasonWorkspaceLimit},
	} {
		for left, remove := range map[string]bool{"its sandbox is there": false, "its sandbox is gone": true} {
			t.Run(name+", "+left, func(t *testing.T) {
				resp := diesWhileItEnds(t, c.end, remove)
				if resp.Status != c.status || resp.Reason != c.reason {
					t.Errorf("it is answered with %s, %s (%s)", resp.Status, resp.Reason, resp.StderrTail)
				}
				if c.reason == delegation.ReasonWorkspaceLimit && (resp.Error == nil || resp.Error.Code != delegation.CodeDiskFull || resp.StderrTail != "too much") {
					t.Errorf("it says %+v, %q", resp.Error, resp.StderrTail)
				}
			})
		}
	}
}

// diesWhileItEnds is the answer to a run whose watcher died when the agent was dead and it did not know.
func diesWhileItEnds(t *testing.T, end func(*desk), remove bool) delegation.Response {
	d := newDesk(t, nil)
	reached, never := make(chan struct{}), make(chan struct{})
	d.world.After(sandboxtest.OpWait, func() { close(reached); <-never })
	a := d.submit(ask{id: "s1", task: "sleep"})
	d.started(a)
	end(d)
	select {
	case <-reached:
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
	d.world.After(sandboxtest.OpWait, nil)
	handle := *d.latest("s1").Handle
	d.crash(func() { close(never) })
	if remove {
		d.world.Vanish(handle)
	}
	d.open()
	resp := d.response(a)
	d.empty()
	return resp
}
