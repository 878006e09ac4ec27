package serve

import (
	"context"
	"fmt"

	"torno/internal/launcher"
	"torno/sandbox"
)

// opener opens launchers when they are asked for, each only once. Its owner closes them with close.
type opener struct {
	kinds    launcher.List
	setting  setting
	launched map[string]launcher.Launcher
	failed   map[string]error
	touched  []string // the launchers that may have made something, in the order in which they were asked for
}

func newOpener(kinds launcher.List, s setting) *opener {
	return &opener{kinds: kinds, setting: s, launched: map[string]launcher.Launcher{}, failed: map[string]error{}}
}

// open returns a launcher, or the reason why it cannot be had. It tries each launcher only once.
func (o *opener) open(ctx context.Context, name string) (launcher.Launcher, error) {
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

func (o *opener) try(ctx context.Context, name string) (launcher.Launcher, error) {
	kind := o.kinds.Find(name)
	if kind == nil {
		return nil, fmt.Errorf("this watcher has no launcher %q", name)
	}
	if err := kind.Reach(ctx, o.setting.config.SettingsOf(name)); err != nil {
		return nil, err
	}
	o.touched = append(o.touched, name)
	l, err := kind.Open(ctx, o.setting.of(name))
	if err != nil {
		return nil, fmt.Errorf("prepare %s: %w", name, err)
	}
	return l, nil
}

// enforced returns the guarantees that a launcher enforces.
func (o *opener) enforced(ctx context.Context, name string) (sandbox.Guarantees, error) {
	l, err := o.open(ctx, name)
	if err != nil {
		return nil, err
	}
	g, err := l.Check(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask %s for its guarantees: %w", name, err)
	}
	return g, nil
}

func (o *opener) close() error { return closeAll(o.launched) }
