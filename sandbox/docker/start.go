package docker

import (
	"context"

	"torno/sandbox"
	"torno/sandbox/docker/box"
)

// Start lets init begin, and hold.
func (l *Launcher) Start(ctx context.Context, h sandbox.Handle) error {
	if err := h.On(l.identity.Name()); err != nil {
		return err
	}
	if b := l.known(h.ID); b != nil {
		_, err := l.reach.Start(ctx, h, b)
		return err
	}
	b := box.Found(box.Given{ID: h.Sandbox})
	tried, err := l.reach.Start(ctx, h, b)
	if tried {
		l.remember(h.ID, b)
	}
	return err
}

// Open follows a sandbox: the first time from its first byte, later from the engine's bounded log.
func (l *Launcher) Open(ctx context.Context, h sandbox.Handle, cursor sandbox.Cursor) (sandbox.Attachment, error) {
	if err := h.On(l.identity.Name()); err != nil {
		return nil, err
	}
	b := l.known(h.ID)
	if b == nil {
		b = box.Found(box.Given{})
	}
	return l.reach.Open(ctx, h, b, cursor)
}
