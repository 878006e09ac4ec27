package run

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"torno/delegation"
	"torno/internal/runfile"
	"torno/sandbox"
)

// victim records signals and when they came, and ends on one of them.
type victim struct {
	begin  time.Time
	got    []sandbox.Signal
	at     []time.Duration
	dies   sandbox.Signal
	exited chan struct{}
	err    error
}

func newVictim(dies sandbox.Signal) *victim {
	return &victim{begin: time.Now(), dies: dies, exited: make(chan struct{})}
}

func (v *victim) Signal(_ context.Context, s sandbox.Signal) error {
	v.got, v.at = append(v.got, s), append(v.at, time.Since(v.begin))
	if s == v.dies {
		close(v.exited)
	}
	return v.err
}

func TestLadders(t *testing.T) {
	for name, c := range map[string]struct {
		reason delegation.Reason
		dies   sandbox.Signal
		got    []sandbox.Signal
		at     []time.Duration
	}{
		"a cancel is polite":       {delegation.ReasonCancelled, sandbox.Interrupt, []sandbox.Signal{"INT"}, []time.Duration{0}},
		"and grows firm":           {delegation.ReasonCancelled, sandbox.Kill, []sandbox.Signal{"INT", "TERM", "KILL"}, []time.Duration{0, 10 * time.Second, 15 * time.Second}},
		"a deadline is firm":       {delegation.ReasonDeadline, sandbox.Kill, []sandbox.Signal{"TERM", "KILL"}, []time.Duration{0, 5 * time.Second}},
		"so is TERM's own success": {delegation.ReasonDeadline, sandbox.Terminate, []sandbox.Signal{"TERM"}, []time.Duration{0}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := newVictim(c.dies)
				if err := usually.ladder(c.reason).climb(t.Context(), v, v.exited, nil); err != nil {
					t.Error(err)
				}
				if !slices.Equal(v.got, c.got) || !slices.Equal(v.at, c.at) {
					t.Errorf("it got %v at %v, want %v at %v", v.got, v.at, c.got, c.at)
				}
			})
		})
	}
}

var usually = Timing{}.Usual()

func TestAHurryKillsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, hurry := newVictim(sandbox.Kill), make(chan struct{})
		time.AfterFunc(time.Second, func() { close(hurry) })
		if err := usually.afterCancel().climb(t.Context(), v, v.exited, hurry); err != nil {
			t.Error(err)
		}
		if !slices.Equal(v.got, []sandbox.Signal{"INT", "KILL"}) || v.at[1] != time.Second {
			t.Errorf("it got %v at %v", v.got, v.at)
		}
	})
}

func TestASignalThatFailsDoesNotEndTheClimb(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVictim("")
		v.err = errors.New("the launcher hangs")
		if err := usually.afterCancel().climb(t.Context(), v, v.exited, nil); !errors.Is(err, v.err) {
			t.Errorf("the failure is hidden: %v", err)
		}
		if len(v.got) != 3 {
			t.Errorf("it got %v", v.got)
		}
	})
}

func TestEveryLadderEndsWithKill(t *testing.T) {
	for _, reason := range []delegation.Reason{delegation.ReasonCancelled, delegation.ReasonDeadline, delegation.ReasonShutdown, delegation.ReasonSuperseded} {
		if l := usually.ladder(reason); l[len(l)-1].signal != sandbox.Kill {
			t.Errorf("%s ends with %s", reason, l[len(l)-1].signal)
		}
	}
}

// TestLaddersFitIntoTheGrace: a watcher that lives always comes before the backstop of init.
func TestLaddersFitIntoTheGrace(t *testing.T) {
	for _, l := range []ladder{usually.afterCancel(), usually.afterDeadline(), usually.killOnly()} {
		climb := beginBudget
		for _, step := range l {
			climb += step.wait
		}
		if climb+usually.Kill > runfile.Grace {
			t.Errorf("the ladder %v takes %s, and the grace is %s", l, climb, runfile.Grace)
		}
	}
}
