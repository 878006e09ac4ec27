package manager

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"torno/delegation"
)

// in runs a test in a bubble: its clock jumps ahead whenever all goroutines wait.
func in(t *testing.T, test func(t *testing.T, h *host)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newHost(t)) })
}

func TestWaitReturnsTheResultAndLeavesNothing(t *testing.T) {
	in(t, func(t *testing.T, h *host) {
		m := h.client(Options{})
		run := h.spawn(m, SpawnOptions{ID: "s1"})
		write(t, run.Workspace()+"/answer.txt", "42\n")
		h.respond(run, func(r *delegation.Response) {
			r.StdoutTail, r.Warnings, r.Timings = "out", []string{"slow"}, &delegation.Timings{Run: 7}
		})
		result, err := take(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		if result.Answer != "42\n" || result.Partial || result.AnswerTruncated || !result.Completed() {
			t.Errorf("result %+v", result)
		}
		if result.StdoutTail != "out" || result.Timings.Run != 7 || !slices.Equal(result.Warnings, []string{"slow"}) {
			t.Errorf("result %+v", result)
		}
		if left := h.names(); len(left) != 0 {
			t.Errorf("left in the outbox: %q", left)
		}
	})
}

func TestWaitTakesNoOtherResponse(t *testing.T) {
	for name, change := range map[string]func(*delegation.Response){
		"of an earlier request": func(r *delegation.Response) { r.RequestID = "9f2c4e1ab0d37755" },
		"of another subagent":   func(r *delegation.Response) { r.SubagentID = "s2" },
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, h *host) {
				h.live()
				run := h.spawn(h.client(Options{}), SpawnOptions{ID: "s1"})
				h.respond(run, change, func(r *delegation.Response) { r.StdoutTail = "forged" })
				h.later(time.Minute, func() { h.respond(run, func(r *delegation.Response) { r.StdoutTail = "true" }) })
				result, err := run.Wait(t.Context())
				if err != nil || result.StdoutTail != "true" {
					t.Errorf("got %q, %v", result.StdoutTail, err)
				}
			})
		})
	}
}

// A planted thing in the place of the response must neither be followed nor end the wait; the host replaces it.
func TestWaitOutlastsWhatIsNoResponse(t *testing.T) {
	secret := t.TempDir() + "/secret"
	for name, plant := range map[string]func(path string, good []byte) error{
		"torn":          func(path string, good []byte) error { return os.WriteFile(path, good[:len(good)/2], 0o600) },
		"empty":         func(path string, _ []byte) error { return os.WriteFile(path, nil, 0o600) },
		"not an object": func(path string, _ []byte) error { return os.WriteFile(path, []byte("[1]"), 0o600) },
		"another version": func(path string, good []byte) error {
			return os.WriteFile(path, []byte(strings.Replace(string(good), `"version": 1`, `"version": 2`, 1)), 0o600)
		},
		"link to a good one": func(path string, good []byte) error {
			return errors.Join(os.WriteFile(secret, good, 0o600), os.Symlink(secret, path))
		},
		"second name of a good one": func(path string, good []byte) error {
			return errors.Join(os.WriteFile(path+".other", good, 0o600), os.Link(path+".other", path))
		},
		"FIFO":  func(path string, _ []byte) error { return mkfifo(path) },
		"10 GB": func(path string, _ []byte) error { return sparse(path, 10<<30) },
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, h *host) {
				h.live()
				run := h.spawn(h.client(Options{}), SpawnOptions{ID: "s1"})
				planted := func(r *delegation.Response) { r.StdoutTail = "planted" }
				h.respond(run, planted)
				path := h.join("response_s1.json")
				good := must(os.ReadFile(path))
				if err := errors.Join(os.Remove(path), plant(path, good)); err != nil {
					t.Fatal(err)
				}
				h.later(10*time.Second, func() { h.respond(run) })
				began := time.Now()
				result, err := run.Wait(t.Context())
				if err != nil || result.StdoutTail != "" {
					t.Errorf("took %q, %v", result.StdoutTail, err)
				}
				if waited := time.Since(began); waited < 10*time.Second || waited > 11*time.Second {
					t.Errorf("waited %v", waited)
				}
			})
		})
	}
}

func TestWaitInTheQueueHasNoLimit(t *testing.T) {
	in(t, func(t *testing.T, h *host) {
		h.live()
		run := h.spawn(h.client(Options{Poll: 10 * time.Second}), SpawnOptions{ID: "s1", Timeout: time.Minute})
		h.tell(run, delegation.StateQueued)
		h.later(2*time.Hour, func() { h.respond(run) })
		if _, err := run.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestWaitGivesUpWhereNothingComes(t *testing.T) {
	since := func(run, grant time.Duration) func(*delegation.RunStatus) {
		return func(s *delegation.RunStatus) {
			s.RunningSince = time.Now().Add(run - 9*time.Hour) // the host's clock is another one
			s.Deadline = s.RunningSince.Add(grant)
		}
	}
	for name, c := range map[string]struct {
		tell func(h *host, r *Run)
		want time.Duration
	}{
		"nothing is said": {func(*host, *Run) {}, time.Minute + Grace},
		"running":         {func(h *host, r *Run) { h.tell(r, delegation.StateRunning) }, time.Minute + Grace},
		"the host granted more": {func(h *host, r *Run) {
			h.tell(r, delegation.StateRunning, since(0, 2*time.Minute))
		}, 2*time.Minute + Grace},
		"the host claims less": {func(h *host, r *Run) {
			h.tell(r, delegation.StateRunning, since(0, -time.Hour))
		}, time.Minute + Grace},
		"ended": {func(h *host, r *Run) { h.tell(r, delegation.StateEnded) }, Grace},
		"running after a while in the queue": {func(h *host, r *Run) {
			h.tell(r, delegation.StateQueued)
			h.later(10*time.Minute, func() { h.tell(r, delegation.StateRunning) })
		}, 11*time.Minute + Grace},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, h *host) {
				h.live()
				run := h.spawn(h.client(Options{Poll: time.Second}), SpawnOptions{ID: "s1", Timeout: time.Minute})
				c.tell(h, run)
				began := time.Now()
				_, err := run.Wait(t.Context())
				if !errors.Is(err, ErrOverdue) {
					t.Errorf("error %v", err)
				}
				if waited := time.Since(began); waited < c.want || waited > c.want+time.Second {
					t.Errorf("waited %v, want %v", waited, c.want)
				}
				if !slices.Contains(h.names(), "cancel_s1") {
					t.Error("the child was left to run")
				}
			})
		})
	}
}

