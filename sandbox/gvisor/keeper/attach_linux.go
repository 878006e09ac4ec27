package keeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"torno/sandbox/gvisor/keeper/output"
)

// Attach continues after a given place: with the keeper if it lives, or else with the log that it has left.
func (b Box) Attach(ctx context.Context, from output.Progress) (*Line, error) {
	var line *Line
	err := b.retry(ctx, func() error {
		conn, err := b.dial(ctx)
		if err == nil {
			line, err = b.newLine(conn, from)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if line == nil {
		line = &Line{box: b, progress: from}
	}
	return line, nil
}

// dial connects to the keeper by a short name, however long the path of the box is.
func (b Box) dial(ctx context.Context) (net.Conn, error) {
	dir, err := os.Open(b.Dir)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return new(net.Dialer).DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), socketName))
}

// Kill makes the keeper end the sandbox. If there is no keeper, it does nothing.
func (b Box) Kill(ctx context.Context) error {
	return b.retry(ctx, func() error { return b.ask(ctx, killHello) })
}

// Dismiss makes the keeper end the sandbox and then exit, without waiting for readers that have not read all output
// yet.
func (b Box) Dismiss(ctx context.Context) error {
	return b.retry(ctx, func() error { return b.ask(ctx, leaveHello) })
}

// Bring tells the keeper of a sandbox that was made ahead about its run.
func (b Box) Bring(ctx context.Context, a Arrival) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	conn, err := b.dial(ctx)
	if err != nil {
		return fmt.Errorf("reach its keeper: %w", err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err = io.WriteString(conn, runHello); err == nil {
		err = output.Frame{Kind: output.Arrive, Bytes: text}.Write(conn)
	}
	if err != nil {
		return fmt.Errorf("tell its keeper of the run: %w", err)
	}
	answer, err := output.ReadFrame(conn)
	switch {
	case err != nil:
		return fmt.Errorf("its keeper has not answered: %w", err)
	case answer.Kind != output.Done:
		return fmt.Errorf("its keeper refuses the run: %s", answer.Bytes)
	}
	return nil
}

// AwaitEnd waits until the sandbox has ended, and returns how. If no end was written down, the error is ErrGone. AwaitEnd
// looks for the end before it asks the keeper, because somebody may have stopped the keeper.
func (b Box) AwaitEnd(ctx context.Context) (End, error) {
	if end, err := b.End(); err == nil {
		return end, nil
	}
	err := b.retry(ctx, func() error {
		if err := b.ask(ctx, endHello); err != nil {
			return err
		}
		return errHeld // ask again: only the end in the file counts
	})
	if err != nil {
		return End{}, err
	}
	return b.End()
}

// ask sends a word to the keeper, and returns when the keeper has answered.
func (b Box) ask(ctx context.Context, word string) error {
	conn, err := b.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := io.WriteString(conn, word); err != nil {
		return err
	}
	answer, err := io.ReadAll(io.LimitReader(conn, output.HeaderSize+output.MaxFrame))
	if err == nil && len(answer) == 0 {
		err = errors.New("the keeper has not answered")
	}
	return err
}
