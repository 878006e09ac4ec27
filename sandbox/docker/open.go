package docker

import (
	"context"
	"fmt"
	"io"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"

	"torno/sandbox"
	"torno/sandbox/docker/engine"
	"torno/sandbox/docker/names"
	"torno/sandbox/docker/output"
)

// Open follows a sandbox. The first time that is the stream which Start attached to, raw and whole, at the speed at which
// it is read. Every other time it is the engine's bounded log, which may have lost its beginning.
//
// The agent's standard input stays open from one attachment to the next, until Input is closed or this process ends.
func (l *Launcher) Open(ctx context.Context, h sandbox.Handle, cursor sandbox.Cursor) (sandbox.Attachment, error) {
	if err := h.On(l.identity.Name()); err != nil {
		return nil, err
	}
	from, err := output.Parse(cursor)
	if err != nil {
		return nil, err
	}
	b := l.known(h.ID)
	if b == nil {
		b = &box{}
	}
	live := b.takeLive()
	if live != nil && cursor == "" {
		return l.openLive(h, b, live), nil
	}
	if live != nil {
		live.Close() // from its beginning it is of no use any more
	}
	return l.openLog(ctx, h, b, from)
}

// takeLive is the stream from the beginning, for one taker.
func (b *box) takeLive() *types.HijackedResponse {
	b.mu.Lock()
	defer b.mu.Unlock()
	live := b.live
	b.live = nil
	return live
}

func (l *Launcher) openLive(h sandbox.Handle, b *box, live *types.HijackedResponse) sandbox.Attachment {
	return l.newAttachment(h, b, output.Live(liveStream{live}, b.digest()), true)
}

func (l *Launcher) openLog(ctx context.Context, h sandbox.Handle, b *box, from output.Place) (sandbox.Attachment, error) {
	found, err := l.look(ctx, h)
	if err != nil {
		return nil, err
	}
	if found.State.Status == container.StateCreated {
		return nil, fmt.Errorf("container %s was never started", h.ID)
	}
	following, cancel := context.WithCancel(context.WithoutCancel(ctx))
	log, err := l.askLog(ctx, following, cancel, h)
	if err != nil {
		cancel()
		if engine.IsConflict(err) { // it is dead, or being removed, and its log can be had no more
			err = sandbox.ErrNotFound
		}
		return nil, l.identity.Wrap(err, "read the log of", h)
	}
	reader := output.Log(logStream{log, cancel}, from, found.Config.Labels[names.LabelEnd], func() (bool, error) { return l.hasFirstLine(following, h) })
	return l.newAttachment(h, b, reader, false), nil
}

// askLog has the engine hand out a log for as long as it is followed, and gives up when ctx is done before it has begun to.
func (l *Launcher) askLog(ctx, following context.Context, giveUp func(), h sandbox.Handle) (io.ReadCloser, error) {
	begun := context.AfterFunc(ctx, giveUp)
	log, err := l.engine.Logs(following, h.ID, container.LogsOptions{
		ShowStdout: true, ShowStderr: true, Follow: true, Timestamps: true,
	})
	if begun() {
		return log, err
	}
	if err == nil {
		log.Close()
	}
	return nil, ctx.Err()
}

// logStream ends the request with the reading.
type logStream struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (s logStream) Close() error {
	s.cancel()
	return s.ReadCloser.Close()
}

// hasFirstLine asks whether the log still has its beginning.
func (l *Launcher) hasFirstLine(ctx context.Context, h sandbox.Handle) (bool, error) {
	log, err := l.engine.Logs(ctx, h.ID, container.LogsOptions{ShowStderr: true})
	if err != nil {
		return false, l.identity.Wrap(err, "read the log of", h)
	}
	defer log.Close()
	first, err := output.HasFirstLine(log)
	if err != nil {
		return false, l.identity.Wrap(err, "read the log of", h)
	}
	return first, nil
}