func TestWaitNoticesThatTheWatcherDied(t *testing.T) {
	in(t, func(t *testing.T, h *host) {
		die := h.live()
		run := h.spawn(h.client(Options{Patience: -1}), SpawnOptions{ID: "s1"})
		h.tell(run, delegation.StateQueued)
		h.later(10*time.Minute, die)
		began := time.Now()
		_, err := run.Wait(t.Context())
		if !errors.Is(err, ErrNobodyServing) {
			t.Errorf("error %v", err)
		}
		if waited := time.Since(began) - 10*time.Minute; waited < 10*time.Second || waited > 16*time.Second {
			t.Errorf("noticed after %v", waited)
		}
		if !slices.Contains(h.names(), "request_s1.json") {
			t.Error("the request is gone, so a new watcher would not answer")
		}
	})
}

func TestWaitIsNotFooledByABeatFromTheFuture(t *testing.T) {
	in(t, func(t *testing.T, h *host) {
		run := h.spawn(h.client(Options{Patience: -1}), SpawnOptions{ID: "s1"})
		h.beat.BeatAt = time.Now().Add(1000 * time.Hour)
		h.publish(delegation.HeartbeatName, must(h.beat.Encode()))
		h.tell(run, delegation.StateQueued)
		began := time.Now()
		if _, err := run.Wait(t.Context()); !errors.Is(err, ErrNobodyServing) {
			t.Errorf("error %v", err)
		}
		if waited := time.Since(began); waited > time.Minute {
			t.Errorf("noticed after %v", waited)
		}
	})
}

func TestWaitTrustsABeatThatMovesWhateverItsClock(t *testing.T) {
	in(t, func(t *testing.T, h *host) {
		run := h.spawn(h.client(Options{}), SpawnOptions{ID: "s1"})
		late := h.beat
		var beats func(left int)
		beats = func(left int) {
			late.BeatAt = time.Now().Add(-time.Hour)
			h.publish(delegation.HeartbeatName, must(late.Encode()))
			if left > 0 {
				h.later(5*time.Second, func() { beats(left - 1) })
			}
		}
		h.later(5*time.Second, func() { beats(45) })
		h.later(4*time.Minute, func() { h.respond(run) })
		if _, err := run.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestWaitEndsWhenTheRequestIsNoLongerThere(t *testing.T) {
	for name, c := range map[string]struct {
		act  func(m *Manager, run *Run) error
		want error
	}{
		"withdrawn": {func(m *Manager, _ *Run) error { return m.Withdraw("s1") }, ErrGone},
		"superseded": {func(m *Manager, _ *Run) error {
			_, err := m.Spawn(context.Background(), SpawnOptions{ID: "s1", Task: "true", Replace: true})
			return err
		}, ErrSuperseded},
		"the outbox was moved": {func(m *Manager, _ *Run) error {
			return os.Rename(m.Outbox(), m.Outbox()+".old")
		}, delegation.ErrMoved},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, h *host) {
				m := h.client(Options{})
				run := h.spawn(m, SpawnOptions{ID: "s1"})
				h.later(3*time.Second, func() {
					if err := c.act(m, run); err != nil {
						t.Error(err)
					}
				})
				if _, err := run.Wait(t.Context()); !errors.Is(err, c.want) {
					t.Errorf("error %v, want %v", err, c.want)
				}
			})
		})
	}
}

func TestWaitSaysWhyItsContextEnded(t *testing.T) {
	in(t, func(t *testing.T, h *host) {
		why := errors.New("the parent has enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		_, err := h.spawn(h.client(Options{}), SpawnOptions{ID: "s1"}).Wait(ctx)
		if !errors.Is(err, why) || !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
}

func TestAbandonedRun(t *testing.T) {
	for name, c := range map[string]struct {
		cancel bool
		want   []string
	}{
		"goes on by default":       {false, []string{"request_s1.json"}},
		"leaves nothing on demand": {true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, h *host) {
				h.live()
				run := h.spawn(h.client(Options{}), SpawnOptions{ID: "s1", CancelOnDone: c.cancel})
				ctx, cancel := context.WithTimeout(t.Context(), 11*time.Second) // between two beats
				defer cancel()
				if _, err := run.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error %v", err)
				}
				if got := h.names(); !slices.Equal(got, c.want) {
					t.Errorf("in the outbox: %q, want %q", got, c.want)
				}
			})
		})
	}
}
