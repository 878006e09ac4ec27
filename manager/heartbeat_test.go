package manager

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"torno/delegation"
)

// diary is what a Wait told, one line for each change, with the seconds since it began.
type diary struct {
	began time.Time
	lines []string
	at    []time.Duration
}

func (d *diary) tell(p WaitUpdate) {
	line := string(p.State)
	switch {
	case p.NotServing != nil && p.NotServing.Stopped:
		line += " stopped"
	case p.NotServing != nil:
		line += " nobody"
	case len(p.Notices) > 0:
		line += " " + p.Notices[0].Text
	case p.Position > 0:
		line += strings.Repeat(" .", p.Position)
	}
	d.lines, d.at = append(d.lines, line), append(d.at, time.Since(d.began))
}

// wait waits for a run and writes a diary.
func (h *host) wait(r *Run) (*diary, Result, error) {
	h.t.Helper()
	d := &diary{began: time.Now()}
	result, err := r.WaitWithUpdates(h.t.Context(), d.tell)
	return d, result, err
}

func TestWaitTellsWhatChanges(t *testing.T) {
	in(t, func(t *testing.T, h *host) {
		h.live()
		run := h.spawn(h.client(Options{}), SpawnOptions{ID: "s1"})
		place := func(n int) func(*delegation.RunStatus) {
			return func(s *delegation.RunStatus) { s.Position = n }
		}
		h.tell(run, delegation.StateQueued, place(2))
		h.later(time.Second, func() { h.tell(run, delegation.StateQueued, place(1)) })
		h.later(2*time.Second, func() { h.tell(run, delegation.StateRunning) })
		h.later(3*time.Second, func() {
			must(0, h.rewrite(func(b *delegation.Heartbeat) {
				b.Notices = delegation.Notices{{Code: delegation.NoticeLauncher, Text: "the launcher is silent"}}
			}))
		})
		h.later(9*time.Second, func() { h.respond(run) })
		d, _, err := h.wait(run)
		want := []string{"queued . .", "queued .", "running", "running the launcher is silent", "running"}
		if err != nil || !slices.Equal(d.lines, want) {
			t.Errorf("told %q, want %q, %v", d.lines, want, err)
		}
	})
}

// The watcher is killed in the middle of a wait, and a later one answers.
func TestWaitOutlivesTheWatcher(t *testing.T) {
	in(t, func(t *testing.T, h *host) {
		die := h.live()
		run := h.spawn(h.client(Options{}), SpawnOptions{ID: "s1"})
		h.tell(run, delegation.StateRunning)
		h.later(8*time.Second, die)
		h.later(50*time.Second, func() { h.sendBeat(); h.live() })
		h.later(55*time.Second, func() { h.respond(run) })
		d, result, err := h.wait(run)
		if err != nil || !result.Completed() || !slices.Equal(d.lines, []string{"running", "running nobody", "running"}) {
			t.Fatalf("told %q, %+v, %v", d.lines, result, err)
		}
		if d.at[1] < 20*time.Second || d.at[1] > 24*time.Second || d.at[2] < 50*time.Second || d.at[2] > 51*time.Second {
			t.Errorf("told after %v", d.at)
		}
	})
}

func TestWaitHasPatience(t *testing.T) {
	for name, c := range map[string]struct {
		patience time.Duration
		end      func(h *host) // 22 seconds after the beginning, 2 behind a beat
		want     time.Duration
		told     string
	}{
		"with one who died":    {0, func(*host) {}, 80 * time.Second, "nobody"},
		"as it is told":        {5 * time.Minute, func(*host) {}, 320 * time.Second, "nobody"},
		"with one who stopped": {30 * time.Second, stops, 52 * time.Second, "stopped"},
		"none":                 {-1, stops, 22 * time.Second, ""},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, h *host) {
				die := h.live()
				run := h.spawn(h.client(Options{Patience: c.patience}), SpawnOptions{ID: "s1", Timeout: time.Hour})
				h.later(22*time.Second, func() { die(); c.end(h) })
				d, _, err := h.wait(run)
				if !errors.Is(err, ErrNobodyServing) {
					t.Errorf("error %v", err)
				}
				if waited := time.Since(d.began); waited < c.want || waited > c.want+time.Second {
					t.Errorf("waited %v, want %v", waited, c.want)
				}
				if got := strings.TrimSpace(d.lines[len(d.lines)-1]); got != c.told {
					t.Errorf("told %q", d.lines)
				}
				if !slices.Contains(h.names(), "request_s1.json") || slices.Contains(h.names(), "cancel_s1") {
					t.Errorf("a later watcher does not find the run as it was: %q", h.names())
				}
			})
		})
	}
}

