package keeper

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"sync"

	"torno/sandbox/gvisor/keeper/output"
)

// Output is a piece of output. Progress is the place after it.
type Output struct {
	Kind     output.Kind
	Bytes    []byte
	Progress output.Progress
	Gap      bool // output before this piece is missing
}

// ErrGone says that the keeper is gone and has left no end.
var ErrGone = errors.New("the sandbox's keeper is gone")

// Line reads from a connection to a keeper, and afterwards from the log that the keeper has left. Only one goroutine
// may call Read; the other methods may be called at any time.
type Line struct {
	box      Box
	progress output.Progress
	conn     net.Conn // nil if there was no keeper any more
	in       *bufio.Reader
	lost     bool // the connection has ended
	over     bool // the end was read
	end      End

	mu     sync.Mutex
	left   *leavings
	closed bool
}

// leavings are the log and the end that a keeper has left.
type leavings struct {
	box    *os.Root
	reader *output.Reader
	told   bool // the reader knows how much is missing before the first frame
}

func (b Box) newLine(conn net.Conn, from output.Progress) (*Line, error) {
	if _, err := io.WriteString(conn, from.String()+"\n"); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &Line{box: b, conn: conn, in: bufio.NewReaderSize(conn, output.MaxFrame+output.HeaderSize), progress: from}, nil
}

// awaitRunning waits until the keeper reports that the sandbox runs, or has ended. It skips earlier output: this comes
// from the runtime, and a reason for a failure is also in the end.
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

// Read returns the next output, or io.EOF when there is no more and End is known. If a keeper was killed, Read takes
// the output that it did not send from the log. If the first part of the output was dropped, or the last part was lost,
// Read returns an Output without bytes for the gap.
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

// Progress returns the place up to which Read has read. Only the caller of Read may call it.
func (l *Line) Progress() output.Progress { return l.progress }

// skipTo moves the progress to a place before which nothing more comes. If this skips output, it returns the gap.
func (l *Line) skipTo(place output.Progress) (gap Output, is bool) {
	if l.progress.Reaches(place) {
		return Output{}, false
	}
	l.progress = l.progress.Max(place)
	return Output{Kind: output.Stdout, Progress: l.progress, Gap: true}, true
}

// next returns the next frame, from the connection or from the log.
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

// open opens the log that the keeper has left, as soon as the keeper is done.
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
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.Join(ErrGone, err)
	}
	if err != nil {
		return err
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

// missing returns the first frame: it says how much the keeper has dropped, as far as that is known.
func (l *leavings) missing() output.Frame {
	end, _ := readEnd(l.box) // without an end, the offsets of the frames show it
	return output.Frame{Kind: output.Missing, Bytes: []byte(end.Dropped.String())}
}

// end returns the last frame.
func (l *leavings) end() (output.Frame, error) {
	text, err := l.box.ReadFile(endName)
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrGone
	}
	return output.Frame{Kind: output.Ended, Bytes: text}, err
}

// take stores the end.
func (l *Line) take(f output.Frame) error {
	if err := json.Unmarshal(f.Bytes, &l.end); err != nil {
		return ErrGone
	}
	return nil
}

// End returns how the sandbox ended, after Read has returned io.EOF.
func (l *Line) End() End { return l.end }

// Release makes the keeper give init the word that it waits for.
func (l *Line) Release() error { return l.say(output.Frame{Kind: output.Release}) }

// Input sends data to the agent's standard input. Each frame is one write, so that data from several callers does not
// mix.
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

// Shut ends the agent's standard input.
func (l *Line) Shut() error { return l.say(output.Frame{Kind: output.Shut}) }

func (l *Line) say(f output.Frame) error {
	if l.conn == nil {
		return io.ErrClosedPipe
	}
	return f.Write(l.conn)
}

// Close closes the line; the sandbox lives on. It can be repeated.
func (l *Line) Close() error {
	var err error
	if l.conn != nil {
		err = ignore(l.conn.Close(), net.ErrClosed) // a waiting caller's context may have closed it
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
