package journal

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/approval"
	"torno/sandbox"
)

var allStates = []delegation.State{
	delegation.StateQueued, delegation.StateStarting, delegation.StateRunning, delegation.StateWaiting, delegation.StateEnded,
}

// to is a change that the move to the state needs.
func to(state delegation.State) Change {
	if state == delegation.StateEnded {
		return Change{Reason: delegation.ReasonLost}
	}
	return Change{}
}

// bring moves a queued run to the state along legal pairs.
func bring(t testing.TB, j *Journal, key string, state delegation.State) {
	t.Helper()
	road := map[delegation.State][]delegation.State{
		delegation.StateStarting: {delegation.StateStarting},
		delegation.StateRunning:  {delegation.StateStarting, delegation.StateRunning},
		delegation.StateWaiting:  {delegation.StateStarting, delegation.StateRunning, delegation.StateWaiting},
		delegation.StateEnded:    {delegation.StateEnded},
	}
	at := delegation.StateQueued
	for _, next := range road[state] {
		if err := j.Move(context.Background(), key, at, next, to(next)); err != nil {
			t.Fatal(err)
		}
		at = next
	}
}

// TestASiteIsOfAReleasedRun: before the release there is no sandbox whose site could be noted.
func TestASiteIsOfAReleasedRun(t *testing.T) {
	ctx, j := context.Background(), open4test(t, state(t))
	r := begin(t, j, queued(t, "main", "a", "r1"))
	h := sandbox.Handle{Sandbox: sandbox.NewSandboxID(), Launcher: "docker", Site: "here"}
	if err := j.Move(ctx, r.Key, delegation.StateQueued, delegation.StateStarting, Change{Sandbox: h.Sandbox}); err != nil {
		t.Fatal(err)
	}
	if err := j.NoteSite(ctx, r.Key, h); !errors.Is(err, ErrMoved) || get(t, j, r.Key).Handle != nil {
		t.Errorf("before the release: %v", err)
	}
	if err := j.Release(ctx, r.Key, h, time.Now(), sandbox.Attestation{}, sandbox.Spec{}); err != nil {
		t.Fatal(err)
	}
	h.Site = "elsewhere"
	if err := j.NoteSite(ctx, r.Key, h); err != nil || get(t, j, r.Key).Handle.Site != h.Site {
		t.Errorf("after it: %v", err)
	}
}

