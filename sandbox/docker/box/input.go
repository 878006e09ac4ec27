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

// Holds reports whether this attachment has the connection from Start and init still waits on it. An attachment that
// reads the engine's log has no such connection.
func (a *attachment) Holds() bool {
	a.box.mu.Lock()
	defer a.box.mu.Unlock()
	return a.holds()
}

// holds does the work of Holds. The caller has the box's lock.
func (a *attachment) holds() bool { return a.first && a.box.held && !a.isClosed() }

// Release gives init its word on the connection from Start.
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
	// An agent that does not read must hold up nothing, so closing the attachment ends the write.
	defer context.AfterFunc(i.a.open, func() { _ = conn.Conn.SetWriteDeadline(time.Now()) })()
	n, err := conn.Conn.Write(p)
	if err != nil {
		i.a.box.dropInput(conn)
	}
	return n, err
}

// Close ends the agent's input. The engine passes the end on when our half of the connection ends.
func (i agentInput) Close() error {
	if i.a.isClosed() {
		return nil
	}
	return i.a.box.closeInput()
}

// agentInput returns the connection to the agent's standard input; nil before the release. If a lasting input has no
// connection, it attaches anew.
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
		// If this fails, the caller's next write tries again.
		b.input, _ = a.reach.attach(ctx, a.handle, container.AttachOptions{Stream: true, Stdin: true})
	}
	return b.input
}

// dropInput forgets a broken connection to a lasting input.
func (b *Box) dropInput(broken *types.HijackedResponse) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lasting && b.input == broken {
		broken.Close()
		b.input = nil
	}
}

// abandon ends the input of an init that holds. Init would not see the end of a lasting input, so abandon first sends
// bytes that are not the release word.
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
