package gvisor

import (
	"context"
	"errors"
	"io"
	"maps"
	"time"

	"torno/internal/retry"
	"torno/sandbox"
	"torno/sandbox/gvisor/command"
	"torno/sandbox/gvisor/keeper"
)

// answerTime bounds how long the launcher waits for a keeper to answer, or to exit after dismiss. A keeper that takes
// longer was stopped, or hangs. The launcher does not need it: the kernel does the killing (I20).
const answerTime = 5 * time.Second

// kill lets the keeper end a sandbox. If the keeper does not answer, kill ends the sandbox without it. The keeper then
// writes down the end, if it ever continues.
func (l *Launcher) kill(ctx context.Context, id string) error {
	err := l.ask(ctx, id, keeper.Box.Kill)
	if err == nil {
		return nil
	}
	l.options.Log.Warn("a sandbox's keeper does not answer; the sandbox is killed without it", "sandbox", id, "error", err)
	return l.killSandbox(ctx, id)
}

// dismiss lets the keeper end a sandbox and exit. If the keeper does not answer, dismiss kills the sandbox and then the
// keeper.
func (l *Launcher) dismiss(ctx context.Context, id string) error {
	err := l.ask(ctx, id, keeper.Box.Dismiss)
	if err == nil {
		return nil
	}
	l.options.Log.Warn("a sandbox's keeper does not answer; it is killed with its sandbox", "sandbox", id, "error", err)
	box := l.boxes.Path(id)
	return errors.Join(l.killSandbox(ctx, id), command.KillKeeper(ctx, box))
}

func (l *Launcher) ask(ctx context.Context, id string, what func(keeper.Box, context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	return what(l.boxes.Keeper(id), ctx)
}

// killSandbox kills sentry and gofer in two ways: by their control group, and by handles of the processes that have the
// box as an argument, because there may be no group.
func (l *Launcher) killSandbox(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTime) // the first try may have used up the time
	defer cancel()
	var err error
	if order, unread := l.boxes.Keeper(id).Order(); unread == nil && order.Group != nil {
		err = order.Group.Group().Kill()
	}
	return errors.Join(err, command.Kill(ctx, l.boxes.Path(id)))
}

// end kills the sandbox and waits until its keeper is gone. It locks the box, so that no other keeper can start. A
// keeper that was stopped after it had written down the end never exits by itself, so end kills it.
func (l *Launcher) end(ctx context.Context, id string) (io.Closer, error) {
	box, late := l.boxes.Keeper(id), time.Now().Add(answerTime)
	for {
		taken, err := box.Lock()
		if err == nil {
			if err := l.killRest(ctx, id); err != nil {
				return nil, errors.Join(err, taken.Close()) // a lock that is left behind looks like a keeper
			}
			return taken, nil
		}
		if !keeper.IsHeld(err) {
			return nil, err
		}
		if err := l.dismiss(ctx, id); err != nil {
			return nil, err
		}
		if state, err := box.State(); err == nil && state == keeper.Over && time.Now().After(late) {
			l.options.Log.Warn("a sandbox's keeper does not exit; it is killed", "sandbox", id)
			if err := command.KillKeeper(ctx, l.boxes.Path(id)); err != nil {
				return nil, err
			}
			late = time.Now().Add(answerTime)
		}
		if err := retry.Pause(ctx, retry.Soon); err != nil {
			return nil, err
		}
	}
}

// killRest kills the rest of a sandbox without a keeper, and removes its control group. If the keeper wrote down the
// end, nothing is alive. Otherwise killRest also looks for processes by their box, because they may be in no group of
// ours.
func (l *Launcher) killRest(ctx context.Context, id string) error {
	if err := l.removeGroup(ctx, id); err != nil {
		return err
	}
	if may, err := l.boxes.Keeper(id).MayRun(); err != nil || !may {
		return err
	}
	return command.Kill(ctx, l.boxes.Path(id))
}

// removeGroup removes the groups of a sandbox: ours, and the group named in its order. They differ if an earlier
// watcher had another parent group, as happens when an ordinary user started it through another unit.
func (l *Launcher) removeGroup(ctx context.Context, id string) error {
	ours := l.groups.Plan(id, sandbox.Limits{})
	if ours != nil {
		if err := ours.Group().Remove(ctx); err != nil {
			return err
		}
	}
	order, err := l.boxes.Keeper(id).Order()
	if err != nil || order.Group == nil || ours != nil && maps.Equal(ours.Dirs, order.Group.Dirs) {
		return nil //nolint:nilerr // a box that cannot be read names no group
	}
	if err := order.Group.Group().Remove(ctx); err != nil {
		return err
	}
	return order.Group.Above().Group().RemoveIfEmpty()
}
