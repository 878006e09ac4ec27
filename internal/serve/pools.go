package serve

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"torno/configs"
	"torno/delegation"
	"torno/internal/control"
	"torno/internal/launcher"
	"torno/sandbox"
	"torno/sandbox/compile"
	"torno/sandbox/pool"
	"torno/watcher"
	"torno/watcher/run"
)

// pools holds, for each launcher, the sandboxes that are made ahead of runs.
type pools struct {
	all map[string]*pool.Pool // by launcher
	off map[string]string     // by launcher: why it has none
}

// whyNotAhead returns why a launcher makes no sandboxes ahead of runs, or "" if it can.
func whyNotAhead(l sandbox.Launcher) string {
	can, ok := l.(pool.Preparer)
	if !ok {
		return "this launcher cannot make sandboxes ahead of their runs yet"
	}
	if err := can.CanPrepare(); err != nil {
		return err.Error()
	}
	return ""
}

// openPools puts a pool before each launcher that can have one, if the configuration wants any. It makes no sandbox
// yet.
func openPools(c configs.Config, opened map[string]launcher.Launcher, heard map[string]sandbox.Launcher, h *host) *pools {
	p := &pools{all: map[string]*pool.Pool{}, off: map[string]string{}}
	for name, l := range opened {
		why := whyNotAhead(l)
		switch {
		case c.Pool.Size == 0:
			p.off[name] = "the configuration says pool: {size: off}"
		case why != "":
			p.off[name] = why
			level := slog.LevelWarn
			if c.Pool.Size == configs.PoolAuto { // perhaps nobody asked for them
				level = slog.LevelInfo
			}
			h.Log.Log(context.Background(), level, "no sandboxes are made ahead of runs", "launcher", name, "because", why)
		default:
			p.all[name] = pool.New(heard[name], l.(pool.Preparer), pool.Options{
				Size: poolSize(c.Pool.Size), Idle: c.Pool.Idle, Most: min(c.Pool.Most, max(1, int(c.UIDs.Count)-c.MaxRunning)),
				Memory: pool.MachineMemory, Log: h.Log.With("launcher", name),
			})
			heard[name] = p.all[name]
		}
	}
	return p
}

func poolSize(size int) int {
	if size == configs.PoolAuto {
		return pool.Auto
	}
	return size
}

// join gives the pools to a watcher's runs and operators.
func (p *pools) join(c *watcher.Config) {
	c.Pools, c.Prepared = p.show, map[string]run.Prepared{}
	for name, one := range p.all {
		c.Prepared[name] = one
	}
}

// fill fills the pools until ctx is done. It begins with the sandboxes that the configuration leads us to expect.
func (p *pools) fill(ctx context.Context, policies []compile.Policy) {
	for _, policy := range policies {
		for _, profile := range policy.Profiles {
			one := p.all[profile.Sandbox]
			if spec, ok := usual(policy, profile.Name); ok && one != nil {
				one.Expect(policy.Outbox, spec)
			}
		}
	}
	done := make(chan struct{})
	for _, one := range p.all {
		go func() {
			one.Run(ctx)
			done <- struct{}{}
		}()
	}
	for range p.all {
		<-done
	}
}

// usual returns the sandbox for the simplest request for a profile: it names a workspace in the first root, and nothing
// else.
func usual(policy compile.Policy, profile string) (sandbox.Spec, bool) {
	roots, _ := policy.Views()
	subagent, err1 := delegation.ParseSubagentID("usual")
	request, err2 := delegation.ParseRequestID("usual")
	named, err3 := delegation.ParseToken(profile)
	if len(roots) == 0 || errors.Join(err1, err2, err3) != nil {
		return sandbox.Spec{}, false
	}
	spec, _, err := compile.Compile(delegation.Request{
		SubagentID: subagent, RequestID: request, Task: "-", Workspace: roots[0] + "/usual", Profile: named,
	}, policy)
	return spec, err == nil
}

// emptyTime bounds how long close may take.
const emptyTime = 30 * time.Second

// close removes the sandboxes that were made ahead. The next start finds any that are left.
func (p *pools) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), emptyTime)
	defer cancel()
	var errs []error
	for _, one := range p.all {
		errs = append(errs, one.Close(ctx))
	}
	return errors.Join(errs...)
}

// show returns the state of the pools, by launcher.
func (p *pools) show() []control.Pool {
	var all []control.Pool
	for _, name := range slices.Sorted(maps.Keys(p.off)) {
		all = append(all, control.Pool{Launcher: name, Off: p.off[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(p.all)) {
		shown := control.Pool{Launcher: name}
		for _, s := range p.all[name].Shelves() {
			shown.Shelves = append(shown.Shelves, control.Shelf(s))
		}
		all = append(all, shown)
	}
	return all
}
