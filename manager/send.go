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

// DefaultSendTime is how long Send waits for the agent to have what it is sent.
const DefaultSendTime = 30 * time.Second

// ErrNotYet is what was sent and not acknowledged in time. It stays in the outbox, and the agent gets it while its run lasts.
var ErrNotYet = errors.New("the agent does not have it yet")

// ErrOver is what was sent to a run that is over.
var ErrOver = errors.New("the run is over")

// Send says something to the agent of the run: a message, or an interrupt with a text or without. It returns when the agent has it. What
// the host turns down is a *delegation.Refusal. The number is that of the input among all that were sent to the run.
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

// maySend fails where nothing that is sent can reach the agent.
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
			Code: delegation.CodeInputNotTaken, Text: "The watcher of this outbox brings agents no messages",
			Hint: "wait for the child's answer, and ask anew; the operator may have a newer watcher",
		}
	}
	if response, _ := r.response(); response != nil {
		return fmt.Errorf("send to %s: %w", r.id, ErrOver)
	}
	return nil
}

// putInput writes what the agent is told as the next file of input.
func (r *Run) putInput(kind delegation.InputKind, text string) (int, error) {
	return r.put(delegation.Input{Kind: kind, Text: text})
}

// put writes the next file of input. Of two writers of one number one gets it, and the other one takes the next.
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
			return 0, &delegation.Refusal{Code: delegation.CodeInvalid, Field: "text", Text: err.Error(), Hint: "send less at once, in UTF-8"}
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
		Code: delegation.CodeInputLimit, Text: fmt.Sprintf("The run was sent %d inputs, and takes no more", delegation.MaxInputs), Hint: "ask anew",
	}
}

// awaitInput waits until the status says what became of an input.
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

// lastStatus is how long the status of a run that is answered may take to say the last of it.
const lastStatus = 2 * time.Second

// inputBehind is what became of an input of a run that has been answered: the response can be there before the last status is.
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

// inputDone says whether it is known what became of an input.
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

// whyNotYet says what an input waits for, as far as the status tells.
func (r *Run) whyNotYet() string {
	status, ok := r.status()
	switch {
	case !ok:
	case status.Input != nil && status.Input.Missing > 0:
		return fmt.Sprintf("; input %d is missing before it", status.Input.Missing)
	case status.State != delegation.StateRunning:
		return fmt.Sprintf("; the run is %s", status.State)
	}
	return ""
}

// removeInputs removes what was sent to the run.
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
