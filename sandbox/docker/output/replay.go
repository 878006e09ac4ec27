package output

import (
	"bytes"
	"errors"
	"time"

	"torno/internal/runfile"
	"torno/sandbox"
)

// replay turns the frames of the engine's log back into the output after a cursor.
//
// The log is bounded: an old part of it may be gone. Every sandbox first says init's line. So while the log has this
// line, it has everything, and the cursor's bytes can be counted off. Otherwise only the cursor's time is left as a
// guide. Then output was lost, unless the log still has something from before that time. A cursor of live output says when
// the watcher read it, which may be long after the engine logged it, so output may be lost in any case.
type replay struct {
	want     Place // the cursor: everything before it was delivered
	now      Place // after the newest frame
	began    bool  // the first frame was seen
	complete bool  // the log has the first line
	gap      bool  // to be told with the next chunk

	stdout, stderr streamState
	// hasFirstLine asks the engine whether standard error still begins with init's line.
	hasFirstLine func() (bool, error)
}

type streamState struct {
	passed bool // the cursor was reached: everything from now on is new
	cut    bool // the newest frame ended within a line
}

func newReplay(from Place, hasFirstLine func() (bool, error)) *replay {
	return &replay{want: from, hasFirstLine: hasFirstLine}
}

// frame takes one frame, "<time> <bytes>", and returns its new part.
func (r *replay) frame(stream sandbox.Stream, frame []byte) (data []byte, err error) {
	stamp, data, err := splitFrame(frame)
	if err != nil {
		return nil, err
	}
	if !r.began {
		if err := r.begin(stream, stamp, data); err != nil {
			return nil, err
		}
	}
	if !r.complete && !r.state(stream).passed && r.want.of(stream).same == allOfStamp && stamp < r.now.of(stream).stamp-int64(time.Second) {
		r.clockWasSetBack()
	}
	data = r.mend(stream, stamp, data)
	before := r.now.of(stream).bytes
	r.advance(stream, stamp, int64(len(data)))
	return r.fresh(stream, before, data), nil
}

// splitFrame takes the time off a frame.
func splitFrame(frame []byte) (stamp int64, data []byte, err error) {
	text, data, found := bytes.Cut(frame, []byte(" "))
	at, err := time.Parse(time.RFC3339Nano, string(text))
	if !found || err != nil {
		return 0, nil, errors.New("the engine's log has a line without a time")
	}
	return at.UnixNano(), data, nil
}

// begin finds out whether the log has its beginning. Usually its first frame is init's line. But the streams are logged
// side by side, so some of the agent's output may slip in before it.
func (r *replay) begin(stream sandbox.Stream, stamp int64, data []byte) (err error) {
	r.began = true
	if stream == sandbox.Stderr {
		r.complete = isFirstLine(data)
	} else if r.complete, err = r.hasFirstLine(); err != nil {
		return err
	}
	if !r.complete {
		r.now.stdout.bytes, r.now.stderr.bytes = unknown, unknown
		r.gap = stamp > r.want.of(stream).stamp || r.want.of(stream).same == allOfStamp
		if future := time.Now().Add(time.Minute).UnixNano(); r.want.stdout.stamp > future || r.want.stderr.stamp > future {
			r.clockWasSetBack()
		}
	}
	return nil
}

// clockWasSetBack makes the replay deliver everything from here on, because no time tells what was delivered before. Some
// output may come twice.
func (r *replay) clockWasSetBack() { r.stdout.passed, r.stderr.passed, r.gap = true, true, true }

// isFirstLine recognises init's first line by its beginning: init says that it holds, or, in a sandbox of an earlier
// version, that it started the agent or failed.
func isFirstLine(data []byte) bool {
	for _, line := range []string{runfile.Holding, runfile.Started, runfile.Failed} {
		if bytes.HasPrefix(data, []byte(line)) {
			return true
		}
	}
	return false
}

// mend restores the newline at the end of a long line. The log keeps such a line in pieces that have the same time and
// no newline. Some engines (20.10, for example) also drop the newline after the last piece. So if the next frame has
// another time, there was a newline.
func (r *replay) mend(stream sandbox.Stream, stamp int64, data []byte) []byte {
	s := r.state(stream)
	if s.cut && stamp != r.now.of(stream).stamp {
		data = append([]byte("\n"), data...)
	}
	s.cut = !bytes.HasSuffix(data, []byte("\n"))
	return data
}

func (r *replay) advance(stream sandbox.Stream, stamp, size int64) {
	m := r.now.of(stream)
	if m.bytes != unknown {
		m.bytes += size
	}
	if m.stamp != stamp {
		m.stamp, m.same = stamp, 0
	}
	m.same++
}

// fresh returns the part of a frame that lies after the cursor.
func (r *replay) fresh(stream sandbox.Stream, before int64, data []byte) []byte {
	s, want, now := r.state(stream), r.want.of(stream), r.now.of(stream)
	switch {
	case s.passed:
		return data
	case r.complete && want.bytes != unknown:
		if now.bytes <= want.bytes {
			return nil
		}
		data = data[max(0, want.bytes-before):]
	case now.stamp < want.stamp || now.stamp == want.stamp && now.same <= want.same:
		return nil
	}
	s.passed = true
	return data
}

// place returns the position of the delivered output. For a stream that has not reached the cursor yet, this is still
// the cursor.
func (r *replay) place() Place {
	p := r.want
	if r.stdout.passed {
		p.stdout = r.now.stdout
	}
	if r.stderr.passed {
		p.stderr = r.now.stderr
	}
	return p
}

// takeGap reports, only once, that output was lost.
func (r *replay) takeGap() bool {
	gap := r.gap
	r.gap = false
	return gap
}

func (r *replay) state(stream sandbox.Stream) *streamState {
	if stream == sandbox.Stdout {
		return &r.stdout
	}
	return &r.stderr
}
