package door

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"torno/delegation"
	"torno/internal/calendar"
	"torno/internal/gateway"
	"torno/internal/gateway/budget"
	"torno/internal/gateway/route"
	"torno/internal/runfile"
	"torno/sandbox"
	"torno/watcher/run"
)

// Gateway is the part of a model gateway that doors need.
type Gateway interface {
	Doors(context.Context) ([]gateway.Door, error)
	Open(context.Context, gateway.Spec) (gateway.Door, error)
	Change(context.Context, string, gateway.Change) (gateway.Door, error)
	CloseDoor(context.Context, string) (gateway.Door, error)
	Spent(context.Context, budget.Scope) (budget.Use, error)
	Reset(context.Context, budget.Scope) (budget.Use, error)
	Clock(context.Context) (*calendar.Doubt, error)
	IdleRuns(ctx context.Context, after string) ([]string, error)
	Forget(ctx context.Context, runs []string) error
	IdleSubagents(ctx context.Context, after string) ([]gateway.Idle, error)
	ForgetSubagents(context.Context, []gateway.Idle) error
}

// Doors opens and closes the doors of all runs. It is a run.Resource.
type Doors struct {
	gateway Gateway
	tell    func(context.Context) error

	trouble atomic.Bool // something is wrong with the gateway

	asking chan struct{} // a lock: one goroutine at a time asks the gateway for the doors of an earlier watcher

	mu    sync.Mutex
	asked bool            // the gateway has answered that question
	known map[string]bool // by sandbox id: whether a door may be open; it has every sandbox of this watcher
}

// New returns the doors of a gateway. tell tells the gateway its routes: a gateway that has just come back does not
// know them yet.
func New(g Gateway, tell func(context.Context) error) *Doors {
	return &Doors{gateway: g, tell: tell, asking: make(chan struct{}, 1), known: map[string]bool{}}
}

// slack is extra time for a door, because it is open before the agent begins and after the agent ends: the image may
// have to be fetched meanwhile.
const slack = 15 * time.Minute

// Ready implements run.Resource: it checks that the gateway answers.
func (d *Doors) Ready(ctx context.Context, h run.Holder) error {
	if h.Spec.Door == nil {
		return nil
	}
	if _, err := d.gateway.Doors(ctx); err != nil {
		return fmt.Errorf("ask the model gateway for its doors: %w", err)
	}
	return nil
}

// Trouble notes whether something is wrong with the gateway: it is away, does not answer, or cannot open its routes.
func (d *Doors) Trouble(is bool) { d.trouble.Store(is) }

// brief is how long the answer of a run waits for a gateway with known trouble: it may answer all the same.
const brief = time.Second

// Acquire implements run.Resource: it has the gateway open the run's door.
func (d *Doors) Acquire(ctx context.Context, h *run.Holder) error {
	asked := h.Spec.Door
	d.note(string(h.Sandbox), asked != nil)
	if asked == nil {
		return nil
	}
	opened, err := d.gateway.Open(ctx, specOf(h))
	if errors.Is(err, gateway.ErrNoRoute) {
		if err := d.tell(ctx); err != nil {
			return fmt.Errorf("tell the model gateway its routes: %w", err)
		}
		opened, err = d.gateway.Open(ctx, specOf(h))
	}
	switch {
	case errors.Is(err, gateway.ErrNoRoute), errors.Is(err, gateway.ErrInvalid):
		return refusal("does not open a door", err)
	case err != nil:
		return fmt.Errorf("open a door of the model gateway: %w", err)
	case opened.ID != string(h.Sandbox) || !isOf(opened.Socket, opened.ID):
		return fmt.Errorf("open a door of the model gateway: %w", errStranger)
	}
	h.Spec.Sockets = append(slices.Clone(h.Spec.Sockets), sandbox.Socket{Host: opened.Socket, Target: sandbox.DoorSocket, Port: asked.Port, Lasting: true})
	return nil
}

// errStranger says that another program answers in the gateway's place: its answer is about another door than the
// request.
var errStranger = errors.New("another program answers in its place")

