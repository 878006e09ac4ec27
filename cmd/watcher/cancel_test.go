package main

import (
	"context"
	"errors"
	"io"
	"testing"

	"torno/internal/cli"
	"torno/internal/control"
	"torno/sandbox/launchers"
	"torno/test/wait"
)

// TestARunThatDoesNotEndHoldsNoOther that the same command is to end.
func TestARunThatDoesNotEndHoldsNoOther(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience)
	defer cancel()
	reached := make(chan struct{})
	end := func(ctx context.Context, ref string) (control.Run, error) {
		if ref == "other" {
			close(reached)
			return control.Run{}, nil
		}
		select {
		case <-reached:
			return control.Run{}, errors.New("it does not end")
		case <-ctx.Done():
			t.Error("the other one was not reached")
			return control.Run{}, ctx.Err()
		}
	}
	a := newApp(launchers.All)
	a.Out, a.Errors = cli.NewOutput(io.Discard, func(string) string { return "" }), cli.NewOutput(io.Discard, func(string) string { return "" })
	if code := a.endAll(ctx, end, []string{"hangs", "other"}); code != exitFailure {
		t.Errorf("it ended with %d", code)
	}
}
