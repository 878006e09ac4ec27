package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"

	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/docker/engine"
	"torno/sandbox/docker/names"
)

// Open follows a sandbox. The first time that is the stream which Start attached to, raw and whole, at the speed at which
// it is read. Every other time it is the engine's bounded log, which may have lost its beginning.
//
// The agent's standard input stays open from one attachment to the next, until Input is closed or this process ends.
func (l *Launcher) Open(ctx context.Context, h sandbox.Handle, cursor sandbox.Cursor) (sandbox.Attachment, error) {
	if err := h.On(l.identity.Name()); err != nil {
		return nil, err
	}
	from, err := parseCursor(cursor)
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
	var at progress
	ends := endingsOf(b.digest())
	return l.newAttachment(h, b, liveStream{live}, true, func(stream sandbox.Stream, frame []byte) (sandbox.Chunk, error) {
		data := ends.take(stream, frame)
		if len(data) == 0 {
			return sandbox.Chunk{}, ends.told()
		}
		m := at.of(stream)
		*m = mark{bytes: m.bytes + int64(len(data)), stamp: time.Now().UnixNano(), same: allOfStamp}
		return sandbox.Chunk{Stream: stream, Cursor: at.cursor(), Bytes: bytes.Clone(data)}, ends.told()
	})
}

func (l *Launcher) openLog(ctx context.Context, h sandbox.Handle, b *box, from progress) (sandbox.Attachment, error) {
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
	ends := endingsOf(found.Config.Labels[names.LabelEnd])
	r := newReplay(from, func() (bool, error) { return l.hasFirstLine(following, h) })
	return l.newAttachment(h, b, logStream{log, cancel}, false, func(stream sandbox.Stream, frame []byte) (sandbox.Chunk, error) {
		if frame != nil {
			if frame, err = r.frame(stream, frame); err != nil || len(frame) == 0 {
				return sandbox.Chunk{}, err
			}
		}
		data := ends.take(stream, frame)
		if len(data) == 0 && (!r.gap || ends.told() == nil) {
			return sandbox.Chunk{}, ends.told()
		}
		return sandbox.Chunk{Stream: stream, Cursor: ends.before(r.place()).cursor(), Bytes: bytes.Clone(data), Gap: r.takeGap()}, ends.told()
	}), nil
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

// frameHeader is what stands before each frame of a stream: one byte that tells which, three of nothing, four for the size.
const frameHeader = 8

// hasFirstLine reads the beginning of standard error.
func (l *Launcher) hasFirstLine(ctx context.Context, h sandbox.Handle) (bool, error) {
	log, err := l.engine.Logs(ctx, h.ID, container.LogsOptions{ShowStderr: true})
	if err != nil {
		return false, l.identity.Wrap(err, "read the log of", h)
	}
	defer log.Close()
	start := make([]byte, frameHeader+max(len(runfile.Holding), len(runfile.Started), len(runfile.Failed)))
	n, err := io.ReadFull(log, start)
	if n <= frameHeader && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
		return false, nil
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, l.identity.Wrap(err, "read the log of", h)
	}
	return isFirstLine(start[frameHeader:n]), nil
}
