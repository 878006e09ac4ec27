package output

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
)

const half = MaxFrame + HeaderSize // of the smallest log

func newTestLog(t testing.TB, bound int64) (*Log, *os.Root) {
	t.Helper()
	box, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(box, bound)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.file.Close()
		box.Close()
	})
	return r, box
}

func put(t testing.TB, r *Log, kind Kind, size int) {
	t.Helper()
	if err := r.Add(t.Context(), kind, bytes.Repeat([]byte{byte(kind)}, size)); err != nil {
		t.Fatal(err)
	}
}

// rest reads a reader to its end.
func rest(t testing.TB, f *Reader) (frames []Frame) {
	t.Helper()
	for {
		frame, err := f.Read(t.Context())
		if errors.Is(err, io.EOF) {
			return frames
		}
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, frame)
	}
}

// TestALogThatNobodyReads drops its oldest half, and never has more than it may; what is missing is told exactly.
func TestALogThatNobodyReads(t *testing.T) {
	r, box := newTestLog(t, 2*half)
	for range 50 {
		put(t, r, Stdout, 10_000)
		if size := logSize(t, box.Name()); size > 2*half {
			t.Fatalf("the log has %d bytes, and may have %d", size, 2*half)
		}
	}
	before, all := r.End()
	frames := rest(t, r.Follow())
	if before.Out != frames[0].Offset || all.Out != 500_000 {
		t.Errorf("of %v, %v came before the first frame, at %d", all, before, frames[0].Offset)
	}
	if len(frames) < 4 || len(frames) > 6 {
		t.Fatalf("%d frames are left", len(frames))
	}
	var progress Progress
	for i, f := range frames {
		fresh, gap := progress.Take(f)
		if gap != (i == 0) || len(fresh) != 10_000 {
			t.Errorf("frame %d: %d bytes, gap %v", i, len(fresh), gap)
		}
	}
	if progress.Out != 500_000 {
		t.Errorf("the progress at the end is %v", progress)
	}
}

func logSize(t testing.TB, dir string) (size int64) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "log.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	return size
}

// TestAReaderThatStopsHoldsTheWriter until it goes on, or goes.
func TestAReaderThatStopsHoldsTheWriter(t *testing.T) {
	for what, release := range map[string]func(*Reader){
		"reads": func(f *Reader) {
			for range 5 {
				f.Read(t.Context())
			}
		},
		"goes": func(f *Reader) { f.Close() },
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, _ := newTestLog(t, 2*half)
				follower := r.Follow()
				written := 0
				go func() {
					for range 8 {
						if err := r.Add(context.Background(), Stdout, make([]byte, 10_000)); err != nil {
							t.Error(err)
						}
						written++
					}
				}()
				synctest.Wait()
				if written != 6 {
					t.Fatalf("%d pieces were written before the reader reads", written)
				}
				release(follower)
				synctest.Wait()
				if written != 8 {
					t.Fatalf("%d pieces were written after it", written)
				}
			})
		})
	}
}

// TestTwoThatWaitDropOneHalf: both streams wait for the same reader, and when it goes only as much is dropped as has to be.
func TestTwoThatWaitDropOneHalf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newTestLog(t, 2*half)
		follower := r.Follow()
		for range 6 {
			put(t, r, Stdout, 10_000)
		}
		for _, kind := range []Kind{Stdout, Stderr} {
			go r.Add(context.Background(), kind, make([]byte, 10_000))
		}
		synctest.Wait()
		follower.Close()
		synctest.Wait()
		if r.first != 1 || r.last != 2 {
			t.Errorf("the log has the pieces %d to %d, want 1 to 2", r.first, r.last)
		}
	})
}

func TestAWaitThatIsGivenUp(t *testing.T) {
	r, _ := newTestLog(t, 2*half)
	r.Follow()
	for range 6 {
		put(t, r, Stdout, 10_000)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Add(ctx, Stdout, make([]byte, 10_000)); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

// TestALogThatWaitsForNobody takes what comes beside what a reader has not read, and that reader misses nothing.
func TestALogThatWaitsForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newTestLog(t, 2*half)
		follower := r.Follow()
		for range 6 {
			put(t, r, Stdout, 10_000)
		}
		added := make(chan error, 1)
		go func() { added <- r.Add(context.Background(), Stdout, make([]byte, 10_000)) }()
		synctest.Wait()
		if len(added) > 0 {
			t.Fatal("it did not wait for the reader")
		}
		r.WaitForNobody()
		if err := <-added; err != nil {
			t.Fatal(err)
		}
		if before, all := r.End(); before.Out != 0 || all.Out != 70_000 || len(rest(t, follower)) != 7 {
			t.Errorf("%v was dropped of %v, and the reader has not had all of it", before, all)
		}
	})
}

