package door

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"
	"time"

	"torno/delegation"
	"torno/internal/gateway"
	"torno/internal/gateway/budget"
	"torno/internal/gateway/route"
	"torno/internal/runfile"
	"torno/sandbox"
	"torno/watcher/run"
)

// Gateway is what doors need of a model gateway.
type Gateway interface {
	Doors(context.Context) ([]gateway.Door, error)
	Open(context.Context, gateway.Spec) (gateway.Door, error)
	Change(context.Context, string, gateway.Change) (gateway.Door, error)
	CloseDoor(context.Context, string) (gateway.Door, error)
	Spent(context.Context, budget.Scope) (budget.Use, error)
}

// Doors are the doors of all runs. They are a run.Resource.
type Doors struct {
	gateway Gateway

	mu     sync.Mutex
	asked  bool            // the gateway was asked which doors an earlier watcher has opened
	opened map[string]bool // doors that may be open, by their ids
}

// New returns the doors of a gateway.
func New(g Gateway) *Doors { return &Doors{gateway: g, opened: map[string]bool{}} }

// Where the child finds its door. Its directory holds nothing else.
const (
	target = "/run/torno/door/sock"
	// Slack is for what comes before the agent's time and behind it: the image may be fetched meanwhile.
	slack = 15 * time.Minute
)

// Acquire is for run.Resource.
func (d *Doors) Acquire(ctx context.Context, h *run.Holder) error {
	asked := h.Spec.Door
	if asked == nil {
		return nil
	}
	d.note(string(h.Sandbox), true)
	opened, err := d.gateway.Open(ctx, specOf(h))
	switch {
	case errors.Is(err, gateway.ErrNoRoute), errors.Is(err, gateway.ErrInvalid):
		return &delegation.Refusal{
			Code: delegation.CodeLaunch, Field: "profile", Text: "The model gateway does not open a door: " + err.Error(),
			Hint: "The operator finds more with `watcher check`.",
		}
	case err != nil:
		return fmt.Errorf("open a door of the model gateway: %w", err)
	}
	h.Spec.Sockets = append(slices.Clone(h.Spec.Sockets), sandbox.Socket{Host: opened.Socket, Target: target, Port: asked.Port, Lasting: true})
	return nil
}

// specOf is what the gateway is asked for.
func specOf(h *run.Holder) gateway.Spec {
	spec := gateway.Spec{ID: string(h.Sandbox), Lasts: gateway.Duration(h.Spec.Timeout + runfile.Grace + slack)}
	for _, r := range h.Spec.Door.Routes {
		spec.Routes = append(spec.Routes, gateway.Way{Prefix: r.Prefix, Route: r.Name})
	}
	door := h.Spec.Door
	spec.Claims = []budget.Claim{
		{Scope: runScope(h.Key), Limits: limitsOf(door.Run)},
		{Scope: budget.Scope{Kind: budget.Subagent, ID: path.Join(h.Key.Outbox, h.Key.Subagent.String())}, Limits: limitsOf(door.Subagent)},
		{Scope: budget.Scope{Kind: budget.Tree, ID: h.Key.Outbox}, Limits: limitsOf(door.Tree)},
		{Scope: budget.Scope{Kind: budget.OutboxDay, ID: h.Key.Outbox}, Limits: limitsOf(door.OutboxDay)},
	}
	return spec
}

// runScope is of all attempts of a request.
func runScope(key sandbox.RunKey) budget.Scope {
	key.Attempt = 1
	return budget.Scope{Kind: budget.Run, ID: key.Hash()}
}

func limitsOf(a sandbox.Allowance) budget.Limits {
	return budget.Limits{
		InputTokens: a.InputTokens, OutputTokens: a.OutputTokens, Requests: a.Requests, Money: (*budget.Money)(a.Money), Parallel: a.Parallel,
		KeepForLast: a.KeepForLast,
	}
}

// Attested is for run.Resource.
func (d *Doors) Attested(ctx context.Context, h run.Holder, seen sandbox.Attestation) error {
	if h.Spec.Door == nil {
		return nil
	}
	peer := gateway.Peer{Cgroup: seen.Group, Anyone: seen.Group == ""}
	if _, err := d.gateway.Change(ctx, string(h.Sandbox), gateway.Change{Peer: &peer}); err != nil {
		return fmt.Errorf("tell the model gateway which processes it serves: %w", err)
	}
	return nil
}

// End is for run.Resource.
func (d *Doors) End(ctx context.Context, h run.Holder) (run.Used, error) {
	if h.Spec.Door == nil {
		return run.Used{}, nil
	}
	closed, err := d.close(ctx, string(h.Sandbox))
	if err != nil {
		return run.Used{}, err
	}
	spent, err := d.gateway.Spent(ctx, runScope(h.Key))
	if err != nil {
		return run.Used{}, fmt.Errorf("ask the model gateway what was spent: %w", err)
	}
	used := &delegation.ModelUsage{Requests: spent.Spent.Requests, InputTokens: spent.Spent.InputTokens, OutputTokens: spent.Spent.OutputTokens}
	if spent.Spent.Money > 0 {
		used.Money = spent.Spent.Money.String()
	}
	return run.Used{Model: used, Refused: closed.Codes[route.CodeBudget]}, nil
}

// Release is for run.Resource.
func (d *Doors) Release(ctx context.Context, id sandbox.SandboxID) error {
	open, err := d.mayBeOpen(ctx, string(id))
	if err != nil || !open {
		return err
	}
	_, err = d.close(ctx, string(id))
	return err
}

// close closes a door. One that is not there is closed.
func (d *Doors) close(ctx context.Context, id string) (gateway.Door, error) {
	closed, err := d.gateway.CloseDoor(ctx, id)
	if err != nil && !errors.Is(err, gateway.ErrNoDoor) {
		return closed, fmt.Errorf("close a door of the model gateway: %w", err)
	}
	d.note(id, false)
	return closed, nil
}

func (d *Doors) note(id string, open bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if open {
		d.opened[id] = true
		return
	}
	delete(d.opened, id)
}

// mayBeOpen says whether a door may be open. Of those that an earlier watcher has opened the gateway knows, which is asked once:
// most sandboxes have no door, and no gateway that is away keeps them from being removed.
func (d *Doors) mayBeOpen(ctx context.Context, id string) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.opened[id] || d.asked {
		return d.opened[id], nil
	}
	all, err := d.gateway.Doors(ctx)
	if err != nil {
		return false, fmt.Errorf("ask the model gateway for its doors: %w", err)
	}
	d.asked = true
	for _, door := range all {
		d.opened[door.ID] = true
	}
	return d.opened[id], nil
}
