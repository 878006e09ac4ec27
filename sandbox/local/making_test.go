package local

import (
	"context"
	"errors"
	"slices"
	"testing"

	"torno/sandbox"
)

// TestRollBackKeepsWhatAFailureStandsOn has a step in the middle fail twice.
func TestRollBackKeepsWhatAFailureStandsOn(t *testing.T) {
	var done []string
	var m Making
	away := errors.New("it is away")
	m.OnRollBack(func() error { done = append(done, "slot"); return nil })
	m.OnRollBack(func() error { done = append(done, "container"); return away })
	m.OnRollBack(func() error { done = append(done, "newest"); return nil })
	for range 2 {
		if err := m.RollBack(); !errors.Is(err, away) {
			t.Errorf("while it is away: %v", err)
		}
	}
	away = nil
	if err := m.RollBack(); err != nil {
		t.Error("when it is back:", err)
	}
	if err := m.RollBack(); err != nil || !slices.Equal(done, []string{"newest", "container", "container", "container", "slot"}) {
		t.Errorf("undone are %v, %v", done, err)
	}
}

// TestStepsEndWithTheCaller takes no step after a failure, nor after the caller is gone.
func TestStepsEndWithTheCaller(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	taken := 0
	good := func(context.Context) error { taken++; return nil }
	bad := errors.New("bad")
	if err := RunSteps(ctx, good, func(context.Context) error { return bad }, good); !errors.Is(err, bad) || taken != 1 {
		t.Errorf("after a failure: %v, %d steps", err, taken)
	}
	if err := RunSteps(ctx, good, func(context.Context) error { cancel(); return nil }, good); !errors.Is(err, context.Canceled) || taken != 2 {
		t.Errorf("after the caller: %v, %d steps", err, taken)
	}
}

func TestASandboxHasOneRoot(t *testing.T) {
	for what, root := range map[string]sandbox.RootFS{"none": {}, "two": {Host: true, Image: "x"}} {
		m := Making{Order: Order{Spec: Trial{}.Spec()}}
		if err := m.CheckSpec(t.Context()); err != nil {
			t.Error("a good one:", err)
		}
		m.Spec.RootFS = root
		if err := m.CheckSpec(t.Context()); err == nil {
			t.Errorf("%s was taken", what)
		}
	}
}
