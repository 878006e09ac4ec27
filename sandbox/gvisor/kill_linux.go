package gvisor

import (
	"context"
	"errors"
	"time"

	"torno/sandbox/gvisor/command"
	"torno/sandbox/gvisor/keeper"
)

// answerTime is how long a keeper may take to answer. One that takes longer was stopped, or hangs, and is not needed: what kills
// is the kernel (I20).
const answerTime = 5 * time.Second

// kill has the keeper end a sandbox, and does so without it where it does not answer. The keeper writes down the end, if it ever
// goes on.
func (l *Launcher) kill(ctx context.Context, id string) error {
	err := l.ask(ctx, id, keeper.Box.Kill)
	if err == nil {
		return nil
	}
	l.options.Log.Warn("a sandbox's keeper does not answer; the sandbox is killed without it", "sandbox", id, "error", err)
	return l.killSandbox(ctx, id)
}

// dismiss has the keeper end a sandbox and go. One that does not is killed, behind all that it keeps.
func (l *Launcher) dismiss(ctx context.Context, id string) error {
	err := l.ask(ctx, id, keeper.Box.Leave)
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

// killSandbox kills sentry and gofer: by the control group that they are in, and by handles of the processes that have the box
// for an argument, since there may be no group.
func (l *Launcher) killSandbox(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTime) // asking may have used up the time of the caller
	defer cancel()
	var err error
	if order, unread := l.boxes.Keeper(id).Order(); unread == nil && order.Group != nil {
		err = order.Group.Group().Kill()
	}
	return errors.Join(err, command.Kill(ctx, l.boxes.Path(id)))
}
