package manager

import (
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"torno/delegation"
)

// A status that goes to and fro, or grants a hundred years, keeps no client waiting.
func TestWaitEndsWhateverAStatusClaims(t *testing.T) {
	for name, c := range map[string]struct {
		states []delegation.State
		want   time.Duration
	}{
		"back in the queue":       {[]delegation.State{delegation.StateRunning, delegation.StateQueued}, time.Minute + Grace},
		"waiting again and again": {[]delegation.State{delegation.StateRunning, delegation.StateWaiting}, time.Minute + Grace},
		"ended, and not":          {[]delegation.State{delegation.StateEnded, delegation.StateRunning}, Grace},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, h *host) {
				h.live()
				run := h.spawn(h.client(Options{}), SpawnOptions{ID: "s1", Timeout: time.Minute})
				h.tell(run, c.states[0])
				for n := range 100 {
					h.later(time.Duration(n+1)*time.Second, func() { h.tell(run, c.states[(n+1)%2]) })
				}
				began := time.Now()
				if _, err := run.Wait(t.Context()); !errors.Is(err, ErrOverdue) {
					t.Errorf("error %v", err)
				}
				if waited := time.Since(began); waited < c.want || waited > c.want+time.Second {
					t.Errorf("waited %v, want %v", waited, c.want)
				}
			})
		})
	}
}

func TestGrants(t *testing.T) {
	since := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	run := Run{timeout: time.Minute}
	for deadline, want := range map[time.Time]time.Duration{
		{}: time.Minute, since: time.Minute, since.Add(-time.Hour): time.Minute, since.Add(time.Hour): time.Hour,
		since.AddDate(7000, 0, 0): time.Minute + maxGrant,
	} {
		if got := run.granted(delegation.RunStatus{RunningSince: since, Deadline: deadline}); got != want {
			t.Errorf("until %v: %v, want %v", deadline, got, want)
		}
	}
}

// A second attempt is a run of its own.
func TestWaitGivesANewAttemptItsTime(t *testing.T) {
	in(t, func(t *testing.T, h *host) {
		h.live()
		run := h.spawn(h.client(Options{}), SpawnOptions{ID: "s1", Timeout: time.Minute})
		attempt := func(n int) func(*delegation.RunStatus) { return func(s *delegation.RunStatus) { s.Attempt = n } }
		h.tell(run, delegation.StateRunning, attempt(1))
		h.later(50*time.Second, func() { h.tell(run, delegation.StateQueued, attempt(2)) })
		h.later(10*time.Minute, func() { h.tell(run, delegation.StateRunning, attempt(2)) })
		h.later(10*time.Minute+80*time.Second, func() { h.respond(run) })
		if _, err := run.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// What keeps the response from coming is in the error, since only its owner can take it away.
func TestOverdueSaysWhatIsInTheWay(t *testing.T) {
	for what, plant := range map[string]func(path string) error{
		"a directory":  func(path string) error { return os.Mkdir(path, 0o700) },
		"a named pipe": mkfifo,
		"Unsupported delegation protocol version": func(path string) error { return os.WriteFile(path, []byte(future), 0o600) },
		"it answers another request": func(path string) error {
			return os.WriteFile(path, []byte(strings.Replace(future, `"version":2`, `"version":1`, 1)), 0o600)
		},
	} {
		t.Run(what, func(t *testing.T) {
			in(t, func(t *testing.T, h *host) {
				h.live()
				run := h.spawn(h.client(Options{}), SpawnOptions{ID: "s1"})
				must(0, plant(h.join("response_s1.json")))
				if _, err := run.Wait(t.Context()); !errors.Is(err, ErrOverdue) || !strings.Contains(err.Error(), what) {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}

const future = `{"version":2,"subagent_id":"s1","request_id":"another","status":"completed","exit_code":0}`

// The deadline passes while no watcher serves: that is the reason, and a later watcher finds no order to end the run.
func TestOverdueWithoutAWatcher(t *testing.T) {
	in(t, func(t *testing.T, h *host) {
		die := h.live()
		run := h.spawn(h.client(Options{Patience: time.Hour}), SpawnOptions{ID: "s1", Timeout: time.Second})
		h.later(5*time.Second, die)
		began := time.Now()
		_, err := run.Wait(t.Context())
		if !errors.Is(err, ErrNobodyServing) || errors.Is(err, ErrOverdue) || slices.Contains(h.names(), "cancel_s1") {
			t.Errorf("error %v, in the outbox %q", err, h.names())
		}
		if waited := time.Since(began); waited > Grace+2*time.Second {
			t.Errorf("waited %v", waited)
		}
	})
}

// A name may claim any number. Counting on from the highest would begin again below the first.
func TestEventsEndBehindTheHighestNumber(t *testing.T) {
	h := newHost(t)
	run := h.spawn(h.client(Options{}), SpawnOptions{ID: "s1"})
	h.segment(run, 1, 1, "a")
	for i, n := range []int{lastSegment, lastSegment + 1, math.MaxInt64 - 1, math.MaxInt64} {
		h.segment(run, n, int64(10+i), "planted")
	}
	got, err := told(t.Context(), run, 1, false)
	if want := []string{"1 a", "2 gap", "10 planted"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("told %q, want %q, %v", got, want, err)
	}
}
