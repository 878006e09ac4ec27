package manager

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"torno/delegation"
)

// Whenever a client that cancels on done leaves, nothing of its run is in the outbox, whatever the watcher wrote.
func TestAnAbandonedWaitLeavesNothing(t *testing.T) {
	const seconds = 8
	for at := range 2 * seconds {
		after := time.Duration(at)*500*time.Millisecond + 250*time.Millisecond // between what the host does
		t.Run(after.String(), func(t *testing.T) {
			in(t, func(t *testing.T, h *host) {
				run := h.spawn(h.client(Options{}), SpawnOptions{ID: "s1", CancelOnDone: true})
				h.during(2*time.Second, run, func() { h.tell(run, delegation.StateRunning) })
				h.during(3*time.Second, run, func() { h.segment(run, 1, 1, "a") })
				h.during(4*time.Second, run, func() { must(0, run.Cancel(context.Background())) })
				h.during(6*time.Second, run, func() { h.respond(run) })
				h.later(time.Second, func() { stops(h) }) // from here on no watcher cleans up
				ctx, cancel := context.WithTimeout(t.Context(), after)
				defer cancel()
				if _, err := take(ctx, run); err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error %v", err)
				}
				if left := h.names(); after >= time.Second && len(left) > 0 {
					t.Errorf("left in the outbox: %q", left)
				}
				if left := h.names(); slices.Contains(left, "request_s1.json") || slices.Contains(left, "cancel_s1") {
					t.Errorf("left in the outbox: %q", left)
				}
			})
		})
	}
}

// during does something later if the run's request is still there, as a watcher does.
func (h *host) during(d time.Duration, r *Run, do func()) {
	h.later(d, func() {
		if _, err := h.dir.Stat(delegation.RequestName(r.id)); err == nil {
			do()
		}
	})
}

// A later request of the same subagent is not removed when a client leaves the earlier one.
func TestAnAbandonedWaitRemovesNothingOfOthers(t *testing.T) {
	in(t, func(t *testing.T, h *host) {
		m := h.client(Options{})
		first := h.spawn(m, SpawnOptions{ID: "s1", CancelOnDone: true})
		h.spawn(m, SpawnOptions{ID: "s1", Replace: true})
		h.segment(first, 1, 1, "a")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := first.Wait(ctx); !errors.Is(err, ErrSuperseded) {
			t.Errorf("error %v", err)
		}
		if !slices.Contains(h.names(), "request_s1.json") {
			t.Error("the later request is gone")
		}
	})
}

// What stands where the request was is not ours to remove, and is said.
func TestAnAbandonedWaitAndAPlantedRequest(t *testing.T) {
	in(t, func(t *testing.T, h *host) {
		run := h.spawn(h.client(Options{}), SpawnOptions{ID: "s1", CancelOnDone: true})
		if err := errors.Join(os.Remove(h.join("request_s1.json")), mkfifo(h.join("request_s1.json"))); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := run.Wait(ctx); !errors.Is(err, delegation.ErrNotRegular) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

// A new process needs nothing but the outbox in order to go on: it lists, waits and cancels what an earlier one asked for.
func TestANewClientGoesOn(t *testing.T) {
	in(t, func(t *testing.T, h *host) {
		h.live()
		workspace := t.TempDir()
		earlier := must(New(h.path, Options{}))
		for id, o := range map[string]SpawnOptions{
			"waits": {AnswerFile: "out/a.md", Workspace: workspace, Timeout: time.Minute}, "ends": {}, "gives-up": {},
		} {
			o.ID = id
			h.spawn(earlier, o)
		}
		must(0, earlier.Close())
		later := h.client(Options{})
		list := must(later.List(t.Context()))
		if len(list.Items) != 3 {
			t.Fatalf("found %+v", list.Items)
		}
		write(t, workspace+"/out/a.md", "42")
		waits, ends, gives := must(later.Attach("waits")), must(later.Attach("ends")), must(later.Attach("gives-up"))
		h.later(time.Minute, func() { h.respond(waits) })
		if result, err := take(t.Context(), waits); err != nil || result.Answer != "42" {
			t.Errorf("%+v, %v", result, err)
		}
		must(0, ends.Cancel(t.Context()))
		h.later(time.Second, func() { h.respond(ends) })
		if _, err := take(t.Context(), ends); err != nil {
			t.Error(err)
		}
		must(0, gives.Withdraw())
		if left := h.names(); len(left) > 0 {
			t.Errorf("left in the outbox: %q", left)
		}
	})
}
