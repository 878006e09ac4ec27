package serve

import (
	"context"
	"fmt"

	"torno/sandbox"
)

// opener opens launchers when they are asked for, each once. What it has opened its owner closes with close.
type opener struct {
	engines  Engines
	setting  Setting
	launched map[string]Launcher
	failed   map[string]error
	touched  []string // those that may have made something, in the order in which they were asked for
}

func newOpener(engines Engines, s Setting) *opener {
	return &opener{engines: engines, setting: s, launched: map[string]Launcher{}, failed: map[string]error{}}
}

// open returns a launcher, or why it cannot be had, which is found out once.
func (o *opener) open(ctx context.Context, name string) (Launcher, error) {
	if l, ok := o.launched[name]; ok {
		return l, nil
	}
	if err, ok := o.failed[name]; ok {
		return nil, err
	}
	l, err := o.try(ctx, name)
	if err != nil {
		o.failed[name] = err
		return nil, err
	}
	o.launched[name] = l
	return l, nil
}

func (o *opener) try(ctx context.Context, name string) (Launcher, error) {
	engine, ok := o.engines[name]
	if !ok {
		return nil, fmt.Errorf("this watcher has no launcher %q", name)
	}
	if err := engine.Reach(ctx, o.setting.Config); err != nil {
		return nil, err
	}
	o.touched = append(o.touched, name)
	setting := o.setting
	setting.Log = setting.Log.With("launcher", name)
	l, err := engine.Open(ctx, setting)
	if err != nil {
		return nil, fmt.Errorf("prepare %s: %w", name, err)
	}
	return l, nil
}

// enforced is what a launcher enforces.
func (o *opener) enforced(ctx context.Context, name string) (sandbox.Guarantees, error) {
	l, err := o.open(ctx, name)
	if err != nil {
		return nil, err
	}
	g, err := l.Check(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask %s what it enforces: %w", name, err)
	}
	return g, nil
}

func (o *opener) close() error { return closeAll(o.launched) }
