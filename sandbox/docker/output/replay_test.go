package output

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"torno/internal/runfile"
	"torno/sandbox"
)

// logFrame is a frame as an engine's log gives it.
type logFrame struct {
	stream sandbox.Stream
	stamp  int64
	data   string
}

func (f logFrame) bytes() []byte {
	return []byte(time.Unix(0, f.stamp).UTC().Format("2006-01-02T15:04:05.000000000Z07:00") + " " + f.data)
}

// engineLog keeps output as Docker's log driver does: by the line, in pieces where a line is longer than the buffer. The
// newline after the last piece is lost by old engines.
type engineLog struct {
	buffer int
	old    bool
	clock  int64
	frames []logFrame
}

func (l *engineLog) write(stream sandbox.Stream, output string) {
	for line := range strings.Lines(output) {
		l.clock += 1000
		text, ended := strings.CutSuffix(line, "\n")
		pieces := 0
		for ; len(text) >= l.buffer; text = text[l.buffer:] {
			l.add(stream, text[:l.buffer])
			pieces++
		}
		if ended && (pieces == 0 || !l.old) {
			text += "\n"
		}
		if ended || text != "" {
			l.add(stream, text)
		}
	}
}

func (l *engineLog) add(stream sandbox.Stream, data string) {
	l.frames = append(l.frames, logFrame{stream, l.clock, data})
}

// started is a log that begins as every sandbox's does.
func started(buffer int, old bool) *engineLog {
	l := &engineLog{buffer: buffer, old: old, clock: 1e18}
	l.add(sandbox.Stderr, firstLine) // no buffer is so small that it would cut this line
	return l
}

const firstLine = runfile.Started + "1\n"

// replayed is what a replay makes of frames.
type replayed struct {
	text   map[sandbox.Stream]string
	gaps   int
	places []Place // after each frame that had something new
}

func (r replayed) equal(stdout, stderr string) bool {
	return r.text[sandbox.Stdout] == stdout && r.text[sandbox.Stderr] == stderr
}

func playBack(t *testing.T, from Place, frames []logFrame, complete bool) replayed {
	t.Helper()
	r := newReplay(from, func() (bool, error) { return complete, nil })
	out := replayed{text: map[sandbox.Stream]string{}}
	for _, f := range frames {
		data, err := r.frame(f.stream, f.bytes())
		if err != nil {
			t.Fatal(err)
		}
		if len(data) == 0 {
			continue
		}
		out.text[f.stream] += string(data)
		out.places = append(out.places, r.place())
		if r.takeGap() {
			out.gaps++
		}
	}
	return out
}

// live is the cursor of a reader that has read so many bytes of the raw stream.
func live(stdout, stderr int, now int64) Place {
	return Place{stdout: mark{int64(stdout), now, allOfStamp}, stderr: mark{int64(stderr), now, allOfStamp}}
}

// long has lines of every length around the buffer's, and bytes of every kind.
func long(lines int) string {
	random := rand.New(rand.NewPCG(1, 2))
	var out strings.Builder
	for range lines {
		line := make([]byte, random.IntN(40))
		for i := range line {
			line[i] = byte(random.IntN(256))
			if line[i] == '\n' {
				line[i] = 0
			}
		}
		out.Write(line)
		out.WriteByte('\n')
	}
	return out.String() + "end\n"
}

func TestReplayContinuesBehindEveryByte(t *testing.T) {
	stdout, stderr := long(30), firstLine+long(10)
	for _, old := range []bool{true, false} {
		log := started(8, old)
		for i, line := range strings.SplitAfter(stdout, "\n") {
			log.write(sandbox.Stdout, line)
			if i == 3 {
				log.write(sandbox.Stderr, stderr[len(firstLine):])
			}
		}
		if whole := playBack(t, Place{}, log.frames, true); !whole.equal(stdout, stderr) || whole.gaps != 0 {
			t.Fatalf("old engine %t, from the beginning: %q, %d gaps, want %q", old, whole.text[sandbox.Stdout], whole.gaps, stdout)
		}
		for n := range len(stdout) + 1 {
			m := min(n, len(stderr))
			rest := playBack(t, live(n, m, log.clock), log.frames, true)
			if !rest.equal(stdout[n:], stderr[m:]) || rest.gaps != 0 {
				t.Fatalf("old engine %t, after byte %d: %q, want %q", old, n, rest.text[sandbox.Stdout], stdout[n:])
			}
		}
	}
}

