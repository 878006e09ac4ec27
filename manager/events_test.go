package manager

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"torno/delegation"
)

// segment publishes lines of output, numbered from seq, as a segment of a run.
func (h *host) segment(r *Run, number int, seq int64, lines ...string) {
	h.t.Helper()
	var events []delegation.Event
	for i, line := range lines {
		e := delegation.Event{Seq: seq + int64(i), Time: time.Now(), Type: delegation.EventStdout, Text: line}
		if line == "ended" {
			e.Type, e.Text, e.State = delegation.EventState, "", delegation.StateEnded
		}
		events = append(events, e)
	}
	h.publish(delegation.EventsName(r.id, r.request, number), must(delegation.EncodeEvents(events)))
}

// told collects what a stream yields, one word for each event.
func told(ctx context.Context, r *Run, from int64, follow bool) (words []string, err error) {
	for e, err := range r.Events(ctx, from, follow) {
		if err != nil {
			return words, err
		}
		word := e.Text
		if e.Type != delegation.EventStdout {
			word = string(e.Type)
		}
		words = append(words, fmt.Sprint(e.Seq, " ", word))
	}
	return words, nil
}

func TestEventsThatAreThere(t *testing.T) {
	for name, c := range map[string]struct {
		from    int64
		publish func(h *host, r *Run)
		want    []string
	}{
		"none": {1, func(*host, *Run) {}, nil},
		"in order": {1, func(h *host, r *Run) {
			h.segment(r, 1, 1, "a", "b")
			h.segment(r, 2, 3, "c")
		}, []string{"1 a", "2 b", "3 c"}},
		"of this run": {1, func(h *host, r *Run) {
			other := *r
			other.request = must(delegation.ParseRequestID("other"))
			h.segment(r, 1, 1, "a")
			h.segment(&other, 1, 1, "x")
			h.segment(&other, 2, 2, "y")
		}, []string{"1 a"}},
		"from a number on": {2, func(h *host, r *Run) {
			h.segment(r, 1, 1, "a", "b")
			h.segment(r, 2, 3, "c")
		}, []string{"2 b", "3 c"}},
		"until the end": {1, func(h *host, r *Run) {
			h.segment(r, 1, 1, "a", "ended")
			h.segment(r, 2, 3, "c")
		}, []string{"1 a", "2 state"}},
		"the first are gone": {1, func(h *host, r *Run) {
			h.segment(r, 9, 80, "a")
			h.segment(r, 10, 81, "b")
		}, []string{"1 gap", "80 a", "81 b"}},
		"the first are gone and not wanted": {80, func(h *host, r *Run) {
			h.segment(r, 9, 80, "a")
		}, []string{"80 a"}},
		"some are gone": {1, func(h *host, r *Run) {
			h.segment(r, 1, 1, "a")
			h.segment(r, 12, 90, "b")
		}, []string{"1 a", "2 gap", "90 b"}},
		"a link among them": {1, func(h *host, r *Run) {
			h.segment(r, 1, 1, "a")
			write(h.t, h.join("secret"), `{"seq":2,"time":"2026-11-21T10:00:00Z","type":"stdout","text":"secret"}`+"\n")
			if err := os.Symlink("secret", h.join(delegation.EventsName(r.id, r.request, 2))); err != nil {
				h.t.Fatal(err)
			}
			h.segment(r, 3, 5, "b")
		}, []string{"1 a", "2 gap", "5 b"}},
		"a torn one": {1, func(h *host, r *Run) {
			h.segment(r, 1, 1, "a", "b")
			name := h.join(delegation.EventsName(r.id, r.request, 1))
			data := must(os.ReadFile(name))
			write(h.t, name, string(data[:len(data)-5]))
			h.segment(r, 2, 3, "c")
		}, []string{"1 a", "2 gap", "3 c"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			run := h.spawn(h.client(Options{}), SpawnOptions{ID: "s1"})
			c.publish(h, run)
			got, err := told(t.Context(), run, c.from, false)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("told %q, want %q, %v", got, c.want, err)
			}
		})
	}
}

func TestEventsFollowARun(t *testing.T) {
	for name, c := range map[string]struct {
		at   time.Duration
		end  func(h *host, m *Manager, r *Run)
		want []string
	}{
		"until it says that it ended": {6 * time.Second, func(h *host, _ *Manager, r *Run) { h.segment(r, 3, 3, "ended") }, []string{"1 a", "2 b", "3 state"}},
		// The outbox was listed for the segment after b just before, and is listed all the same.
		"until it is answered": {4*time.Second + 300*time.Millisecond, func(h *host, _ *Manager, r *Run) {
			h.segment(r, 7, 3, "c")
			h.respond(r)
		}, []string{"1 a", "2 b", "3 c"}},
		"until it is withdrawn": {6 * time.Second, func(_ *host, _ *Manager, r *Run) { must(0, r.Withdraw()) }, []string{"1 a", "2 b"}},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, h *host) {
				h.live()
				m := h.client(Options{})
				run := h.spawn(m, SpawnOptions{ID: "s1"})
				h.later(2*time.Second, func() { h.segment(run, 1, 1, "a") })
				h.later(4*time.Second, func() { h.segment(run, 2, 2, "b") })
				h.later(c.at, func() { c.end(h, m, run) })
				got, err := told(t.Context(), run, 1, true)
				if err != nil || !slices.Equal(got, c.want) {
					t.Errorf("told %q, want %q, %v", got, c.want, err)
				}
			})
		})
	}
}

func TestEventsEndWithTheirCaller(t *testing.T) {
	in(t, func(t *testing.T, h *host) {
		h.live()
		run := h.spawn(h.client(Options{}), SpawnOptions{ID: "s1"})
		h.segment(run, 1, 1, "a", "b")
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if got, err := told(ctx, run, 1, true); !errors.Is(err, context.DeadlineExceeded) || len(got) != 2 {
			t.Errorf("told %q, %v", got, err)
		}
		for e := range run.Events(t.Context(), 1, true) {
			if e.Seq > 1 {
				t.Error("went on after the loop was left")
			}
			break
		}
	})
}

func TestEventsEndWithTheWatcher(t *testing.T) {
	in(t, func(t *testing.T, h *host) {
		run := h.spawn(h.client(Options{}), SpawnOptions{ID: "s1"})
		h.segment(run, 1, 1, "a")
		if got, err := told(t.Context(), run, 1, true); !errors.Is(err, ErrNobodyServing) || len(got) != 1 {
			t.Errorf("told %q, %v", got, err)
		}
	})
}
