package manager

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"torno/delegation"
)

// DefaultSendTime is the time that callers of Send usually wait for the agent.
const DefaultSendTime = 30 * time.Second

// ErrNotYet says that an input was sent and not acknowledged in time. The input stays in the outbox, and the agent gets
// it as long as its run lasts.
var ErrNotYet = errors.New("the agent does not have it yet")

// ErrOver says that an input was sent to a run that is over.
var ErrOver = errors.New("the run is over")

// Send says something to the agent of the run: a message, or an interrupt with or without a text. It returns when the
// agent has it. If the host turns the input down, the error is a *delegation.Refusal. n numbers the input among all
// inputs of the run.
func (r *Run) Send(ctx context.Context, kind delegation.InputKind, text string) (n int, err error) {
	if err := r.maySend(); err != nil {
		return 0, err
	}
	n, err = r.putInput(kind, text)
	if err != nil {
		return 0, err
	}
	return n, r.awaitInput(ctx, n)
}

// maySend fails if no input can reach the agent.
func (r *Run) maySend() error {
	if err := r.checkCurrent(); err != nil {
		return err
	}
	beat, err := r.m.Serving()
	if err != nil {
		return err
	}
	if !slices.Contains(beat.Features, delegation.FeatureInput) {
		return &delegation.Refusal{
			Code: delegation.CodeInputNotTaken, Text: "The watcher of this outbox does not deliver messages to agents",
			Hint: "wait for the child's answer, then give it a new task; or ask the operator for a newer watcher",
		}
	}
	if response, _ := r.response(); response != nil {
		return fmt.Errorf("send to %s: %w", r.id, ErrOver)
	}
	return nil
}

// putInput writes the text for the agent as the next file of input.
func (r *Run) putInput(kind delegation.InputKind, text string) (int, error) {
	return r.put(delegation.Input{Kind: kind, Text: text})
}

// put writes the next file of input. If two writers want the same number, one gets it, and the other takes the next.
func (r *Run) put(in delegation.Input) (int, error) {
	in.Version, in.SubagentID, in.RequestID = delegation.Version, r.ID(), r.RequestID()
	first := 1
	if status, ok := r.status(); ok && status.Input != nil {
		first = status.Input.Acknowledged + 1
	}
	for n := first; n <= delegation.MaxInputs; n++ {
		name := delegation.InputName(r.id, r.request, n)
		if _, err := r.m.dir.Stat(name); err == nil {
			continue
		}
		in.N = n
		data, err := in.Encode()
		if err != nil {
			return 0, &delegation.Refusal{Code: delegation.CodeInvalid, Field: "text", Text: err.Error(), Hint: "send a shorter text, in UTF-8"}
		}
		err = r.m.dir.PublishNew(name, data)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("send to %s: %w", r.id, err)
		}
		return n, nil
	}
	return 0, &delegation.Refusal{
		Code: delegation.CodeInputLimit, Text: fmt.Sprintf("The run already has %d inputs, and takes no more", delegation.MaxInputs), Hint: "wait for its end, then give it a new task",
	}
}

// awaitInput waits until the status reports on an input.
func (r *Run) awaitInput(ctx context.Context, n int) error {
	wake, unsubscribe := r.m.hints.subscribe(r.concerns)
	defer unsubscribe()
	tick := time.NewTicker(r.m.poll)
	defer tick.Stop()
	t := &tracker{run: r}
	for {
		if done, err := r.inputDone(n); done {
			return err
		}
		response, err := t.check()
		switch {
		case err != nil:
			return err
		case response != nil:
			return r.inputBehind(ctx, n)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("send to %s: %w%s", r.id, ErrNotYet, r.whyNotYet())
		case <-wake:
		case <-tick.C:
		}
	}
}

// lastStatus bounds how long the last status of a run may come after its response.
const lastStatus = 10 * time.Second

// inputBehind reports on an input of a run that already has a response. It waits a moment, because the response can be
// there before the last status.
func (r *Run) inputBehind(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, lastStatus)
	defer cancel()
	for {
		if done, err := r.inputDone(n); done {
			return err
		}
		status, ok := r.status()
		select {
		case <-ctx.Done():
			return fmt.Errorf("send to %s: %w", r.id, ErrOver)
		case <-time.After(20 * time.Millisecond):
			if ok && status.State == delegation.StateEnded {
				return fmt.Errorf("send to %s: %w", r.id, ErrOver)
			}
		}
	}
}

// inputDone reports whether the status has settled an input. The error is the refusal, if the host refused it.
func (r *Run) inputDone(n int) (bool, error) {
	status, ok := r.status()
	if !ok || status.Input == nil {
		return false, nil
	}
	for _, refused := range status.Input.Refused {
		if refused.N == n {
			return true, &delegation.Refusal{Code: refused.Code, Text: refused.Text, Hint: refused.Hint}
		}
	}
	return status.Input.Acknowledged >= n, nil
}

// whyNotYet returns the reason why an input still waits, as far as the status tells.
func (r *Run) whyNotYet() string {
	status, ok := r.status()
	switch {
	case !ok:
	case status.Input != nil && status.Input.Missing > 0:
		return fmt.Sprintf("; the earlier input %d is missing", status.Input.Missing)
	case status.State != delegation.StateRunning:
		return fmt.Sprintf("; the run is %s", status.State)
	}
	return ""
}

// removeInputs removes the inputs that were sent to the run.
func (r *Run) removeInputs() error {
	for n := 1; n <= delegation.MaxInputs; n++ {
		name := delegation.InputName(r.id, r.request, n)
		if _, err := r.m.dir.Stat(name); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err := r.m.dir.Remove(name); err != nil {
			return err
		}
	}
	return nil
}