func TestReplayContinuesBehindItsOwnCursors(t *testing.T) {
	stdout := long(20)
	log := started(8, true)
	log.write(sandbox.Stdout, stdout)
	whole := playBack(t, Place{}, log.frames, true)
	for _, place := range whole.places {
		again, err := Parse(place.cursor())
		if err != nil || again != place {
			t.Fatalf("%q is read as %+v, %v", place.cursor(), again, err)
		}
		rest := playBack(t, again, log.frames, true)
		if !strings.HasSuffix(stdout, rest.text[sandbox.Stdout]) || len(rest.text[sandbox.Stdout]) != len(stdout)-int(place.stdout.bytes) {
			t.Fatalf("after %q: %q", place.cursor(), rest.text[sandbox.Stdout])
		}
	}
}

// TestReplayOfARotatedLog drops the beginning of the log frame by frame. While something from before the cursor is left,
// nothing is lost; then a gap is told, once.
func TestReplayOfARotatedLog(t *testing.T) {
	log := started(64, true)
	for i := range 10 {
		log.write(sandbox.Stdout, fmt.Sprintf("line %d\n", i))
	}
	cursor := playBack(t, Place{}, log.frames[:6], true).places[5] // after line 4
	for dropped := 1; dropped < len(log.frames); dropped++ {
		rest := playBack(t, cursor, log.frames[dropped:], false)
		first := max(5, dropped-1)
		want := ""
		for i := first; i < 10; i++ {
			want += fmt.Sprintf("line %d\n", i)
		}
		if gaps := map[bool]int{true: 1, false: 0}[dropped > 5]; !rest.equal(want, "") || rest.gaps != gaps {
			t.Errorf("%d frames dropped: %q with %d gaps, want %q with %d", dropped, rest.text[sandbox.Stdout], rest.gaps, want, gaps)
		}
		if last := rest.places[len(rest.places)-1]; last.stdout.bytes != unknown {
			t.Errorf("%d frames dropped: the bytes of %+v cannot be known", dropped, last)
		}
	}
	if all := playBack(t, Place{}, log.frames[3:], false); all.gaps != 1 {
		t.Errorf("a replay from the beginning that is gone tells %d gaps", all.gaps)
	}
}

// TestReplayBehindALiveCursor: the watcher may have read a frame long before it came to the one that the engine logged in that moment.
// So a log without its beginning has a gap there, whatever the times say.
func TestReplayBehindALiveCursor(t *testing.T) {
	log := started(64, true)
	for i := range 4 {
		log.write(sandbox.Stdout, fmt.Sprintf("line %d\n", i))
	}
	log.clock += int64(time.Hour)
	cursor := live(7, len(firstLine), log.clock)
	log.clock += int64(time.Hour)
	log.write(sandbox.Stdout, "later\n")
	if rest := playBack(t, cursor, log.frames[2:], false); !rest.equal("later\n", "") || rest.gaps != 1 {
		t.Errorf("%q with %d gaps", rest.text[sandbox.Stdout], rest.gaps)
	}
	if rest := playBack(t, cursor, log.frames, true); !rest.equal("line 1\nline 2\nline 3\nlater\n", "") || rest.gaps != 0 {
		t.Errorf("with its beginning: %q with %d gaps", rest.text[sandbox.Stdout], rest.gaps)
	}
}

// TestReplayOverAClockThatWasSetBack: what was logged from then on is delivered, although the cursor's time is later.
func TestReplayOverAClockThatWasSetBack(t *testing.T) {
	frames := []logFrame{{sandbox.Stdout, 1e18 + 100e9, "known\n"}, {sandbox.Stdout, 1e18 + 10e9, "new\n"}, {sandbox.Stdout, 1e18 + 20e9, "newer\n"}}
	if rest := playBack(t, live(6, 0, 1e18+200e9), frames, false); !rest.equal("new\nnewer\n", "") || rest.gaps != 1 {
		t.Errorf("%q with %d gaps", rest.text[sandbox.Stdout], rest.gaps)
	}
}