// TestWhyARunIsBeingEnded is noted once, and survives its watcher; an ended run takes no note.
func TestWhyARunIsBeingEnded(t *testing.T) {
	ctx, path := context.Background(), state(t)
	j, err := Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	r := begin(t, j, queued(t, "main", "a", "r1"))
	full := &delegation.Refusal{Code: delegation.CodeWorkspaceLimit, Field: "workspace", Text: "It is full.", Hint: "Empty it."}
	first := NewEnding(delegation.ReasonWorkspaceLimit, full)
	for _, e := range []Ending{first, NewEnding(delegation.ReasonOperator, nil)} {
		if err := j.NoteEnding(ctx, r.Key, e); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = open4test(t, path)
	noted := get(t, j, r.Key).Ending
	if noted == nil || *noted != first || *noted.Refusal() != *full {
		t.Errorf("%+v", noted)
	}
	if err := j.Move(ctx, r.Key, delegation.StateQueued, delegation.StateEnded, noted.Change()); err != nil {
		t.Fatal(err)
	}
	if got := get(t, j, r.Key); got.Reason != first.Reason || *got.Refusal() != *full || *got.Ending != first {
		t.Errorf("%+v", got)
	}
	if err := j.NoteEnding(ctx, r.Key, first); !errors.Is(err, ErrMoved) {
		t.Errorf("an ended run: %v", err)
	}
	if err := j.NoteEnding(ctx, strings.Repeat("0", 32), first); !errors.Is(err, ErrUnknown) {
		t.Errorf("no run: %v", err)
	}
}

func TestEveryPairOfStates(t *testing.T) {
	allowed := map[[2]delegation.State]bool{
		{"queued", "starting"}: true, {"queued", "ended"}: true,
		{"starting", "running"}: true, {"starting", "ended"}: true,
		{"running", "waiting"}: true, {"running", "ended"}: true,
		{"waiting", "running"}: true, {"waiting", "ended"}: true,
	}
	ctx := context.Background()
	j := open4test(t, state(t))
	for _, from := range allStates {
		for _, target := range allStates {
			r := begin(t, j, queued(t, "main", "a", fmt.Sprintf("%s to %s", from, target)))
			bring(t, j, r.Key, from)
			err := j.Move(ctx, r.Key, from, target, to(target))
			want := from
			if allowed[[2]delegation.State{from, target}] {
				want = target
			}
			if (err == nil) != (want == target && from != target) {
				t.Errorf("%s to %s: %v", from, target, err)
			}
			if err != nil && !errors.Is(err, ErrIllegal) {
				t.Errorf("%s to %s: %v, want ErrIllegal", from, target, err)
			}
			if got := get(t, j, r.Key).State; got != want {
				t.Errorf("%s to %s: the run is %s now", from, target, got)
			}
		}
	}
}

func TestMoveIsGuardedByTheStateThatTheCallerBelieves(t *testing.T) {
	ctx := context.Background()
	j := open4test(t, state(t))
	for _, actual := range allStates {
		for _, believed := range allStates {
			if believed == actual || len(next[believed]) == 0 {
				continue
			}
			r := begin(t, j, queued(t, "main", "a", fmt.Sprintf("%s, believed %s", actual, believed)))
			bring(t, j, r.Key, actual)
			err := j.Move(ctx, r.Key, believed, delegation.StateEnded, Change{Reason: delegation.ReasonOperator})
			if !errors.Is(err, ErrMoved) {
				t.Errorf("a run that is %s, moved from %s: %v, want ErrMoved", actual, believed, err)
			}
			if got := get(t, j, r.Key); got.State != actual || got.Reason == delegation.ReasonOperator {
				t.Errorf("the lost move changed the run to %s, %s", got.State, got.Reason)
			}
		}
	}
	if err := j.Move(ctx, "no such key", delegation.StateQueued, delegation.StateStarting, Change{}); !errors.Is(err, ErrUnknown) {
		t.Errorf("the move of an unknown run: %v, want ErrUnknown", err)
	}
}

func TestOneOfManyMoversWins(t *testing.T) {
	const rounds, movers = 20, 4
	ctx := context.Background()
	path := state(t)
	journals := []*Journal{open4test(t, path), open4test(t, path)} // two connections race in SQLite, two callers in one pool
	for round := range rounds {
		r := begin(t, journals[0], queued(t, "main", "a", fmt.Sprint(round)))
		var wg sync.WaitGroup
		results := make([]error, movers)
		for m := range movers {
			wg.Go(func() {
				change := Change{Reason: delegation.ReasonCancelled, Text: fmt.Sprint(m)}
				results[m] = journals[m%2].Move(ctx, r.Key, delegation.StateQueued, delegation.StateEnded, change)
			})
		}
		wg.Wait()
		winners := []string{}
		for m, err := range results {
			if err == nil {
				winners = append(winners, fmt.Sprint(m))
			} else if !errors.Is(err, ErrMoved) {
				t.Fatalf("mover %d: %v", m, err)
			}
		}
		if len(winners) != 1 || get(t, journals[0], r.Key).Text != winners[0] {
			t.Fatalf("round %d: the winners are %v, the row says %q", round, winners, get(t, journals[0], r.Key).Text)
		}
	}
}

func TestOneOfManyBeginnersWrites(t *testing.T) {
	j := open4test(t, state(t))
	r := queued(t, "main", "a", "r1")
	var wg sync.WaitGroup
	var mu sync.Mutex
	wrote := 0
	for range 8 {
		wg.Go(func() {
			existing, err := j.Begin(context.Background(), r)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			} else if existing == nil {
				wrote++
			}
		})
	}
	wg.Wait()
	if wrote != 1 {
		t.Errorf("%d of 8 callers began the run", wrote)
	}
}

