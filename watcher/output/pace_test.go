package output

import (
	"bytes"
	"context"
	"syscall"
	"testing"
	"time"

	"torno/delegation"
	"torno/sandbox"
)

// TestAFloodOfLinesWaits: the lines of a child that prints as fast as it can cost a part of a core, once its burst is used up. The end of
// the run is not held up by it.
func TestAFloodOfLinesWaits(t *testing.T) {
	chunk := sandbox.Chunk{Stream: sandbox.Stdout, Bytes: bytes.Repeat([]byte(`{"type":"raw"}`+"\n"), 1000)}
	in := NewIntake(&Child{Live: &Live{Publish: func(int, []delegation.Event) error { return nil }, Remove: func(int) {}, Report: func(err error) { t.Error(err) }}, Agent: true, Started: true})
	in.share.Burst = 0
	const watched = 2 * time.Second
	ctx, stop := context.WithTimeout(t.Context(), watched)
	defer stop()
	before := used(t)
	for ctx.Err() == nil {
		in.Take(ctx, chunk)
	}
	if spent := used(t) - before; spent > watched/2 {
		t.Errorf("it costs %s of %s", spent, watched)
	}
	begin := time.Now()
	for range 10 {
		in.Take(ctx, chunk) // the run has ended
	}
	if took := time.Since(begin); took > 20*lineRest {
		t.Errorf("the rest of the output took %s", took)
	}
}

// used is what this process has used of processors.
func used(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
