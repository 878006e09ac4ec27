package docker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/client"

	"torno/sandbox"
	"torno/sandbox/docker"
	"torno/test/prober/inside"
	"torno/test/prober/verdict"
)

// patience is how long a neighbour or the engine may be kept waiting by a sandbox that takes all it can get. It is
// generous, for machines that do much else at the time; what was measured is in the notes.
const patience = 15 * time.Second

// newProberField is a field with the prober in its workspace.
func newProberField(t testing.TB, mode docker.MountMode) *field {
	f := newField(t, mode)
	content, err := os.ReadFile(verdict.Build(t))
	f.must(err)
	f.must(os.WriteFile(filepath.Join(f.base, "workspace", "prober"), content, 0o755))
	return f
}

// prober is a run of it.
func (f *field) prober(args ...string) sandbox.Spec {
	return f.spec(append([]string{"/workspace/prober"}, args...)...)
}

// witness is who sees whether others have to suffer: a second sandbox that starts programs, and a client of the engine.
type witness struct {
	*field
	handle sandbox.Handle
	api    *client.Client
	begun  time.Time
	stop   context.CancelFunc
	tasks  sync.WaitGroup
	first  chan struct{} // closed when the neighbour has told something

	mu      sync.Mutex
	beats   []inside.Beats
	answers []time.Duration
	faults  []string
}

func (f *field) witness() *witness {
	f.Helper()
	w := &witness{field: f, api: needEngine(f.TB), begun: time.Now(), first: make(chan struct{})}
	w.handle = f.create(f.prober("beat"))
	a := f.start(w.handle)
	ctx, stop := context.WithCancel(f.ctx)
	w.stop = stop
	w.tasks.Go(func() { w.hear(a) })
	w.tasks.Go(func() { w.ask(ctx) })
	f.await("the neighbour's first word", w.first)
	return w
}

func (f *field) await(what string, done <-chan struct{}) {
	f.Helper()
	select {
	case <-done:
	case <-time.After(engineTime):
		f.Fatalf("%s does not come", what)
	}
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

// ask has the engine tell of the neighbour, over and over.
func (w *witness) ask(ctx context.Context) {
	for ctx.Err() == nil {
		begin := time.Now()
		_, err := w.api.ContainerInspect(ctx, w.handle.ID)
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
	for deadline := time.Now().Add(engineTime); count() < want; time.Sleep(3 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatalf("the neighbour has told %d times and not %d", count(), want)
		}
	}
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
		w.Errorf("the engine could not answer: %s", fault)
	}
	if len(w.answers) == 0 || len(w.beats) == 0 {
		w.Fatalf("the neighbour told %d times, the engine %d", len(w.beats), len(w.answers))
	}
	slowest := w.answers[len(w.answers)-1]
	if worst.Worst > patience || slowest > patience {
		w.Errorf("the neighbour waited %s, and the engine's client %s", worst.Worst, slowest)
	}
	return fmt.Sprintf("beside it %d programs started, %s; the engine answered %d times, worst %s", 10*len(w.beats), worst,
		len(w.answers), slowest.Round(time.Millisecond))
}