func TestMoveWritesWhatIsGivenAndKeepsTheRest(t *testing.T) {
	ctx := context.Background()
	j := open4test(t, state(t))
	r := queued(t, "main", "a", "r1")
	r.Warnings, r.Profile = []string{"clamped"}, "default"
	begin(t, j, r)
	if err := j.Move(ctx, r.Key, delegation.StateQueued, delegation.StateStarting, Change{Launcher: "fake", Sandbox: "a1"}); err != nil {
		t.Fatal(err)
	}
	handle, made := sandbox.Handle{Launcher: "docker", ID: "c1", Sandbox: "a1", Slot: 2}, time.Now().UTC()
	seen := sandbox.Attestation{Why: "it is dark"}
	terms := sandbox.Spec{Profile: "default", Timeout: time.Minute, Approvals: &approval.Policy{Pause: time.Hour}}
	if err := j.Release(ctx, r.Key, handle, made, seen, terms); err != nil {
		t.Fatal(err)
	}
	started := time.Unix(5, 6).UTC()
	if err := j.Move(ctx, r.Key, delegation.StateStarting, delegation.StateRunning, Change{Started: started}); err != nil {
		t.Fatal(err)
	}
	zero := 0
	last := Change{
		Reason: delegation.ReasonExited, ExitCode: &zero, StdoutTail: "out", StderrTail: "err", Ended: time.Unix(7, 8).UTC(),
		Code: delegation.CodeInternal, Field: "f", Hint: "h", Text: "t",
		Timings: &delegation.Timings{Run: 2}, Usage: &delegation.Usage{OutputBytes: 6}, Answered: true,
	}
	if err := j.Move(ctx, r.Key, delegation.StateRunning, delegation.StateEnded, last); err != nil {
		t.Fatal(err)
	}
	want := r
	want.Seq, want.State, want.Reason, want.ExitCode = 1, delegation.StateEnded, delegation.ReasonExited, &zero
	want.StdoutTail, want.StderrTail, want.Started, want.Ended = "out", "err", started, last.Ended
	want.Code, want.Field, want.Hint, want.Text = last.Code, "f", "h", "t"
	want.Timings, want.Usage, want.Answered, want.Handle, want.Launcher = last.Timings, last.Usage, true, &handle, "docker"
	want.Sandbox, want.Attestation, want.Terms, want.Made = "a1", &seen, &terms, made
	got := get(t, j, r.Key)
	want.Created, want.Starting, want.Released = got.Created, got.Starting, got.Released
	want.ReleasedIn = got.ReleasedIn
	if passed, known := got.ReleasedIn.Since(); !known || passed < 0 || passed > time.Minute {
		t.Errorf("released %+v, which is %s ago", got.ReleasedIn, passed)
	}
	if got.Starting.Before(got.Created) || got.Released.Before(got.Made) || !got.AnsweredAt.IsZero() {
		t.Errorf("queued %v, starting %v, made %v, released %v, answered %v", got.Created, got.Starting, got.Made, got.Released, got.AnsweredAt)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the row is\n%+v, want\n%+v", got, want)
	}
	if want := (&delegation.Refusal{Code: delegation.CodeInternal, Field: "f", Hint: "h", Text: "t"}); !reflect.DeepEqual(got.Refusal(), want) {
		t.Errorf("Refusal() = %+v, want %+v", got.Refusal(), want)
	}
}

func TestMoveRefusesMistakes(t *testing.T) {
	j := open4test(t, state(t))
	r := begin(t, j, queued(t, "main", "a", "r1"))
	for name, m := range map[string]struct {
		to delegation.State
		c  Change
	}{
		"end without reason":       {delegation.StateEnded, Change{}},
		"exit without code":        {delegation.StateEnded, Change{Reason: delegation.ReasonExited}},
		"reason without end":       {delegation.StateStarting, Change{Reason: delegation.ReasonLost}},
		"answered before it ended": {delegation.StateStarting, Change{Answered: true}},
	} {
		if err := j.Move(context.Background(), r.Key, delegation.StateQueued, m.to, m.c); !errors.Is(err, ErrIllegal) {
			t.Errorf("%s: %v, want ErrIllegal", name, err)
		}
	}
}