// isOf reports whether a socket has a door's name and lies in a directory that has the door's id as its name. The
// sandbox gets that directory. A gateway that a child has taken over could name a directory of the host, but no
// directory of the host has such a name and such a socket in it.
func isOf(socket, id string) bool {
	dir, name := filepath.Split(socket)
	return filepath.IsAbs(socket) && filepath.Clean(socket) == socket && filepath.Base(dir) == id && name == path.Base(sandbox.DoorSocket)
}

func refusal(does string, err error) *delegation.Refusal {
	return &delegation.Refusal{
		Code: delegation.CodeLaunch, Field: "profile", Text: "The model gateway " + does + ": " + err.Error(),
		Hint: "The operator can find out more with `watcher check`.",
	}
}

// specOf returns the door that the gateway is asked for.
func specOf(h *run.Holder) gateway.Spec {
	spec := gateway.Spec{ID: string(h.Sandbox), Lasts: gateway.Duration(h.Spec.Longest() + runfile.Grace + slack), Record: h.Spec.Door.Record}
	for _, r := range h.Spec.Door.Routes {
		spec.Routes = append(spec.Routes, gateway.Way{Prefix: r.Prefix, Route: r.Name})
	}
	door := h.Spec.Door
	spec.Claims = []budget.Claim{
		{Scope: runScope(h.Key), Limits: limitsOf(door.Run)},
		{Scope: budget.Scope{Kind: budget.Tree, ID: h.Key.Outbox}, Limits: limitsOf(door.Tree)},
		{Scope: budget.Scope{Kind: budget.OutboxDay, ID: h.Key.Outbox}, Limits: limitsOf(door.OutboxDay)},
	}
	if door.CountSubagent {
		spec.Claims = append(spec.Claims, budget.Claim{Scope: subagentScope(h.Key), Limits: limitsOf(door.Subagent)})
	}
	return spec
}

// runScope returns the budget scope of all attempts of a request. Its id begins with the id of the outbox, so that a
// watcher can tell its own scopes.
func runScope(key sandbox.RunKey) budget.Scope {
	key.Attempt = 1
	return budget.Scope{Kind: budget.Run, ID: path.Join(key.Outbox, key.Hash())}
}

// subagentScope returns the budget scope of all runs of a subagent.
func subagentScope(key sandbox.RunKey) budget.Scope {
	return budget.Scope{Kind: budget.Subagent, ID: path.Join(key.Outbox, key.Subagent.String())}
}

func limitsOf(a sandbox.Allowance) budget.Limits {
	return budget.Limits{
		InputTokens: a.InputTokens, OutputTokens: a.OutputTokens, Requests: a.Requests, Money: (*budget.Money)(a.Money), Parallel: a.Parallel,
		KeepForLast: a.KeepForLast,
	}
}

// Attested implements run.Resource: it tells the gateway which processes the door serves.
func (d *Doors) Attested(ctx context.Context, h run.Holder, seen sandbox.Attestation) error {
	if h.Spec.Door == nil {
		return nil
	}
	peer := gateway.Peer{Cgroup: seen.Group, Anyone: seen.Group == ""}
	changed, err := d.gateway.Change(ctx, string(h.Sandbox), gateway.Change{Peer: &peer})
	switch {
	case errors.Is(err, gateway.ErrNoDoor): // the gateway lost the door, and the sandbox has the lost door's directory
		return fmt.Errorf("%w: %w", run.ErrGone, err)
	case errors.Is(err, gateway.ErrInvalid):
		return refusal("does not accept the control group of the sandbox", err)
	case err != nil:
		return fmt.Errorf("tell the model gateway which processes it serves: %w", err)
	case changed.ID != string(h.Sandbox) || changed.Peer != peer:
		return fmt.Errorf("tell the model gateway which processes it serves: %w", errStranger)
	}
	return nil
}

