package watcher

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"torno/delegation"
	"torno/internal/control"
	"torno/sandbox"
)

// TestAnOperatorSeesWhatARunSpends: while it runs, and by its sandbox. A gateway that cannot be asked hides no run, and what an ended run
// used is what the journal says.
func TestAnOperatorSeesWhatARunSpends(t *testing.T) {
	var spent atomic.Pointer[map[sandbox.SandboxID]*delegation.ModelUsage]
	d := newDesk(t, func(c *Config) {
		c.Spending = func(context.Context) (map[sandbox.SandboxID]*delegation.ModelUsage, error) {
			if all := spent.Load(); all != nil {
				return *all, nil
			}
			return nil, errors.New("no gateway")
		}
	})
	p := d.submit(ask{id: "s1", task: "sleep"})
	d.eventually("it runs", func() bool {
		run, err := d.operator().Run(t.Context(), "s1")
		return err == nil && run.State == delegation.StateRunning
	})
	both := func() (shown []*delegation.ModelUsage) {
		run, err := d.operator().Run(t.Context(), "s1")
		d.must(err)
		all, err := d.operator().Runs(t.Context(), control.Query{All: true, Limit: 9})
		d.must(err)
		for _, r := range append(all, run) {
			if r.Usage == nil {
				shown = append(shown, nil)
				continue
			}
			shown = append(shown, r.Usage.Model)
		}
		return shown
	}
	for _, m := range both() {
		if m != nil {
			t.Errorf("without a gateway: %+v", m)
		}
	}
	want := &delegation.ModelUsage{Requests: 2, InputTokens: 10, OutputTokens: 5}
	spent.Store(&map[sandbox.SandboxID]*delegation.ModelUsage{d.latest("s1").Sandbox: want, "": {Requests: 9}})
	shown := both()
	if len(shown) != 2 {
		t.Fatalf("shown are %v", shown)
	}
	for _, m := range shown {
		if m != want {
			t.Errorf("it spent %+v", m)
		}
	}
	_, err := d.operator().Cancel(t.Context(), "s1")
	d.must(err)
	d.response(p)
	for _, m := range both() {
		if m != nil {
			t.Errorf("an ended run, of which the journal knows nothing: %+v", m)
		}
	}
}
