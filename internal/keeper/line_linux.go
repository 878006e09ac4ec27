package keeper

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
)

// Output is a piece of output. Place is behind it.
type Output struct {
	Kind  Kind
	Bytes []byte
	Place Place
	Gap   bool // output before it is missing
}

// ErrGone says that the keeper is gone and has left no end.
var ErrGone = errors.New("the sandbox's keeper is gone")

// awaitRunning is the first word of a keeper. Output before it is the runtime's, which says there why it failed, too.
func (l *Line) awaitRunning(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { l.conn.Close() })()
	for {
		f, err := readFrame(l.in)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return ErrGone
		case f.Kind == Running:
			return nil
		case f.Kind != Ended:
			continue
		}
		if err := l.take(f); err != nil {
			return err
		}
		return &StartError{l.end.Trouble}
	}
}

// Read is the next output, io.EOF when there is no more and End is known.
func (l *Line) Read(ctx context.Context) (Output, error) {
	for {
		f, err := l.next(ctx)
		if err != nil {
			return Output{}, err
		}
		if f.Kind == Running {
			continue
		}
		if f.Kind == Ended {
			if err := l.take(f); err != nil {
				return Output{}, err
			}
			return Output{}, io.EOF
		}
		if fresh, gap := l.place.take(f); len(fresh) > 0 {
			return Output{Kind: f.Kind, Bytes: fresh, Place: l.place, Gap: gap}, nil
		}
	}
}

// next is the next frame, from wherever they come.
func (l *Line) next(ctx context.Context) (Frame, error) {
	if l.old == nil {
		f, err := readFrame(l.in)
		if err != nil {
			return Frame{}, ErrGone
		}
		return f, nil
	}
	f, err := l.old.read(ctx)
	if !errors.Is(err, io.EOF) {
		return f, err
	}
	text, err := l.box.ReadFile(endName)
	if err != nil {
		return Frame{}, ErrGone
	}
	return Frame{Kind: Ended, Bytes: text}, nil
}

// take learns the end.
func (l *Line) take(f Frame) error {
	if err := json.Unmarshal(f.Bytes, &l.end); err != nil {
		return ErrGone
	}
	l.ended = true
	return nil
}

// End is how the sandbox ended, once Read has returned io.EOF.
func (l *Line) End() End { return l.end }

// Input sends data to the agent's standard input.
func (l *Line) Input(data []byte) error {
	for len(data) > 0 {
		n := min(len(data), maxFrame)
		if err := l.say(Frame{Kind: Input, Bytes: data[:n]}); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// Shut is the end of the agent's standard input.
func (l *Line) Shut() error { return l.say(Frame{Kind: Shut}) }

func (l *Line) say(f Frame) error {
	if l.conn == nil {
		return io.ErrClosedPipe
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return f.write(l.conn)
}

// Close lets go. The sandbox lives on.
func (l *Line) Close() error {
	if l.conn != nil {
		return ignore(l.conn.Close(), net.ErrClosed) // whoever waits with a context may have closed it
	}
	l.old.close()
	return l.box.Close()
}