// TestATornFrame: a keeper that was killed in the middle of a write leaves all before it.
func TestATornFrame(t *testing.T) {
	r, box := newTestLog(t, 4*half)
	for range 3 {
		put(t, r, Stderr, 1000)
	}
	name := filepath.Join(box.Name(), segmentName(0))
	for cut := range int64(HeaderSize + 1000) {
		if cut > 20 && cut < 1000 {
			continue
		}
		if err := os.Truncate(name, 3*(HeaderSize+1000)-cut-1); err != nil {
			t.Fatal(err)
		}
		old, err := Old(box)
		if err != nil {
			t.Fatal(err)
		}
		f := old.Follow()
		if frames := rest(t, f); len(frames) != 2 {
			t.Fatalf("%d bytes short: %d frames", cut+1, len(frames))
		}
		f.Close()
	}
}

// TestAPieceThatCannotBeWritten is missing, and nothing after it is.
func TestAPieceThatCannotBeWritten(t *testing.T) {
	r, box := newTestLog(t, 4*half)
	put(t, r, Stdout, 100)
	whole := r.file
	broken, err := box.Open(segmentName(0)) // only to read
	if err != nil {
		t.Fatal(err)
	}
	r.file = broken
	if err := r.Add(t.Context(), Stdout, make([]byte, 50)); err == nil {
		t.Fatal("it was written")
	}
	r.file = whole
	broken.Close()
	put(t, r, Stdout, 10)
	r.End()
	var progress Progress
	frames := rest(t, r.Follow())
	if len(frames) != 2 {
		t.Fatalf("%d frames", len(frames))
	}
	progress.Take(frames[0])
	if fresh, gap := progress.Take(frames[1]); len(fresh) != 10 || !gap || progress.Out != 160 {
		t.Errorf("%d bytes, gap %v, progress %v", len(fresh), gap, progress)
	}
}

func TestPlaces(t *testing.T) {
	for text, want := range map[string]Progress{"": {}, "0.0": {}, "12.5": {12, 5}, "9223372036854775807.0": {9223372036854775807, 0}} {
		if got, err := ParseProgress(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"1", ".", "1.", ".1", "-1.0", "+1.0", "01.0", "1.0.0", "1.0 ", "9223372036854775808.0", "a.b", "kill"} {
		if got, err := ParseProgress(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func FuzzProgress(f *testing.F) {
	for _, seed := range []string{"", "0.0", "12.5", "9223372036854775807.1", "-1.0", "01.0", "1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		progress, err := ParseProgress(text)
		if err == nil && text != "" && progress.String() != text {
			t.Errorf("%q is %v", text, progress)
		}
	})
}

// FuzzFrame: whatever is read is bounded, and what is a frame is written as it was read.
func FuzzFrame(f *testing.F) {
	for _, frame := range []Frame{{Kind: Running}, {Kind: Stdout, Offset: 7, Bytes: []byte("seven")}, {Kind: Input, Bytes: make([]byte, MaxFrame)}} {
		f.Add(frame.append(nil))
	}
	f.Add(bytes.Repeat([]byte{0xff}, 20))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		frame, err := ReadFrame(bytes.NewReader(data))
		if err != nil {
			return
		}
		if again := frame.append(nil); !bytes.HasPrefix(data, again) {
			t.Errorf("%q was read, and %q is written", data, again)
		}
		var progress Progress
		progress.Take(frame)
		if progress.Out < 0 || progress.Err < 0 {
			t.Errorf("frame %d+%d moves to %v", frame.Offset, len(frame.Bytes), progress)
		}
	})
}

// FuzzLog: whatever the pieces of a log hold, it is read to an end, in order.
func FuzzLog(f *testing.F) {
	one := Frame{Kind: Stdout, Bytes: []byte("one")}.append(nil)
	two := Frame{Kind: Stderr, Offset: 5, Bytes: []byte("two")}.append(nil)
	f.Add(one, two)
	f.Add(append(one, two...), two[:7])
	f.Add(make([]byte, 64), one)
	f.Add([]byte{}, []byte{})
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, first, second []byte) {
		box, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer box.Close()
		for n, text := range [][]byte{first, second} {
			if err := box.WriteFile(segmentName(n+3), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		old, err := Old(box)
		if err != nil {
			t.Fatal(err)
		}
		follower := old.Follow()
		defer follower.Close()
		var progress Progress
		for _, frame := range rest(t, follower) {
			if !frame.isOutput() {
				t.Errorf("%+v is no output", frame)
			}
			before := progress
			progress.Take(frame)
			if progress.Out < before.Out || progress.Err < before.Err {
				t.Errorf("%+v moves from %v to %v", frame, before, progress)
			}
		}
	})
}
