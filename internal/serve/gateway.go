package serve

import (
	"cmp"
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"torno/internal/gateway/control"
	"torno/internal/gateway/process"
	"torno/internal/programs"
	"torno/internal/retry"
	"torno/watcher"
	"torno/watcher/door"
	"torno/watcher/run"
)

// lookEvery is how often the watcher looks at the gateway. If this watcher started the gateway, it sees the gateway's
// end at once.
const lookEvery = 3 * time.Second

// openGateway prepares to speak to the model gateway, if the configuration has routes.
func (h *host) openGateway(context.Context) error {
	if len(h.Config.Gateway.Routes()) == 0 {
		return nil
	}
	h.gateway = control.Dial(h.Config.GatewayState())
	h.later(func() error { h.gateway.Close(); return nil })
	return nil
}

// connect gives runs doors of the model gateway, and operators the spending through these doors, if the configuration
// has routes.
func (h *host) connect(c *watcher.Config) {
	if h.gateway == nil {
		return
	}
	h.doors = door.New(h.gateway, h.tellGateway)
	c.Resources, c.Spending, c.Budgets = []run.Resource{h.doors}, h.doors.Spending, h.doors
}

// tellGateway tells the gateway its routes in the moment when it lacks one. It is no error if the gateway has a file of
// its own: then that file counts.
func (h *host) tellGateway(ctx context.Context) error {
	text, err := h.Config.Gateway.Setup()
	if err != nil {
		return err
	}
	_, err = h.gateway.Configure(ctx, text)
	if errors.Is(err, control.ErrOwnSetup) {
		return nil
	}
	return err
}

// tendGateway makes a gateway serve the routes, and looks after it until the host closes. The watcher starts even
// without a gateway: only runs whose profile has routes wait.
func (h *host) tendGateway(ctx context.Context) error {
	text, err := h.Config.Gateway.Setup()
	if err != nil {
		return err
	}
	if h.gateway == nil {
		h.beside(ctx, h.emptyGateway)
		return nil
	}
	routes := newRoutesWatch(h)
	s := &process.Supervisor{
		State: h.Config.GatewayState(), Setup: text, Client: h.gateway, Log: h.Log, Trouble: h.gatewayTrouble(), Looked: routes.looked,
		Every: cmp.Or(h.Timing.Gateway, lookEvery), Patience: h.Timing.Patience,
	}
	if h.Config.Gateway.Own() {
		s.Program = func() (string, error) { return programs.Find("model-gateway", h.Config.Gateway.Program) }
		s.User = h.gatewayUser()
	}
	if h.Quick {
		h.later(func() error { return h.endGateway(s) })
	}
	h.beside(ctx, s.Look, s.Run)
	h.beside(ctx, func(context.Context) {}, routes.run)
	h.beside(ctx, func(context.Context) {}, h.forgetSpending)
	h.beside(ctx, func(context.Context) {}, h.forgetSubagents)
	return nil
}

// gatewayUser returns the user for a gateway that this watcher starts. It is a user of the operator's range that no
// sandbox and no person has, or 0, which means the watcher's own user. If the watcher is root and cannot give the
// gateway another user, gatewayUser logs that.
func (h *host) gatewayUser() int {
	user := int(h.Config.UIDs.Gateway())
	if err := process.MayBecome(user); err != nil {
		if os.Geteuid() == 0 {
			h.Log.Warn("the model gateway runs as root, like this watcher; to give it its own user, run it as its own service (gateway.state)", "error", err)
		}
		return 0
	}
	return user
}

// firstLook is how long a start or a reload waits for a gateway. A healthy gateway has its routes by then, before any
// run asks for one.
const firstLook = time.Second

// beside runs the functions one after the other until the host closes. It waits a moment for the first one: a gateway
// that does not answer must not hold up the start.
func (h *host) beside(ctx context.Context, first func(context.Context), others ...func(context.Context)) {
	tending, stop := context.WithCancel(context.Background())
	var around sync.WaitGroup
	done := make(chan struct{})
	around.Go(func() {
		first(tending)
		close(done)
		for _, do := range others {
			do(tending)
		}
	})
	h.later(func() error {
		stop()
		around.Wait()
		return nil
	})
	waiting, cancel := context.WithTimeout(ctx, firstLook)
	defer cancel()
	select {
	case <-done:
	case <-waiting.Done():
	}
}