// End implements run.Resource: it closes the door, and returns how much the run has spent. An adopted run may have a
// door although its profile has none today.
func (d *Doors) End(ctx context.Context, h run.Holder) (run.Used, error) {
	if d.trouble.Load() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, brief)
		defer cancel()
	}
	if h.Spec.Door == nil {
		if h.Sandbox == "" {
			return run.Used{}, nil
		}
		if open, err := d.mayBeOpen(ctx, string(h.Sandbox)); err != nil || !open {
			return run.Used{}, nil // most runs have no door, and wait for no gateway; Release asks again
		}
	}
	var closed gateway.Door
	if h.Sandbox != "" {
		var err error
		if closed, err = d.close(ctx, string(h.Sandbox)); err != nil {
			return run.Used{}, err
		}
	}
	spent, err := d.gateway.Spent(ctx, runScope(h.Key))
	if err != nil {
		return run.Used{}, fmt.Errorf("ask the model gateway for the amount spent: %w", err)
	}
	return run.Used{Model: usageOf(spent.Spent), Refused: closed.Codes[route.CodeBudget], Warnings: warnOfLast(closed.Last)}, nil
}

// warnOfLast warns that a larger budget might have led to a different answer.
func warnOfLast(last int64) []string {
	if last == 0 {
		return nil
	}
	return []string{fmt.Sprintf("A budget is used up: %d requests to the model used the part that is kept for the final answer, and could use no tools.", last)}
}

func usageOf(spent budget.Amount) *delegation.ModelUsage {
	used := &delegation.ModelUsage{Requests: spent.Requests, InputTokens: spent.InputTokens, OutputTokens: spent.OutputTokens}
	if spent.Money > 0 {
		used.Money = spent.Money.String()
	}
	return used
}

// Spending returns, for each open door, how much its run has spent so far, over all of the run's attempts.
func (d *Doors) Spending(ctx context.Context) (map[sandbox.SandboxID]*delegation.ModelUsage, error) {
	open, err := d.gateway.Doors(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask the model gateway for its doors: %w", err)
	}
	all := map[sandbox.SandboxID]*delegation.ModelUsage{}
	for _, door := range open {
		all[sandbox.SandboxID(door.ID)] = usageOf(door.Spent)
	}
	return all, nil
}

// Release implements run.Resource: it closes the door of a sandbox that is gone or was never made.
func (d *Doors) Release(ctx context.Context, id sandbox.SandboxID) error {
	open, err := d.mayBeOpen(ctx, string(id))
	if err == nil && open {
		_, err = d.close(ctx, string(id))
	}
	if err == nil {
		d.drop(string(id))
	}
	return err
}

// close closes a door. A door that does not exist counts as closed.
func (d *Doors) close(ctx context.Context, id string) (gateway.Door, error) {
	closed, err := d.gateway.CloseDoor(ctx, id)
	if err == nil && closed.ID != id {
		err = errStranger
	}
	if err != nil && !errors.Is(err, gateway.ErrNoDoor) {
		return closed, fmt.Errorf("close a door of the model gateway: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.known[id]; known {
		d.known[id] = false
	}
	return closed, nil
}

func (d *Doors) note(id string, open bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known[id] = open
}

func (d *Doors) drop(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.known, id)
}

// look answers like mayBeOpen, but does not ask the gateway. Once the doors of an earlier watcher are known, an unknown
// door is not open.
func (d *Doors) look(id string) (open, sure bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	open, known := d.known[id]
	return open, known || d.asked
}

// mayBeOpen reports whether a door may be open. Doors from this watcher are known. Doors from an earlier watcher: it
// asks the gateway, once. So a run of this watcher without a door is never held up by a gateway that is away or does
// not answer. A call waits no longer than its context.
func (d *Doors) mayBeOpen(ctx context.Context, id string) (bool, error) {
	if open, sure := d.look(id); sure {
		return open, nil
	}
	select {
	case d.asking <- struct{}{}:
		defer func() { <-d.asking }()
	case <-ctx.Done():
		return false, fmt.Errorf("ask the model gateway for its doors: %w", ctx.Err())
	}
	if open, sure := d.look(id); sure {
		return open, nil
	}
	all, err := d.gateway.Doors(ctx)
	if err != nil {
		return false, fmt.Errorf("ask the model gateway for its doors: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = true
	for _, door := range all {
		if _, known := d.known[door.ID]; !known {
			d.known[door.ID] = true
		}
	}
	return d.known[id], nil
}