func TestReleaseAndAnswerHaveTheirTime(t *testing.T) {
	ctx := context.Background()
	j := open4test(t, state(t))
	for _, at := range allStates {
		r := begin(t, j, queued(t, "main", "a", string(at)))
		bring(t, j, r.Key, at)
		if err := j.Release(ctx, r.Key, sandbox.Handle{ID: "x"}, time.Now(), sandbox.Attestation{}, sandbox.Spec{}); (err == nil) != (at == delegation.StateStarting) ||
			err != nil && !errors.Is(err, ErrMoved) {
			t.Errorf("Release of a run that is %s: %v", at, err)
		}
		if got := get(t, j, r.Key).Handle; (got != nil) != (at == delegation.StateStarting) {
			t.Errorf("a run that is %s has the handle %v", at, got)
		}
		for range 2 {
			if err := j.NoteAnswered(ctx, r.Key); (err == nil) != (at == delegation.StateEnded) || err != nil && !errors.Is(err, ErrMoved) {
				t.Errorf("Answered of a run that is %s: %v", at, err)
			}
		}
		used := delegation.Usage{Model: &delegation.ModelUsage{Requests: 3}}
		if err := j.NoteUsage(ctx, r.Key, used); (err == nil) != (at == delegation.StateEnded) || err != nil && !errors.Is(err, ErrMoved) {
			t.Errorf("NoteUsage of a run that is %s: %v", at, err)
		}
		if got := get(t, j, r.Key).Usage; (got != nil && got.Model != nil && got.Model.Requests == 3) != (at == delegation.StateEnded) {
			t.Errorf("a run that is %s has used %+v", at, got)
		}
		if got := get(t, j, r.Key).Answered; got != (at == delegation.StateEnded) {
			t.Errorf("a run that is %s is answered: %v", at, got)
		}
	}
	if err := j.NoteAnswered(ctx, "none"); !errors.Is(err, ErrUnknown) {
		t.Errorf("Answered of an unknown run: %v", err)
	}
	if err := j.Release(ctx, "none", sandbox.Handle{}, time.Now(), sandbox.Attestation{}, sandbox.Spec{}); !errors.Is(err, ErrUnknown) {
		t.Errorf("Release of an unknown run: %v", err)
	}
}

// TestARunIsReleasedForTheSandboxThatItIsBoundTo, and may be bound to another one only before.
func TestARunIsReleasedForTheSandboxThatItIsBoundTo(t *testing.T) {
	ctx := context.Background()
	j := open4test(t, state(t))
	r := begin(t, j, queued(t, "main", "a", "r1"))
	if err := j.Bind(ctx, r.Key, "b1"); !errors.Is(err, ErrMoved) {
		t.Errorf("a run that is queued was bound: %v", err)
	}
	must(t, j.Move(ctx, r.Key, delegation.StateQueued, delegation.StateStarting, Change{Sandbox: "a1"}))
	must(t, j.Bind(ctx, r.Key, "b1"))
	release := func(id sandbox.SandboxID) error {
		return j.Release(ctx, r.Key, sandbox.Handle{ID: "c", Sandbox: id}, time.Now(), sandbox.Attestation{}, sandbox.Spec{})
	}
	if err := release("a1"); !errors.Is(err, ErrMoved) {
		t.Errorf("a run was released for a sandbox that it is not bound to any more: %v", err)
	}
	must(t, release("b1"))
	must(t, release("b1")) // a call that failed may have been made
	if err := j.Bind(ctx, r.Key, "c1"); !errors.Is(err, ErrMoved) {
		t.Errorf("a run that was released was bound to another sandbox: %v", err)
	}
	if err := release("c1"); !errors.Is(err, ErrMoved) {
		t.Errorf("a run was released twice: %v", err)
	}
	if got := get(t, j, r.Key); got.Sandbox != "b1" || got.Handle == nil || got.Released.IsZero() {
		t.Errorf("the row is %+v", got)
	}
}