// stops is a watcher's last beat.
func stops(h *host) {
	must(0, h.rewrite(func(b *delegation.Heartbeat) { b.Stopping, b.Stopped, b.BeatAt = true, true, time.Now() }))
}

// A Wait that begins when no watcher serves any more says so at once, or after a second look where only a clock tells.
func TestWaitWhereNobodyServesAnyMore(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(h *host) error
		want  time.Duration
	}{
		"never there": {func(h *host) error { return os.Remove(h.join("watcher.json")) }, 0},
		"stopped": {func(h *host) error {
			<-time.After(10 * time.Minute)
			stops(h)
			<-time.After(10 * time.Minute)
			return nil
		}, 0},
		"dead": {func(*host) error { <-time.After(10 * time.Minute); return nil }, 5500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, h *host) {
				run := h.spawn(h.client(Options{}), SpawnOptions{ID: "s1"})
				must(0, c.spoil(h))
				began := time.Now()
				if _, err := run.Wait(t.Context()); !errors.Is(err, ErrNobodyServing) {
					t.Errorf("error %v", err)
				}
				if waited := time.Since(began); waited < c.want || waited > c.want+time.Second {
					t.Errorf("it took %v, want %v", waited, c.want)
				}
			})
		})
	}
}

// A watcher that died just before is not believed alive for longer than three beats.
func TestWaitBelievesTheAgeOfABeat(t *testing.T) {
	in(t, func(t *testing.T, h *host) {
		run := h.spawn(h.client(Options{Patience: -1}), SpawnOptions{ID: "s1"})
		<-time.After(9 * time.Second) // since the only beat
		began := time.Now()
		if _, err := run.Wait(t.Context()); !errors.Is(err, ErrNobodyServing) {
			t.Errorf("error %v", err)
		}
		if waited := time.Since(began); waited < 6*time.Second || waited > 7*time.Second {
			t.Errorf("noticed after %v", waited)
		}
	})
}

// The host's clock was set back by an hour, or ours ahead: a heart that beats is alive.
func TestClocksThatJump(t *testing.T) {
	in(t, func(t *testing.T, h *host) {
		late, stop := h.beat, make(chan struct{})
		beat := func() {
			late.BeatAt = time.Now().Add(-time.Hour)
			h.publish(delegation.HeartbeatName, must(late.Encode()))
		}
		beat()
		done := make(chan struct{})
		go func() {
			defer close(done)
			for tick := time.NewTicker(5 * time.Second); ; {
				select {
				case <-tick.C:
					beat()
				case <-stop:
					tick.Stop()
					return
				}
			}
		}()
		defer func() { close(stop); <-done }()
		m := h.client(Options{Patience: -1})
		if _, err := m.Serving(); !errors.Is(err, ErrNobodyServing) {
			t.Fatalf("the oracle is dead: by the clock, error %v", err)
		}
		run := h.spawn(m, SpawnOptions{ID: "s1"})
		h.later(4*time.Minute, func() { h.respond(run) })
		if _, err := run.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestSpawnThatLooksTwiceEndsWithItsContext(t *testing.T) {
	in(t, func(t *testing.T, h *host) {
		<-time.After(time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := h.client(Options{}).Spawn(ctx, SpawnOptions{Task: "true"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		h.untouched()
	})
}

// The heartbeat is missing for a moment, after something else stood in its place.
func TestWaitDoesNotMistakeAGapForNobody(t *testing.T) {
	in(t, func(t *testing.T, h *host) {
		run := h.spawn(h.client(Options{}), SpawnOptions{ID: "s1"})
		must(0, errors.Join(os.Remove(h.join("watcher.json")), os.Mkdir(h.join("watcher.json"), 0o700)))
		h.later(2*time.Second, func() { must(0, os.Remove(h.join("watcher.json"))) })
		h.later(4*time.Second, func() { h.sendBeat(); h.live() })
		h.later(40*time.Second, func() { h.respond(run) })
		if d, _, err := h.wait(run); err != nil || len(d.lines) != 1 {
			t.Errorf("told %q, %v", d.lines, err)
		}
	})
}
