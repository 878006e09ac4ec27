package keeper

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"sync"

	"torno/sandbox/gvisor/keeper/output"
)

// Output is a piece of output. Progress is after it.
type Output struct {
	Kind     output.Kind
	Bytes    []byte
	Progress output.Progress
	Gap      bool // output before it is missing
}

// ErrGone says that the keeper is gone and has left no end.
var ErrGone = errors.New("the sandbox's keeper is gone")

// Line is a connection to a keeper, and then the log that it has left. Read has one caller; the others may come at any time.
type Line struct {
	box      Box
	progress output.Progress
	conn     net.Conn // nil when there was no keeper any more
	in       *bufio.Reader
	lost     bool // the connection has ended
	over     bool // the end was read
	end      End

	mu     sync.Mutex
	left   *leavings
	closed bool
}

// leavings are what a keeper has left.
type leavings struct {
	box    *os.Root
	reader *output.Reader
	told   bool // what is missing before its first frame
}

func (b Box) newLine(conn net.Conn, from output.Progress) (*Line, error) {
	if _, err := io.WriteString(conn, from.String()+"\n"); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &Line{box: b, conn: conn, in: bufio.NewReaderSize(conn, output.MaxFrame+output.HeaderSize), progress: from}, nil
}

// awaitRunning is the first word of a keeper. Output before it is the runtime's, which says there why it failed, too.
func (l *Line) awaitRunning(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { l.conn.Close() })()
	for {
		f, err := output.ReadFrame(l.in)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return ErrGone
		case f.Kind == output.Running:
			return nil
		case f.Kind != output.Ended:
			continue
		}
		if err := l.take(f); err != nil {
			return err
		}
		return l.end.NotStarted()
	}
}

// Read is the next output, io.EOF when there is no more and End is known. What a keeper that was killed has not sent any
// more comes from the log. Where the first of the output was dropped, or the last of it was lost, an Output without bytes is the gap.
func (l *Line) Read(ctx context.Context) (Output, error) {
	for !l.over {
		f, err := l.next(ctx)
		if err != nil {
			return Output{}, err
		}
		switch f.Kind {
		case output.Stdout, output.Stderr:
			if fresh, gap := l.progress.Take(f); len(fresh) > 0 {
				return Output{Kind: f.Kind, Bytes: fresh, Progress: l.progress, Gap: gap}, nil
			}
		case output.Ended:
			if err := l.take(f); err != nil {
				return Output{}, err
			}
			l.over = true
			if gap, is := l.skipTo(l.end.Output); is {
				return gap, nil
			}
		case output.Missing:
			before, err := output.ParseProgress(string(f.Bytes))
			if err != nil {
				return Output{}, err
			}
			if gap, is := l.skipTo(before); is {
				return gap, nil
			}
		}
	}
	return Output{}, io.EOF
}

// skipTo moves the progress to a place up to which nothing more comes, and returns the gap where that is further on.
func (l *Line) skipTo(place output.Progress) (gap Output, is bool) {
	if l.progress.Reaches(place) {
		return Output{}, false
	}
	l.progress = l.progress.Max(place)
	return Output{Kind: output.Stdout, Progress: l.progress, Gap: true}, true
}

// next is the next frame, from wherever they come.
func (l *Line) next(ctx context.Context) (output.Frame, error) {
	if l.conn != nil && !l.lost {
		f, err := output.ReadFrame(l.in)
		if err == nil {
			return f, nil
		}
		l.lost = true
	}
	if err := l.open(ctx); err != nil {
		return output.Frame{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return output.Frame{}, net.ErrClosed
	}
	if !l.left.told {
		l.left.told = true
		return l.left.missing(), nil
	}
	f, err := l.left.reader.Read(ctx)
	if errors.Is(err, io.EOF) {
		return l.left.end()
	}
	return f, err
}

// open opens what the keeper has left, as soon as it has left it.
func (l *Line) open(ctx context.Context) error {
	l.mu.Lock()
	done := l.left != nil || l.closed
	l.mu.Unlock()
	if done {
		return nil
	}
	if err := l.box.awaitOver(ctx); err != nil {
		return err
	}
	box, err := os.OpenRoot(l.box.Dir)
	if err != nil {
		return errors.Join(ErrGone, err)
	}
	log, err := output.Old(box)
	if err != nil {
		return errors.Join(err, box.Close())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return box.Close()
	}
	l.left = &leavings{box: box, reader: log.Follow()}
	return nil
}

// missing is the first frame: it says what the keeper has dropped, as far as that is known.
func (l *leavings) missing() output.Frame {
	end, _ := readEnd(l.box) // without an end the offsets of the frames tell
	return output.Frame{Kind: output.Missing, Bytes: []byte(end.Dropped.String())}
}

// end is the last frame.
func (l *leavings) end() (output.Frame, error) {
	text, err := l.box.ReadFile(endName)
	if err != nil {
		return output.Frame{}, ErrGone
	}
	return output.Frame{Kind: output.Ended, Bytes: text}, nil
}

// take learns the end.
func (l *Line) take(f output.Frame) error {
	if err := json.Unmarshal(f.Bytes, &l.end); err != nil {
		return ErrGone
	}
	return nil
}

// End is how the sandbox ended, once Read has returned io.EOF.
func (l *Line) End() End { return l.end }

// Release has the keeper give init the word for which it waits.
func (l *Line) Release() error { return l.say(output.Frame{Kind: output.Release}) }

// Input sends data to the agent's standard input. Each frame is one write, so that of several callers none comes between.
func (l *Line) Input(data []byte) error {
	for len(data) > 0 {
		n := min(len(data), output.MaxFrame)
		if err := l.say(output.Frame{Kind: output.Input, Bytes: data[:n]}); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// Shut is the end of the agent's standard input.
func (l *Line) Shut() error { return l.say(output.Frame{Kind: output.Shut}) }

func (l *Line) say(f output.Frame) error {
	if l.conn == nil {
		return io.ErrClosedPipe
	}
	return f.Write(l.conn)
}

// Close lets go. The sandbox lives on. It can be repeated.
func (l *Line) Close() error {
	var err error
	if l.conn != nil {
		err = ignore(l.conn.Close(), net.ErrClosed) // a caller that waits with a context may have closed it
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.left != nil {
		l.left.reader.Close()
		err = errors.Join(err, l.left.box.Close())
		l.left = nil
	}
	return err
}