// TestReplayBehindAClockThatWasSetBack: all times in the log are before the cursor's, so the replay delivers what the log still has, with
// a gap.
func TestReplayBehindAClockThatWasSetBack(t *testing.T) {
	log := started(64, true)
	for i := range 4 {
		log.write(sandbox.Stdout, fmt.Sprintf("line %d\n", i))
	}
	later := time.Now().Add(time.Hour).UnixNano()
	rest := playBack(t, live(7, 0, later), log.frames[2:], false)
	if !rest.equal("line 1\nline 2\nline 3\n", "") || rest.gaps != 1 {
		t.Errorf("%q with %d gaps", rest.text[sandbox.Stdout], rest.gaps)
	}
}

// TestReplayOfFramesOfOneTime goes by count where the clock stood still.
func TestReplayOfFramesOfOneTime(t *testing.T) {
	frames := []logFrame{
		{sandbox.Stdout, 1e18, "a\n"}, {sandbox.Stdout, 1e18, "b\n"}, {sandbox.Stdout, 1e18, "c\n"}, {sandbox.Stdout, 1e18 + 1, "d\n"},
	}
	places := playBack(t, Place{}, frames, false).places
	for i, want := range []string{"b\nc\nd\n", "c\nd\n", "d\n", ""} {
		if rest := playBack(t, places[i], frames, false); !rest.equal(want, "") || rest.gaps != 0 {
			t.Errorf("after frame %d: %q with %d gaps, want %q", i, rest.text[sandbox.Stdout], rest.gaps, want)
		}
	}
}

// TestReplayKeepsAnUnreachedCursor delivers one stream while the other has not come to its cursor yet.
func TestReplayKeepsAnUnreachedCursor(t *testing.T) {
	log := started(64, true)
	log.write(sandbox.Stdout, "new\n")
	log.write(sandbox.Stderr, "known\n")
	log.write(sandbox.Stderr, "new too\n")
	known := len(firstLine) + len("known\n")
	first := playBack(t, live(0, known, log.clock), log.frames[:2], true)
	if len(first.places) != 1 || first.places[0].stderr.bytes != int64(known) {
		t.Fatalf("the cursor fell back: %+v", first.places)
	}
	rest := playBack(t, first.places[0], log.frames, true)
	if !rest.equal("", "new too\n") {
		t.Errorf("stdout %q, stderr %q", rest.text[sandbox.Stdout], rest.text[sandbox.Stderr])
	}
}

func TestReplayRefusesNonsense(t *testing.T) {
	for _, frame := range []string{"", "no time", "2006-01-02T15:04:05Z"} {
		if _, err := newReplay(Place{}, nil).frame(sandbox.Stdout, []byte(frame)); err == nil {
			t.Errorf("%q was taken for a frame", frame)
		}
	}
	broken := errors.New("the engine is gone")
	r := newReplay(Place{}, func() (bool, error) { return false, broken })
	if _, err := r.frame(sandbox.Stdout, logFrame{sandbox.Stdout, 1e18, "x\n"}.bytes()); !errors.Is(err, broken) {
		t.Errorf("a question that failed: %v", err)
	}
}

func TestCursorsOfOthers(t *testing.T) {
	for _, cursor := range []sandbox.Cursor{"7", "1-0.0.0-0.0", "1-0.0.0-0.0.0 ", "1-00.0.0-0.0.0", "2-0.0.0-0.0.0", "1-a.0.0-0.0.0"} {
		if p, err := Parse(cursor); err == nil {
			t.Errorf("%q was taken for the place %+v", cursor, p)
		}
	}
}

func TestFirstLine(t *testing.T) {
	for text, want := range map[string]bool{
		runfile.Started + "1": true, runfile.Failed + "mount x": true, "torno-init: x": false, "": false,
	} {
		if isFirstLine([]byte(text)) != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
	if bytes.HasPrefix([]byte(runfile.Failed), []byte(runfile.Started)) {
		t.Error("init's lines cannot be told apart")
	}
}
