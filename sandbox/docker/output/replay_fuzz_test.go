package output

import (
	"bytes"
	"strings"
	"testing"

	"torno/sandbox"
)

// FuzzReplay lets an agent print anything, keeps it as the engine does, and goes on from every cursor: what comes is what
// was not delivered before, byte for byte, and no gap is told where the log is whole.
func FuzzReplay(f *testing.F) {
	for _, output := range []string{
		"", "\n", "a\n", "a", "\n\n\n", "a\nb\nc", strings.Repeat("x", 7) + "\n", strings.Repeat("x", 8) + "\n", strings.Repeat("x", 16) + "\n", strings.Repeat("x", 17), "\x00\xff\r\n\v",
		"torno-init 1 started 5\n", "2006-01-02T15:04:05.000000000Z x\n",
	} {
		f.Add(output, "err "+output, uint8(8), false, uint16(3))
		f.Add(output+output, output, uint8(1), true, uint16(9))
	}
	f.Fuzz(func(t *testing.T, out, errs string, buffer uint8, old bool, at uint16) {
		if len(out)+len(errs) > 1<<12 {
			return // the reading is quadratic here
		}
		log := started(int(buffer%32)+4, old) // the last line of all is shorter than any buffer
		stdout, stderr := written(log, sandbox.Stdout, out), firstLine+written(log, sandbox.Stderr, errs)
		whole := playBack(t, Place{}, log.frames, true)
		if !whole.equal(stdout, stderr) || whole.gaps != 0 {
			t.Fatalf("from the beginning: %q and %q with %d gaps, want %q and %q", whole.text[sandbox.Stdout], whole.text[sandbox.Stderr], whole.gaps, stdout, stderr)
		}
		n, m := int(at)%(len(stdout)+1), int(at)%(len(stderr)+1)
		if rest := playBack(t, live(n, m, log.clock), log.frames, true); !rest.equal(stdout[n:], stderr[m:]) || rest.gaps != 0 {
			t.Errorf("after byte %d and %d: %q and %q", n, m, rest.text[sandbox.Stdout], rest.text[sandbox.Stderr])
		}
		if len(whole.places) > 0 {
			checkCursor(t, whole.places[int(at)%len(whole.places)], log.frames, stdout, stderr)
		}
	})
}

// written adds output to a log. What comes back is what a reader can get: an old engine forgets that a long line ended,
// and without a next line it cannot be told.
func written(log *engineLog, stream sandbox.Stream, output string) string {
	if !strings.HasSuffix(output, "\n") {
		output += "\n"
	}
	log.write(stream, output)
	log.write(stream, "end\n")
	return output + "end\n"
}

// checkCursor goes on after a place that was delivered, by way of its text.
func checkCursor(t *testing.T, place Place, frames []logFrame, stdout, stderr string) {
	t.Helper()
	again, err := Parse(place.cursor())
	if err != nil || again != place {
		t.Fatalf("%q is read as %+v, %v", place.cursor(), again, err)
	}
	rest := playBack(t, again, frames, true)
	if !rest.equal(stdout[place.stdout.bytes:], stderr[place.stderr.bytes:]) || rest.gaps != 0 {
		t.Errorf("after %q: %q and %q with %d gaps", place.cursor(), rest.text[sandbox.Stdout], rest.text[sandbox.Stderr], rest.gaps)
	}
}

// FuzzReplayFrames feeds frames of a broken engine after any cursor: each is refused, or gives at most what is in it and
// the newline that an old engine forgets.
func FuzzReplayFrames(f *testing.F) {
	const stamp = "2006-01-02T15:04:05.000000001Z "
	for _, frame := range []string{"", "no time", stamp, stamp + "x\n", stamp + firstLine, "9999-12-31T23:59:59Z x", "0000-01-01T00:00:00Z x", "2006-01-02T15:04:05.000000001+23:59 x", stamp + "\x00"} {
		f.Add([]byte(frame), []byte(stamp+"y\n"), "1-5.7.0-9223372036854775807.-1.2", true)
		f.Add([]byte(stamp+"z"), []byte(frame), "1--1.1136214245000000001.1--1.0.0", false)
	}
	f.Fuzz(func(t *testing.T, first, second []byte, cursor string, complete bool) {
		from, err := Parse(sandbox.Cursor(cursor))
		if err != nil {
			return
		}
		if from.cursor() != sandbox.Cursor(cursor) && cursor != "" {
			t.Errorf("%q is read as %q", cursor, from.cursor())
		}
		r := newReplay(from, func() (bool, error) { return complete, nil })
		for i, frame := range [][]byte{first, second, first} {
			data, err := r.frame([]sandbox.Stream{sandbox.Stdout, sandbox.Stderr}[i%2], bytes.Clone(frame))
			if err != nil {
				return
			}
			_, body, _ := bytes.Cut(frame, []byte(" "))
			if !bytes.HasSuffix(append([]byte("\n"), body...), data) {
				t.Errorf("%q gave %q", frame, data)
			}
			if _, err := Parse(r.place().cursor()); err != nil {
				t.Errorf("%q leads to %q: %v", frame, r.place().cursor(), err)
			}
		}
	})
}
