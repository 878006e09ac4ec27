package box

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"

	"torno/sandbox"
	"torno/sandbox/docker/engine"
	"torno/sandbox/docker/names"
	"torno/sandbox/docker/output"
)

// Open follows a sandbox. The first time it reads the stream that Start attached to, raw and whole, at the reader's
// speed. Every other time it reads the engine's bounded log, whose beginning may be lost.
//
// The agent's standard input stays open from one attachment to the next, until Input is closed or this process ends. A
// lasting input is attached to anew.
func (r *Reach) Open(ctx context.Context, h sandbox.Handle, b *Box, cursor sandbox.Cursor) (sandbox.Attachment, error) {
	from, err := output.Parse(cursor)
	if err != nil {
		return nil, err
	}
	live := b.takeLive()
	if live != nil && cursor == "" {
		return r.openLive(h, b, live), nil
	}
	if live != nil {
		live.Close() // it starts at the first byte, which the caller does not want
	}
	return r.openLog(ctx, h, b, from)
}

// takeLive returns the stream from the beginning, but only once.
func (b *Box) takeLive() *types.HijackedResponse {
	b.mu.Lock()
	defer b.mu.Unlock()
	live := b.live
	b.live = nil
	return live
}

func (r *Reach) openLive(h sandbox.Handle, b *Box, live *types.HijackedResponse) sandbox.Attachment {
	return r.newAttachment(h, b, output.Live(liveStream{live}, b.digest()), true)
}

func (r *Reach) openLog(ctx context.Context, h sandbox.Handle, b *Box, from output.Place) (sandbox.Attachment, error) {
	r.awaitLog(ctx, h, b)
	found, err := r.Look(ctx, h)
	if err != nil {
		return nil, err
	}
	if found.State.Status == container.StateCreated {
		return nil, fmt.Errorf("container %s was never started", h.ID)
	}
	r.takeInput(ctx, h, b, found.Config)
	following, cancel := context.WithCancel(context.WithoutCancel(ctx))
	log, err := r.askLog(ctx, following, cancel, h)
	if err != nil {
		cancel()
		if engine.IsConflict(err) { // it is dead or being removed, and its log is gone
			err = sandbox.ErrNotFound
		}
		return nil, r.Identity.Wrap(err, "read the log of", h)
	}
	reader := output.Log(logStream{log, cancel}, from, found.Config.Labels[names.LabelEnd], func() (bool, error) { return r.hasFirstLine(following, h) })
	return r.newAttachment(h, b, reader, false), nil
}

// logTime bounds how long an engine may need to write the rest of an ended sandbox's log.
const logTime = 10 * time.Second

// awaitLog waits until the engine, too, knows of an end that the host has seen. Until then the engine may still write
// the log, and a reader that follows the log at that moment silently misses its last bytes.
func (r *Reach) awaitLog(ctx context.Context, h sandbox.Handle, b *Box) {
	if b.exit.Load() == nil {
		return
	}
	patient, cancel := context.WithTimeout(ctx, logTime)
	defer cancel()
	_, _ = r.Engine.Wait(patient, h.ID, container.WaitConditionNotRunning) // the next call reports any error
}

// askLog asks the engine for a log that ends with following. If ctx ends before the engine has answered, askLog gives
// up.
func (r *Reach) askLog(ctx, following context.Context, giveUp func(), h sandbox.Handle) (io.ReadCloser, error) {
	begun := context.AfterFunc(ctx, giveUp)
	log, err := r.Engine.Logs(following, h.ID, container.LogsOptions{
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

// logStream ends the request when it is closed.
type logStream struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (s logStream) Close() error {
	s.cancel()
	return s.ReadCloser.Close()
}

// hasFirstLine asks whether the log still has its beginning.
func (r *Reach) hasFirstLine(ctx context.Context, h sandbox.Handle) (bool, error) {
	log, err := r.Engine.Logs(ctx, h.ID, container.LogsOptions{ShowStderr: true})
	if err != nil {
		return false, r.Identity.Wrap(err, "read the log of", h)
	}
	defer log.Close()
	first, err := output.HasFirstLine(log)
	if err != nil {
		return false, r.Identity.Wrap(err, "read the log of", h)
	}
	return first, nil
}

// liveStream reads from an attached connection.
type liveStream struct{ *types.HijackedResponse }

func (s liveStream) Read(p []byte) (int, error) { return s.Reader.Read(p) }

func (s liveStream) Close() error { return s.Conn.Close() }
