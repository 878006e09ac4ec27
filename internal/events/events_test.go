package events

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"torno/delegation"
	"torno/sandbox"
)

// desk is a store and what tests do with it.
type desk struct {
	*testing.T
	state string
	ahead time.Duration // of the believed time
	store *Store
}

func newDesk(t *testing.T, b Bounds) *desk {
	d := &desk{T: t, state: t.TempDir()}
	d.open(b)
	return d
}

func (d *desk) open(b Bounds) {
	d.Helper()
	s, err := Open(d.state, b, func() time.Time { return time.Now().Add(d.ahead) }, slog.New(slog.DiscardHandler))
	d.must(err)
	d.store = s
	d.Cleanup(func() { s.Close() })
}

func (d *desk) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

func (d *desk) key(outbox, id string) sandbox.RunKey {
	d.Helper()
	subagent, err := delegation.ParseSubagentID(id)
	d.must(err)
	request, err := delegation.ParseRequestID("r1")
	d.must(err)
	return sandbox.RunKey{Outbox: outbox, Subagent: subagent, Request: request, Attempt: 1}
}

// segment has the events first to last.
func (d *desk) segment(first, last int64) []byte {
	d.Helper()
	var all []delegation.Event
	for n := first; n <= last; n++ {
		all = append(all, delegation.Event{Seq: n, Time: time.Now(), Type: delegation.EventStdout, Text: fmt.Sprintf("%050d", n)})
	}
	data, err := delegation.EncodeEvents(all)
	d.must(err)
	return data
}

func (d *desk) read(key sandbox.RunKey, after int64) *Reader {
	d.Helper()
	r, err := d.store.Read(key, after)
	d.must(err)
	d.Cleanup(r.Close)
	return r
}

