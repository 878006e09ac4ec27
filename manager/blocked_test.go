package manager

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	"torno/delegation"
	"torno/test/attack"
)

// blockade is a way to keep a client waiting for ever: what another process of the parent writes again and again.
type blockade struct {
	name   string
	every  time.Duration
	write  func(h *host, r *Run, n int)
	want   error
	within time.Duration
}

var blockades = []blockade{
	{"states to and fro", time.Second, func(h *host, r *Run, n int) {
		h.sendBeat()
		h.tell(r, []delegation.State{delegation.StateRunning, delegation.StateQueued}[n%2])
	}, ErrOverdue, 2 * time.Minute},
	{"a grant of a century", time.Minute, func(h *host, r *Run, _ int) {
		h.sendBeat()
		h.tell(r, delegation.StateRunning, func(s *delegation.RunStatus) {
			s.RunningSince, s.Deadline = time.Now(), time.Now().AddDate(100, 0, 0)
		})
	}, ErrOverdue, 25 * time.Hour},
	{"a heartbeat from the future", 10 * time.Second, func(h *host, r *Run, _ int) {
		h.tell(r, delegation.StateQueued)
		h.beat.BeatAt = time.Date(2126, 11, 21, 0, 0, 0, 0, time.UTC)
		h.publish(delegation.HeartbeatName, must(h.beat.Encode()))
	}, ErrNobodyServing, 20 * time.Minute},
}

// Beside each wait there is a careless one, which believes what it reads, and is still there when ours has ended.
func TestAClientCannotBeBlocked(t *testing.T) {
	trial := attack.Trial{Row: "W11", Where: "manager", Oracle: true}
	for _, b := range blockades {
		t.Run(b.name, func(t *testing.T) {
			in(t, func(t *testing.T, h *host) {
				trial.Tried++
				naive, waited, err := b.try(t, h)
				trial.Oracle = trial.Oracle && !naive.gone
				if errors.Is(err, b.want) && waited <= b.within {
					trial.Held++
				} else {
					t.Errorf("it waited %v: %v", waited, err)
				}
			})
		})
	}
	attack.Record(t, trial)
}

// try keeps a client waiting, for three days if the client lets it.
func (b blockade) try(t *testing.T, h *host) (naive careless, waited time.Duration, err error) {
	t.Helper()
	h.beat.HeartbeatSeconds = 300
	h.sendBeat()
	run := h.spawn(h.client(Options{Poll: b.every}), SpawnOptions{ID: "s1", Timeout: time.Minute})
	ctx, cancel := context.WithTimeout(t.Context(), 72*time.Hour)
	defer cancel()
	b.write(h, run, 0)
	began, done := time.Now(), make(chan error)
	go func() {
		_, err := run.Wait(ctx)
		done <- err
	}()
	for n := 1; ; n++ {
		naive.look(h)
		select {
		case err := <-done:
			return naive, time.Since(began), err
		case <-time.After(b.every):
			b.write(h, run, n)
		}
	}
}

// careless waits as its files tell it to.
type careless struct {
	state delegation.State
	limit time.Time
	gone  bool // it has given up
}

func (c *careless) look(h *host) {
	var status delegation.RunStatus
	var beat delegation.Heartbeat
	for name, into := range map[string]any{"status_s1.json": &status, delegation.HeartbeatName: &beat} {
		if err := json.Unmarshal(must(os.ReadFile(h.join(name))), into); err != nil {
			h.t.Fatal(err)
		}
	}
	if status.State != c.state {
		c.state, c.limit = status.State, time.Now().Add(max(time.Minute, status.Deadline.Sub(status.RunningSince))+Grace)
	}
	late := c.state == delegation.StateRunning && time.Now().After(c.limit)
	c.gone = c.gone || late || time.Since(beat.BeatAt) > deadBeats*interval(beat)
}
