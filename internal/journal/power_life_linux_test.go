package journal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"torno/delegation"
	"torno/sandbox"
)

// step is one call of the journal in a round.
type step struct {
	flushed bool // what the package's comment promises
	do      func(ctx context.Context, j *Journal) error
}

// round is what one process does between its Open and its end. A process that does not close is killed.
type round struct {
	steps []step
	close bool
	crowd bool // all steps at once
}

// powerRounds are the life of a journal: runs in all their states, what is forgotten, more than the log holds before it
// is folded into the file, a killed process, one that closes, and many callers at once.
func powerRounds(t testing.TB) []round {
	many := func(name string, n int, size int) (steps []step) {
		for i := range n {
			steps = append(steps, life(queued(t, "main", "a", fmt.Sprintf("%s.%d", name, i)), size)...)
		}
		return steps
	}
	crowd := round{crowd: true, close: true}
	var before []step
	for i := range 12 {
		steps := life(queued(t, "main", "a", fmt.Sprintf("crowd.%d", i)), 10)
		before = append(before, steps[:3]...)
		crowd.steps = append(crowd.steps, steps[3])
	}
	return []round{
		{steps: many("first", 4, 100)},
		{steps: append(many("second", 3, 3000), again(t)...), close: true},
		{steps: append(many("large", 10, 250_000), forget())},
		{steps: before},
		crowd,
		{steps: many("last", 2, 100)},
	}
}

// life is a run from its beginning to its answer.
func life(r Run, size int) []step {
	id, zero := sandbox.SandboxID("s"+r.Key[:8]), 0
	ended := Change{Reason: delegation.ReasonExited, ExitCode: &zero, StdoutTail: strings.Repeat("x", size)}
	return []step{
		{false, func(ctx context.Context, j *Journal) error { _, err := j.Begin(ctx, r); return err }},
		{false, func(ctx context.Context, j *Journal) error {
			return j.Move(ctx, r.Key, delegation.StateQueued, delegation.StateStarting, Change{})
		}},
		{false, func(ctx context.Context, j *Journal) error { return j.Bind(ctx, r.Key, id) }},
		{true, func(ctx context.Context, j *Journal) error {
			return j.Release(ctx, r.Key, sandbox.Handle{ID: "c" + r.Key, Sandbox: id}, time.Now(), sandbox.Attestation{}, sandbox.Spec{})
		}},
		{false, func(ctx context.Context, j *Journal) error {
			return j.Move(ctx, r.Key, delegation.StateStarting, delegation.StateRunning, Change{})
		}},
		{true, func(ctx context.Context, j *Journal) error {
			return j.Move(ctx, r.Key, delegation.StateRunning, delegation.StateEnded, ended)
		}},
		{false, func(ctx context.Context, j *Journal) error { return j.NoteAnswered(ctx, r.Key) }},
	}
}

// again are a refusal, and a run that is lost and attempted again.
func again(t testing.TB) []step {
	refused := queued(t, "main", "b", "refused")
	refused.State, refused.Reason = delegation.StateEnded, delegation.ReasonRefused
	lost := queued(t, "main", "b", "lost")
	next := lost
	next.Attempt = 2
	next.Key = next.RunKey().Hash()
	return []step{
		{true, func(ctx context.Context, j *Journal) error { _, err := j.Begin(ctx, refused); return err }},
		{false, func(ctx context.Context, j *Journal) error { _, err := j.Begin(ctx, lost); return err }},
		{true, func(ctx context.Context, j *Journal) error {
			return j.Again(ctx, lost.Key, delegation.StateQueued, Change{Reason: delegation.ReasonLost}, next)
		}},
	}
}

// forget prunes some of what was answered.
func forget() step {
	return step{false, func(ctx context.Context, j *Journal) error {
		over, err := j.ListOver(ctx, "main", time.Now().Add(time.Hour), Over{}, 10)
		if err != nil {
			return err
		}
		return j.Forget(ctx, over)
	}}
}

// liveRound is the process. It says what it is about to do and what was reported to it as done.
func liveRound(path string, r round, first int) error {
	ctx := context.Background()
	j, err := Open(ctx, path)
	if err != nil {
		return err
	}
	fmt.Println("open")
	var all sync.WaitGroup
	errs := make([]error, len(r.steps))
	for i, s := range r.steps {
		do := func() {
			fmt.Println("do", first+i)
			if errs[i] = s.do(ctx, j); errs[i] == nil {
				fmt.Println("did", first+i)
			}
		}
		if r.crowd {
			all.Go(do)
		} else {
			do()
		}
	}
	all.Wait()
	if r.close {
		err = j.Close()
	}
	return errors.Join(err, errors.Join(errs...))
}
