package schedule

import (
	"context"
	"testing"
	"time"

	"torno/delegation"
)

// TestAnAskerThatLeavesIsNotAnswered: the loop must not write the answer where nothing guards it. The race detector is the
// judge.
func TestAnAskerThatLeavesIsNotAnswered(t *testing.T) {
	s := New(1, []Lane{{Name: "main"}})
	ctx, cancel := context.WithCancel(t.Context())
	loop := make(chan struct{})
	go func() { defer close(loop); s.Loop(ctx) }()
	for range 200 {
		asking, leave := context.WithTimeout(t.Context(), time.Microsecond)
		s.Load(asking, "main")
		s.Find(asking, Subject{"main", delegation.SubagentID{}})
		leave()
	}
	cancel()
	<-loop
}

// TestARunMayBeStoppedBeforeItIsSubmitted: the watcher owns a run before the schedule has it.
func TestARunMayBeStoppedBeforeItIsSubmitted(t *testing.T) {
	q := newQueue(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	loop := make(chan struct{})
	go func() { defer close(loop); q.Loop(ctx) }()
	r := q.run("s1")
	q.Stop(ctx, &r.Ticket, delegation.ReasonOperator)
	refusal := q.Submit(ctx, &r.Ticket)
	cancel()
	<-loop
	if r.dismissed != "" || len(q.launched) != 1 || refusal != nil || r.cause != delegation.ReasonOperator {
		t.Errorf("dismissed %q, launched %d, refused %v, ends for %q", r.dismissed, len(q.launched), refusal, r.cause)
	}
}