// forgetEvery is how often the gateway is told which runs are over.
const forgetEvery = time.Minute

// forgetSpending makes the gateway forget, again and again, the spending of runs that are over. If it cannot tell the
// gateway something, it tells it the next time.
func (h *host) forgetSpending(ctx context.Context) {
	for {
		asking, cancel := context.WithTimeout(ctx, h.Timing.respond())
		if err := h.doors.Forget(asking, h.journal); err != nil && ctx.Err() == nil {
			h.Log.Debug("the model gateway still keeps the spending of runs that are over", "error", err)
		}
		cancel()
		if retry.Pause(ctx, forgetEvery) != nil {
			return
		}
	}
}

// These say how often the host tells the gateway which subagents the journal has forgotten, and how long that may take.
const (
	forgetSubagentsEvery  = time.Hour
	forgetSubagentsWithin = 10 * time.Minute
)

// forgetSubagents makes the gateway forget the spending of subagents that the journal has forgotten.
func (h *host) forgetSubagents(ctx context.Context) {
	for {
		asking, cancel := context.WithTimeout(ctx, forgetSubagentsWithin)
		if err := h.doors.ForgetSubagents(asking, h.journal, h.sessions.Keeps); err != nil && ctx.Err() == nil {
			h.Log.Debug("the model gateway still keeps the spending of forgotten subagents", "error", err)
		}
		cancel()
		if retry.Pause(ctx, forgetSubagentsEvery) != nil {
			return
		}
	}
}

// gatewayTrouble returns a function that tells clients and operators why the gateway is away.
func (h *host) gatewayTrouble() func(error) {
	over := func() {}
	told := false
	return func(err error) {
		h.doors.Trouble(err != nil)
		switch {
		case err != nil && !told:
			told, over = true, h.watcher.GatewayAway(err)
		case err == nil && told:
			over()
			told = false
		}
	}
}

// endGateway ends the gateway together with the last host, unless children that still run have doors of it. If the
// gateway does not end, endGateway logs that.
func (h *host) endGateway(s *process.Supervisor) error {
	if !h.last {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), h.Timing.respond())
	defer cancel()
	status, err := h.gateway.Status(ctx)
	for errors.Is(err, control.ErrNoGateway) && s.Lives() && retry.Pause(ctx, retry.Later) == nil { // a gateway restores its doors before it listens
		status, err = h.gateway.Status(ctx)
	}
	switch {
	case errors.Is(err, control.ErrNoGateway) && !s.Lives():
		return nil // there is no gateway
	case err == nil && status.Doors > 0:
		h.Log.Info("the model gateway keeps running, with its credentials, for the children that still run; the next watcher of this directory takes it over",
			"process", status.Process, "children", status.Doors)
		return nil
	case err == nil, errors.Is(err, control.ErrNoGateway):
		err = s.End(ctx)
	}
	if err != nil {
		h.Log.Warn("the model gateway was not ended, and keeps running with its credentials", "process", status.Process, "error", err)
		return nil
	}
	h.Log.Info("the model gateway was ended, too")
	return nil
}

// emptyGateway takes the routes from a gateway that an earlier configuration has left. The gateway goes on for the open
// doors, and refuses everything that comes through them. If somebody runs the watcher by hand and no door is open,
// emptyGateway ends the gateway.
func (h *host) emptyGateway(ctx context.Context) {
	asking, cancel := context.WithTimeout(ctx, h.Timing.respond())
	defer cancel()
	client := control.Dial(h.Config.GatewayState())
	defer client.Close()
	status, err := client.Status(asking)
	if err != nil {
		return
	}
	if h.Quick && status.Doors == 0 {
		if _, err := client.Stop(asking); err != nil {
			h.Log.Warn("the model gateway of an earlier start was not ended, and keeps running with its credentials", "process", status.Process, "error", err)
			return
		}
		h.Log.Info("the model gateway of an earlier start was ended: this one has no routes", "process", status.Process)
		return
	}
	if len(status.Routes) == 0 {
		return
	}
	if _, err := client.Configure(asking, nil); err != nil {
		h.Log.Warn("a model gateway still has routes that the configuration no longer has", "process", status.Process, "error", err)
		return
	}
	h.Log.Info("the configuration has no routes; the watcher has removed the routes of an earlier model gateway; SIGTERM ends that gateway", "process", status.Process)
}
