//go:build linux

package exhaust

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"torno/sandbox"
	"torno/test/prober/inside"
	"torno/test/wait"
)

// witness measures whether others suffer: a second sandbox starts programs, and a client asks and wants replies.
type witness struct {
	*Field
	handle sandbox.Handle
	stop   context.CancelFunc
	tasks  sync.WaitGroup
	first  chan struct{} // closed when the neighbour has told something

	mu      sync.Mutex
	beats   []inside.Beats
	answers []time.Duration
	faults  []string
}

func (f *Field) witness() *witness {
	f.Helper()
	w := &witness{Field: f, first: make(chan struct{})}
	w.handle = f.create(f.prober("beat"))
	a := f.start(w.handle)
	ctx, stop := context.WithCancel(f.Context())
	w.stop = stop
	w.tasks.Go(func() { w.hear(a) })
	w.tasks.Go(func() { w.ask(ctx) })
	select {
	case <-w.first:
	case <-time.After(patience):
		f.Fatal("the neighbour's first word does not come")
	}
	return w
}

// hear notes what the neighbour tells, to its end.
func (w *witness) hear(a sandbox.Attachment) {
	reader, writer := io.Pipe()
	w.tasks.Go(func() {
		for chunk := range a.Output() {
			if chunk.Stream == sandbox.Stdout {
				_, _ = writer.Write(chunk.Bytes) // a reader that has left is no concern of the pump's
			}
		}
		writer.Close()
	})
	defer reader.Close()
	decoder := json.NewDecoder(reader)
	for told := 0; ; told++ {
		var b inside.Beats
		if err := decoder.Decode(&b); err != nil {
			return
		}
		w.note(func() { w.beats = append(w.beats, b) })
		if told == 0 {
			close(w.first)
		}
	}
}

func (w *witness) note(what func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	what()
}

// ask asks over and over.
func (w *witness) ask(ctx context.Context) {
	for ctx.Err() == nil {
		begin := time.Now()
		err := w.Ask(ctx, w.handle)
		w.note(func() {
			if err == nil {
				w.answers = append(w.answers, time.Since(begin))
			} else if ctx.Err() == nil {
				w.faults = append(w.faults, err.Error())
			}
		})
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// beaten waits until the neighbour has told n times more.
func (w *witness) beaten(n int) {
	w.Helper()
	count := func() (told int) {
		w.note(func() { told = len(w.beats) })
		return told
	}
	want := count() + n
	wait.Until(w, fmt.Sprintf("the neighbour has told %d times", want), func() bool { return count() >= want })
}

// says ends the watch, and says how long others had to wait.
func (w *witness) says() string {
	w.Helper()
	w.stop()
	w.remove(w.handle)
	w.tasks.Wait()
	slices.Sort(w.answers)
	var worst inside.Beats
	for _, b := range w.beats {
		worst.Median, worst.Worst = max(worst.Median, b.Median), max(worst.Worst, b.Worst)
		if b.Failed != "" {
			w.Errorf("the neighbour could not start a program: %s", b.Failed)
		}
	}
	for _, fault := range w.faults {
		w.Errorf("%s could not answer: %s", w.Asked, fault)
	}
	if len(w.answers) == 0 || len(w.beats) == 0 {
		w.Fatalf("the neighbour told %d times, and %s answered %d times", len(w.beats), w.Asked, len(w.answers))
	}
	slowest := w.answers[len(w.answers)-1]
	if worst.Worst > patience || slowest > patience {
		w.Errorf("the neighbour waited %s, and who asked %s %s", worst.Worst, w.Asked, slowest)
	}
	return fmt.Sprintf("beside it %d programs started, %s; %s answered %d times, worst %s", 10*len(w.beats), worst,
		w.Asked, len(w.answers), slowest.Round(time.Millisecond))
}
