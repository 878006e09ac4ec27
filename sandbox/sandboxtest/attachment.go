package sandboxtest

import (
	"context"
	"fmt"
	"io"
	"sync"

	"torno/sandbox"
)

// attachment is a fake's connection to a box.
type attachment struct {
	fake   *Fake
	box    *box
	reader *reader
	output chan sandbox.Chunk
	input  bool // whether it has the agent's standard input
	open   context.Context
	close  context.CancelFunc
	pumped sync.WaitGroup
}

func (f *Fake) attach(b *box, cursor sandbox.Cursor) (*attachment, error) {
	reader, err := b.log.attach(cursor)
	if err != nil {
		return nil, err
	}
	a := &attachment{fake: f, box: b, reader: reader, output: make(chan sandbox.Chunk), input: b.takeInput()}
	a.open, a.close = context.WithCancel(context.Background())
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		a.close()
	}
	f.attached[a] = true
	a.pumped.Go(a.pump)
	return a, nil
}

// pump delivers the log until the log ends or the attachment is closed.
func (a *attachment) pump() {
	defer close(a.output)
	defer a.box.log.detach(a.reader)
	for {
		chunk, more := a.box.log.next(a.open, a.reader)
		if !more {
			return
		}
		select {
		case a.output <- chunk:
			a.box.log.took(a.reader, chunk)
		case <-a.open.Done():
			return
		}
	}
}

// Holds reports whether Release can give the word.
func (a *attachment) Holds() bool {
	a.box.mu.Lock()
	defer a.box.mu.Unlock()
	return a.input && a.box.held && a.open.Err() == nil
}

// Release gives init its word.
func (a *attachment) Release(ctx context.Context) error {
	return a.fake.do(ctx, OpRelease, func() error {
		if !a.input || a.open.Err() != nil || !a.box.release(true) {
			return fmt.Errorf("release %s: %w", a.box.id, sandbox.ErrNotHeld)
		}
		return nil
	})
}

func (a *attachment) Output() <-chan sandbox.Chunk { return a.output }

func (a *attachment) Input() io.WriteCloser { return input{a} }

// takeInput gives the agent's standard input to the first attachment, and reports whether the caller is the first.
func (b *box) takeInput() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	first := !b.inputTaken
	b.inputTaken = true
	return first
}

func (a *attachment) Signal(ctx context.Context, s sandbox.Signal) error {
	return a.fake.do(ctx, OpSignal, func() error { a.box.signal(s); return nil })
}

func (a *attachment) Wait(ctx context.Context) (exit sandbox.Exit, err error) {
	err = a.fake.do(ctx, OpWait, func() error {
		select {
		case <-a.box.done:
		case <-a.open.Done():
			return fmt.Errorf("%s: the attachment is closed", a.box.id)
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case <-a.box.gone:
			return fmt.Errorf("%s: %w", a.box.id, sandbox.ErrNotFound)
		default:
			exit = *a.box.handle().Exit
			return nil
		}
	})
	return exit, err
}

func (a *attachment) Close() error {
	a.close()
	if a.input {
		if !a.box.spec.Process.Lasting {
			a.box.input.Close()
		}
		a.box.release(false)
	}
	a.pumped.Wait()
	a.fake.mu.Lock()
	defer a.fake.mu.Unlock()
	delete(a.fake.attached, a)
	return nil
}

// input is the agent's standard input. It ends with its attachment, as with Docker, unless it lasts.
type input struct{ a *attachment }

func (i input) Write(p []byte) (int, error) {
	if i.a.box.spec.Process.Lasting {
		return i.a.box.hand(i.a.open, p)
	}
	if !i.a.input {
		return 0, io.ErrClosedPipe
	}
	return i.a.box.input.Write(p)
}

func (i input) Close() error {
	if !i.a.input || i.a.box.spec.Process.Lasting {
		return nil
	}
	return i.a.box.input.Close()
}
