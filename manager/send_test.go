package manager

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"torno/delegation"
)

// hears makes a host whose watcher brings agents messages.
func (h *host) hears() *host {
	h.t.Helper()
	h.beat.Features = append(h.beat.Features, delegation.FeatureInput)
	h.sendBeat()
	return h
}

func acknowledged(status delegation.InputStatus) func(*delegation.RunStatus) {
	return func(s *delegation.RunStatus) { s.Input = &status }
}

// TestSendersTakeNumbersOfTheirOwn: what each has sent is there once, whichever manager has sent it.
func TestSendersTakeNumbersOfTheirOwn(t *testing.T) {
	h := newHost(t).hears()
	first, second := h.client(Options{Poll: time.Millisecond}), h.client(Options{Poll: time.Millisecond})
	run := h.spawn(first, SpawnOptions{ID: "s1"})
	again, err := second.Attach("s1")
	if err != nil {
		t.Fatal(err)
	}
	const each = 20
	var senders sync.WaitGroup
	var mu sync.Mutex
	sent := map[int]string{}
	for i, r := range []*Run{run, again} {
		senders.Go(func() {
			for j := range each {
				text := string(rune('a'+i)) + string(rune('a'+j))
				n, err := r.putInput(delegation.InputMessage, text)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				sent[n] = text
				mu.Unlock()
			}
		})
	}
	senders.Wait()
	for n := 1; n <= 2*each; n++ {
		data, _, err := h.dir.Read(delegation.InputName(run.id, run.request, n), delegation.MaxInputFile)
		if err != nil {
			t.Fatal(err)
		}
		in, err := delegation.DecodeInput(data, run.id, run.request, n)
		if err != nil || in.Text != sent[n] {
			t.Errorf("%d is %q, sent as %q: %v", n, in.Text, sent[n], err)
		}
	}
	if err := run.Withdraw(); err != nil {
		t.Fatal(err)
	}
	if left := h.names(); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// TestSendSaysWhatBecameOfIt: nothing that is sent ends in silence.
func TestSendSaysWhatBecameOfIt(t *testing.T) {
	h := newHost(t).hears()
	m := h.client(Options{Poll: time.Millisecond})
	run := h.spawn(m, SpawnOptions{ID: "s1"})
	send := func(within time.Duration) (int, error) {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		return run.Send(ctx, delegation.InputMessage, "hello")
	}
	h.tell(run, delegation.StateQueued)
	if n, err := send(20 * time.Millisecond); n != 1 || !errors.Is(err, ErrNotYet) || !strings.Contains(err.Error(), "the run is queued") {
		t.Errorf("%d, %v", n, err)
	}
	h.tell(run, delegation.StateRunning, acknowledged(delegation.InputStatus{
		Acknowledged: 2, Refused: []delegation.RefusedInput{{N: 2, Code: delegation.CodeInputLate, Text: "too late", Hint: "ask anew"}},
	}))
	h.publish(delegation.InputName(run.id, run.request, 3), nil) // another one's, and torn
	h.tell(run, delegation.StateRunning, acknowledged(delegation.InputStatus{
		Acknowledged: 1, Refused: []delegation.RefusedInput{{N: 2, Code: delegation.CodeInputLate, Text: "too late", Hint: "ask anew"}},
	}))
	if n, err := send(time.Minute); n != 2 {
		t.Errorf("%d, %v", n, err)
	} else if refusal, ok := errors.AsType[*delegation.Refusal](err); !ok || refusal.Code != delegation.CodeInputLate || refusal.Hint != "ask anew" {
		t.Errorf("%v", err)
	}
	h.tell(run, delegation.StateRunning, acknowledged(delegation.InputStatus{Acknowledged: 4}))
	if n, err := run.Send(t.Context(), delegation.InputMessage, strings.Repeat("x", delegation.MaxInputText+1)); n != 0 || err == nil {
		t.Errorf("%d, %v", n, err)
	}
	h.respond(run)
	if _, err := send(time.Minute); !errors.Is(err, ErrOver) {
		t.Error(err)
	}
	h.beat.Features = nil
	h.sendBeat()
	if _, err := send(time.Minute); err == nil || !strings.Contains(err.Error(), "does not deliver messages to agents") {
		t.Error(err)
	}
}
