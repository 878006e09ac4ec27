package main

import (
	"bytes"
	"context"
	"sync"

	"torno/internal/control"
)

// How much of a child's output is kept for a picture: so many lines, and so many bytes of each.
const (
	keptLines = 200
	keptLine  = 2000
)

// follower keeps the last lines of one run's output.
type follower struct {
	changed chan struct{} // holds at most one hint that there is new output
	of      string        // the key of the run that is followed, "" for none
	end     context.CancelFunc

	mu   *sync.Mutex // guards tail
	tail *tail
}

// lines returns the last lines of a run. The first call for a run begins to follow it.
func (f *follower) lines(ctx context.Context, service control.Service, key string) []string {
	if key != f.of {
		f.stop()
		f.of = key
		if key != "" {
			f.start(ctx, service, key)
		}
	}
	if f.tail == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tail.shown()
}

func (f *follower) start(ctx context.Context, service control.Service, key string) {
	ctx, f.end = context.WithCancel(ctx)
	mu, t := new(sync.Mutex), &tail{}
	f.mu, f.tail = mu, t
	go func() {
		err := service.Output(ctx, key, true, func(o control.Output) error {
			mu.Lock()
			defer mu.Unlock()
			if o.Gap {
				t.add([]byte("\n(some output is missing here)\n"))
			}
			t.add(o.Bytes)
			f.hint()
			return nil
		})
		if err != nil && ctx.Err() == nil {
			mu.Lock()
			defer mu.Unlock()
			t.add([]byte("\n(" + err.Error() + ")\n"))
			f.hint()
		}
	}()
}

func (f *follower) hint() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

func (f *follower) stop() {
	if f.end != nil {
		f.end()
	}
	f.of, f.end, f.mu, f.tail = "", nil, nil, nil
}

// tail is the end of a text, in lines. The number and the length of the lines are bounded.
type tail struct {
	whole []string
	part  []byte // the last line so far, until it ends
}

func (t *tail) add(data []byte) {
	for len(data) > 0 {
		line, rest, ended := bytes.Cut(data, []byte("\n"))
		if room := keptLine - len(t.part); room > 0 {
			t.part = append(t.part, line[:min(room, len(line))]...)
		}
		data = rest
		if ended {
			t.whole, t.part = append(t.whole, string(t.part)), t.part[:0]
		}
		if len(t.whole) > 2*keptLines {
			t.whole = append([]string(nil), t.whole[len(t.whole)-keptLines:]...)
		}
	}
}

func (t *tail) shown() []string {
	lines := append([]string(nil), t.whole[max(0, len(t.whole)-keptLines):]...)
	if len(t.part) > 0 {
		lines = append(lines, string(t.part))
	}
	return lines
}
