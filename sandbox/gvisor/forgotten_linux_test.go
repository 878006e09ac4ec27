package gvisor_test

import (
	"os"
	"path/filepath"
	"testing"
)

// TestABoxThatForgotItsStartHolds: a power cut may take the names that a keeper made. The sandbox looks as if it had never begun then, and may
// be started again. Its init holds, and without the word no agent runs a second time.
func TestABoxThatForgotItsStartHolds(t *testing.T) {
	y := newYard(t)
	h := y.create("/bin/sh", "-c", `echo once >>ran`)
	y.begin(h)
	if exit := y.wait(h); exit.Code != 0 {
		t.Fatalf("it ended with %+v", exit)
	}
	y.nothingRuns(h.ID)
	gone, err := filepath.Glob(filepath.Join(y.box(h.ID), "../../runsc/*"+h.ID+"*")) // what runsc has noted
	if err != nil || len(gone) == 0 {
		t.Fatalf("runsc has noted %v, %v", gone, err)
	}
	for _, name := range []string{"started", "end.json", "pid"} {
		gone = append(gone, filepath.Join(y.box(h.ID), name))
	}
	for _, name := range gone {
		if err := os.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := y.Start(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	a, err := y.Open(t.Context(), h, "")
	if err != nil {
		t.Fatal(err)
	}
	if !a.Holds() {
		t.Error("its init does not hold")
	}
	if err := a.Close(); err != nil { // without the word
		t.Fatal(err)
	}
	y.nothingRuns(h.ID)
	if ran, err := os.ReadFile(filepath.Join(y.base, "ws/ran")); err != nil || string(ran) != "once\n" {
		t.Errorf("it ran %q, %v", ran, err)
	}
}