// told is what a reader is told: numbers, and of gaps -first-last.
func told(t *testing.T, r *Reader) string {
	t.Helper()
	var all []string
	err := r.Each(t.Context(), func(e delegation.Event) error {
		all = append(all, show(e))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}

func show(e delegation.Event) string {
	if m := e.Missing; m != nil {
		return fmt.Sprintf("-%d-%d", m.First, m.Last)
	}
	return fmt.Sprint(e.Seq)
}

func TestReplayByNumber(t *testing.T) {
	d := newDesk(t, Usual)
	key := d.key("o", "s1")
	first, second := d.read(key, 0), d.read(key, 2)
	d.must(d.store.Append(key, d.segment(1, 3)))
	d.must(d.store.Append(key, d.segment(4, 4)))
	d.must(d.store.Append(key, d.segment(7, 8))) // 5 and 6 were never written
	for after, want := range map[int64]string{
		0: "1 2 3 4 -5-6 7 8", 3: "4 -5-6 7 8", 4: "-5-6 7 8", 5: "-6-6 7 8", 6: "7 8", 7: "8", 8: "", 9: "-9-9", 57: "-9-57",
	} {
		if got := told(t, d.read(key, after)); got != want {
			t.Errorf("after %d come %q, want %q", after, got, want)
		}
	}
	if a, b := told(t, first), told(t, second); a != "1 2 3 4 -5-6 7 8" || b != "3 4 -5-6 7 8" {
		t.Errorf("two readers are told %q and %q", a, b)
	}
	for _, r := range []*Reader{first, second} {
		select {
		case <-r.Wake():
		default:
			t.Error("a reader was not woken")
		}
	}
	beyond := d.read(key, 57)
	told(t, beyond)
	d.must(d.store.Append(key, d.segment(9, 9)))
	if got := told(t, beyond) + "|" + told(t, first); got != "9|9" {
		t.Errorf("then come %q", got)
	}
	if got := told(t, d.read(d.key("o", "s2"), 3)); got != "-1-3" {
		t.Errorf("of a run without events a reader that has three is told %q", got)
	}
}

// TestALogIsBounded: what a run keeps, and a reader that sleeps meanwhile is told what it has missed.
func TestALogIsBounded(t *testing.T) {
	bounds := Bounds{Run: 16 << 10, Number: 10, Bytes: 1 << 20}
	d := newDesk(t, bounds)
	key := d.key("o", "s1")
	slow := d.read(key, 0)
	d.must(d.store.Append(key, d.segment(1, 10)))
	got := []string{told(t, slow)}
	for n := int64(11); n < 1000; n += 10 {
		d.must(d.store.Append(key, d.segment(n, n+9)))
	}
	if got[0] != "1 2 3 4 5 6 7 8 9 10" {
		t.Errorf("it was told %v", got)
	}
	late, all := told(t, slow), told(t, d.read(key, 0))
	if !strings.HasSuffix(late, " 999 1000") || strings.Count(late, "-") != 2 {
		t.Errorf("the slow reader is told %q", late)
	}
	if !strings.HasPrefix(all, "-1-") || !strings.HasSuffix(all, " 999 1000") {
		t.Errorf("a new reader is told %q", all)
	}
	if logs, err := d.store.list(); err != nil || len(logs) != 1 || logs[0].Size > bounds.Run || logs[0].Size < bounds.Run/4 {
		t.Errorf("kept are %+v, %v", logs, err)
	}
}

// TestAReaderIsPassedOverNothing while the log turns under it: each number comes once, in order, as an event or in a gap.
func TestAReaderIsPassedOverNothing(t *testing.T) {
	d := newDesk(t, Bounds{Run: 8 << 10, Number: 10, Bytes: 1 << 20})
	key, last := d.key("o", "s1"), int64(3000)
	written := make(chan error, 1)
	go func() {
		for n := int64(1); n <= last; n += 3 {
			if err := d.store.Append(key, d.segment(n, n+2)); err != nil {
				written <- err
				return
			}
		}
		written <- nil
	}()
	r, next := d.read(key, 0), int64(1)
	for next <= last {
		<-r.Wake()
		d.must(r.Each(t.Context(), func(e delegation.Event) error {
			if e.Seq != next {
				return fmt.Errorf("%s comes, and not %d", show(e), next)
			}
			next++
			if e.Missing != nil {
				next = e.Missing.Last + 1
			}
			return nil
		}))
	}
	d.must(<-written)
}

func TestALogGoesOnBehindARestart(t *testing.T) {
	d := newDesk(t, Usual)
	key := d.key("o", "s1")
	if n := d.store.Last(key); n != 0 {
		t.Errorf("a log that is not there ends with %d", n)
	}
	d.must(d.store.Append(key, d.segment(1, 3)))
	d.open(Usual)
	again := key
	again.Attempt = 2
	if n := d.store.Last(again); n != 3 {
		t.Errorf("the next attempt goes on behind %d", n)
	}
	d.must(d.store.Append(again, d.segment(4, 5)))
	if got := told(t, d.read(key, 0)); got != "1 2 3 4 5" {
		t.Errorf("it has %q", got)
	}
}

// TestDamageIsAGap: a power cut tears a line, a line is no event, a line is too long.
func TestDamageIsAGap(t *testing.T) {
	d := newDesk(t, Usual)
	key := d.key("o", "s1")
	path := filepath.Join(d.state, Name, nameOf(key)+suffix)
	lines := bytes.SplitAfter(d.segment(1, 6), []byte("\n"))
	torn := bytes.Join([][]byte{
		lines[0], lines[1][:20], []byte("\n\x00\x00\x00\n"), lines[2], bytes.Repeat([]byte("x"), 3*delegation.MaxSegment), []byte("\n"), lines[4], lines[5][:9],
	}, nil)
	d.must(os.WriteFile(path, torn, 0o600))
	r := d.read(key, 0)
	if got := told(t, r); got != "1 -2-2 3 -4-4 5" {
		t.Errorf("it has %q", got)
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	d.must(err)
	_, err = file.Write(lines[5][9:])
	d.must(errors.Join(err, file.Close()))
	if got := told(t, r); got != "6" {
		t.Errorf("a line that was written in two is %q", got)
	}
}

func TestAllLogsAreBounded(t *testing.T) {
	d := newDesk(t, Bounds{Run: 64 << 10, Number: 8, Bytes: 1 << 20})
	d.must(d.store.Append(d.key("calm", "s"), d.segment(1, 2)))
	for n := range 40 {
		d.must(d.store.Append(d.key("loud", fmt.Sprint("s", n)), d.segment(1, 2)))
	}
	logs, err := d.store.list()
	d.must(err)
	if len(logs) > 8 || len(logs) < 4 {
		t.Errorf("%d logs are kept", len(logs))
	}
	if got := told(t, d.read(d.key("calm", "s"), 0)); got != "1 2" {
		t.Errorf("the calm outbox has %q", got)
	}
	if got := told(t, d.read(d.key("loud", "s39"), 0)); got != "1 2" {
		t.Errorf("the newest log is %q", got)
	}
	d = newDesk(t, Bounds{Run: 64 << 10, Number: 1000, Bytes: 8 << 10})
	for n := range 40 {
		d.must(d.store.Append(d.key("loud", fmt.Sprint("s", n)), d.segment(1, 10)))
	}
	logs, err = d.store.list()
	d.must(err)
	size := int64(0)
	for _, l := range logs {
		size += l.Size
	}
	if size > 10<<10 || size < 2<<10 {
		t.Errorf("%d bytes are kept", size)
	}
	old := time.Now().Add(-time.Hour)
	for _, l := range logs {
		d.must(os.Chtimes(filepath.Join(d.state, Name, l.Name+suffix), old, old))
	}
	bounds := Bounds{Run: 64 << 10, Number: 1000, Bytes: 8 << 10, Age: time.Minute}
	d.ahead = -2 * time.Hour // the clock has jumped, and is not believed
	d.open(bounds)
	if now, err := d.store.list(); err != nil || len(now) != len(logs) {
		t.Errorf("by a clock that is not believed they are too old, and %d of %d are kept, %v", len(now), len(logs), err)
	}
	d.ahead = 0
	d.open(bounds)
	if logs, err := d.store.list(); err != nil || len(logs) != 0 {
		t.Errorf("kept too long are %v, %v", logs, err)
	}
}

// TestAClockThatIsFarBackDeletesNoLog: what is written while the clock is far back, and not believed, is as young as it is.
func TestAClockThatIsFarBackDeletesNoLog(t *testing.T) {
	d := newDesk(t, Usual)
	d.ahead = 365 * 24 * time.Hour // the believed time, of a clock that was set a year back
	d.must(d.store.Append(d.key("o", "s1"), d.segment(1, 1)))
	d.open(Bounds{Run: 64 << 10, Number: 10, Bytes: 1 << 20, Age: 30 * 24 * time.Hour})
	if logs, err := d.store.list(); err != nil || len(logs) != 1 {
		t.Errorf("a log that was written just now is not kept: %v, %v", logs, err)
	}
}

func TestReadersAreBounded(t *testing.T) {
	d := newDesk(t, Usual)
	var all []*Reader
	for range MaxReaders {
		all = append(all, d.read(d.key("o", "s1"), 0))
	}
	if _, err := d.store.Read(d.key("o", "s1"), 0); !errors.Is(err, ErrReaders) {
		t.Errorf("one more is %v", err)
	}
	all[0].Close()
	d.read(d.key("o", "s1"), 0)
}

// TestWhatCannotBeWrittenIsMissing, and takes nothing else with it.
func TestWhatCannotBeWrittenIsMissing(t *testing.T) {
	d := newDesk(t, Usual)
	key := d.key("o", "s1")
	d.must(d.store.Append(key, d.segment(1, 1)))
	path := filepath.Join(d.state, Name, nameOf(key)+suffix)
	d.must(os.Rename(path, path+".away"))
	d.must(os.Mkdir(path, 0o700))
	if err := d.store.Append(key, d.segment(2, 3)); err == nil {
		t.Error("it was written into a directory")
	}
	d.must(os.Remove(path))
	d.must(os.Rename(path+".away", path))
	d.must(d.store.Append(key, d.segment(4, 4)))
	if got := told(t, d.read(key, 0)); got != "1 -2-3 4" {
		t.Errorf("it has %q", got)
	}
}

func TestALookMayBeLeft(t *testing.T) {
	d := newDesk(t, Usual)
	key := d.key("o", "s1")
	d.must(d.store.Append(key, d.segment(1, 3)))
	r, enough := d.read(key, 0), errors.New("enough")
	if err := r.Each(t.Context(), func(delegation.Event) error { return enough }); !errors.Is(err, enough) {
		t.Error(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if err := r.Each(ctx, func(delegation.Event) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestOnlyTheOwnerReads(t *testing.T) {
	d := newDesk(t, Usual)
	d.must(d.store.Append(d.key("o", "s1"), d.segment(1, 1)))
	var modes []os.FileMode
	for _, name := range []string{"", nameOf(d.key("o", "s1")) + suffix} {
		info, err := os.Stat(filepath.Join(d.state, Name, name))
		d.must(err)
		modes = append(modes, info.Mode().Perm())
	}
	if !slices.Equal(modes, []os.FileMode{0o700, 0o600}) {
		t.Errorf("the modes are %v", modes)
	}
}
