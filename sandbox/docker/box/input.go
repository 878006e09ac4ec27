package box

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"

	"torno/internal/runfile"
	"torno/sandbox"
	"torno/sandbox/docker/engine"
)

// Holds says whether this attachment has the connection that Start has made, and init still waits on it. An attachment that
// reads the engine's log has none.
func (a *attachment) Holds() bool {
	a.box.mu.Lock()
	defer a.box.mu.Unlock()
	return a.holds()
}

// holds is Holds for a caller that has the box's lock.
func (a *attachment) holds() bool { return a.first && a.box.held && !a.isClosed() }

// Release gives init its word on the connection that Start has made.
func (a *attachment) Release(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a.box.mu.Lock()
	defer a.box.mu.Unlock()
	if !a.holds() {
		return fmt.Errorf("release container %s: %w", a.handle.ID, sandbox.ErrNotHeld)
	}
	a.box.held = false
	if _, err := io.WriteString(a.box.input.Conn, a.box.release()); err != nil {
		return engine.Away(fmt.Errorf("release container %s: %w", a.handle.ID, err))
	}
	return nil
}

// agentInput is the agent's standard input, as long as the attachment is open.
type agentInput struct{ a *attachment }

func (i agentInput) Write(p []byte) (int, error) {
	conn := i.a.agentInput()
	if conn == nil || i.a.isClosed() {
		return 0, io.ErrClosedPipe
	}
	if err := conn.Conn.SetWriteDeadline(time.Time{}); err != nil {
		return 0, err
	}
	defer context.AfterFunc(i.a.open, func() { _ = conn.Conn.SetWriteDeadline(time.Now()) })() // an agent that does not read holds up nothing
	n, err := conn.Conn.Write(p)
	if err != nil {
		i.a.box.dropInput(conn)
	}
	return n, err
}

// Close is the end of the agent's input. The engine hands it on when our half of the connection ends.
func (i agentInput) Close() error {
	if i.a.isClosed() {
		return nil
	}
	return i.a.box.closeInput()
}

// agentInput is the agent's standard input, nil before the release. One that lasts is attached to anew where there is none.
func (a *attachment) agentInput() *types.HijackedResponse {
	b := a.box
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held {
		return nil
	}
	if b.input == nil && b.lasting {
		ctx, cancel := context.WithTimeout(a.open, answerTime)
		defer cancel()
		b.input, _ = a.reach.attach(ctx, a.handle, container.AttachOptions{Stream: true, Stdin: true}) // the caller's next write tries again
	}
	return b.input
}

// dropInput forgets a broken connection to an input that lasts.
func (b *Box) dropInput(broken *types.HijackedResponse) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lasting && b.input == broken {
		broken.Close()
		b.input = nil
	}
}

// abandon ends the input of an init that holds. The end of an input that lasts would not come to init, so it gets a word that is none.
func (b *Box) abandon() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held {
		_ = b.input.Conn.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = io.WriteString(b.input.Conn, strings.Repeat("\n", len(runfile.Release)))
		b.dropStreams()
	}
}

func (b *Box) closeInput() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.input == nil || b.held {
		return nil
	}
	err := b.input.CloseWrite()
	b.input.Close()
	b.input = nil
	return err
}
