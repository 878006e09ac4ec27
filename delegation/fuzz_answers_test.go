package delegation

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"
)

// FuzzDecodeResponse reads what a client reads, as if another process of its parent had written it: it is refused, or it
// has one spelling, known words and times that can be written. Reading costs memory in proportion.
func FuzzDecodeResponse(f *testing.F) {
	addFiles(f, "testdata/golden/*")
	addHostileRequests(f)
	for _, id := range hostileIDs {
		f.Add([]byte(`{"version":1,"subagent_id":"` + id + `","request_id":"` + id + `","status":"error","exit_code":-1,"error":{"code":"` + id + `"}}`))
	}
	for _, text := range []string{
		`{"version":1,"subagent_id":"s","request_id":"","status":"completed","exit_code":0,"completed_at":"0001-01-01T00:00:00-23:59"}`,
		`{"version":1,"subagent_id":"s","request_id":"r","state":"running","updated_at":"9999-12-31T23:59:59.9999999-01:00"}`,
		`{"version":1,"protocol":1,"beat_at":"2026-01-01T00:00:00Z","heartbeat_seconds":9e9,"profiles":[{"name":"-x"}]}`,
		`{"version":1,"protocol":1,"beat_at":"2026-01-01T00:00:00Z","heartbeat_seconds":1,"limits":null,"profiles":null,"features":null}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var response Response
		var status RunStatus
		var beat Heartbeat
		var errs [3]error
		if took := allocated(func() {
			response, errs[0] = DecodeResponse(data)
			status, errs[1] = DecodeRunStatus(data)
			beat, errs[2] = DecodeHeartbeat(data)
		}); took > mostAllocated(3*len(data)) {
			t.Errorf("%d bytes took %d of memory", len(data), took)
		}
		if errs[0] == nil {
			checkResponse(t, response)
			oneSpelling(t, data, response, DecodeResponse)
		}
		if errs[1] == nil {
			checkRunStatus(t, status)
			oneSpelling(t, data, status, DecodeRunStatus)
		}
		if errs[2] == nil {
			checkHeartbeat(t, beat)
			oneSpelling(t, data, beat, DecodeHeartbeat)
		}
	})
}

func checkResponse(t *testing.T, r Response) {
	t.Helper()
	known := map[Status]bool{"completed": true, "error": true, "timeout": true, "cancelled": true}
	if !known[r.Status] || r.Version != 1 || r.SubagentID == "" || r.Error != nil && (r.Error.Code == "" || r.Error.Text != r.StderrTail) {
		t.Errorf("%+v was taken", r)
	}
	checkTimes(t, r.CompletedAt, r.StartedAt)
}

func checkRunStatus(t *testing.T, s RunStatus) {
	t.Helper()
	known := map[State]bool{"queued": true, "starting": true, "running": true, "waiting": true, "ended": true}
	if !known[s.State] || s.Version != 1 || !reference["id"].MatchString(s.SubagentID) {
		t.Errorf("%+v was taken", s)
	}
	checkTimes(t, s.RunningSince, s.Deadline, s.UpdatedAt)
}

// checkHeartbeat: three heartbeats after any beat are a time, so that a client can always tell a dead watcher.
func checkHeartbeat(t *testing.T, h Heartbeat) {
	t.Helper()
	if h.Version != 1 || h.HeartbeatSeconds < 1 || !h.BeatAt.Add(3*time.Duration(h.HeartbeatSeconds)*time.Second).After(h.BeatAt) {
		t.Errorf("%+v was taken", h)
	}
	for _, offer := range h.Profiles {
		if !reference["token"].MatchString(offer.Name) {
			t.Errorf("the profile %q is on offer", offer.Name)
		}
	}
	checkTimes(t, h.StartedAt, h.BeatAt)
}

func checkTimes(t *testing.T, times ...time.Time) {
	t.Helper()
	for _, at := range times {
		if at.Location() != time.UTC || at.Year() < 1 || at.Year() > 9999 || at.Nanosecond()%1000 != 0 {
			t.Errorf("%v is no time of the wire", at)
		}
	}
}

// oneSpelling writes and reads a value, and makes sure that no torn text is taken for it.
func oneSpelling[T interface{ Encode() ([]byte, error) }](t *testing.T, data []byte, got T, decode func([]byte) (T, error)) {
	t.Helper()
	first, err := got.Encode()
	if err != nil {
		t.Fatalf("%+v cannot be written: %v", got, err)
	}
	again, err := decode(first)
	if err != nil {
		t.Fatalf("%s cannot be read: %v", first, err)
	}
	if second, err := again.Encode(); err != nil || !bytes.Equal(first, second) {
		t.Fatalf("%v: two spellings:\n%s\n%s", err, first, second)
	}
	whole := bytes.TrimRight(data, " \t\r\n")
	for _, torn := range [][]byte{whole[:len(whole)/2], whole[:len(whole)-1], append(bytes.Clone(whole), '}')} {
		if got, err := decode(torn); err == nil {
			t.Errorf("%q was taken as %+v", torn, got)
		}
	}
}

// FuzzDecodeEvents reads segments as if another process of the parent had written them: what is taken is bounded and in
// order, and the events before a bad line are those that the lines before it hold.
func FuzzDecodeEvents(f *testing.F) {
	addFiles(f, "testdata/golden/events.canonical")
	const line = `{"seq":1,"time":"2026-11-21T02:15:11Z","type":"stdout","text":"a"}` + "\n"
	for _, data := range []string{
		"", "\n", line, line + line, line[:30], line + strings.Replace(line, `"seq":1`, `"seq":2`, 1) + "{}\n", line + "\xff\n",
		strings.Replace(line, `"seq":1`, `"seq":9223372036854775807`, 1) + strings.Replace(line, `"seq":1`, `"seq":-9223372036854775808`, 1),
		strings.Replace(line, `"seq":1`, `"seq":9223372036854775807`, 1) + strings.Replace(line, `"seq":1,`, `"seq":1,"type":"gap",`, 1),
		strings.Replace(line, `"text":"a"`, `"base64":"////"`, 1), strings.Replace(line, `"text":"a"`, `"base64":[1,2]`, 1), strings.Repeat(line, 1000),
		strings.Replace(line, `"text":"a"`, `"text":"\ud800"`, 1), strings.Replace(line, `"text":"a"`, `"x":`+strings.Repeat("[", 70), 1),
		strings.Replace(line, `"time":"2026-11-21T02:15:11Z"`, `"time":"0000-01-01T00:00:00Z"`, 1), strings.ReplaceAll(line, "\n", "\r\n"), strings.Repeat("\n", MaxSegment+1),
	} {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var events []Event
		var err error
		if took := allocated(func() { events, err = DecodeEvents(data) }); took > mostAllocated(len(data)) {
			t.Errorf("%d bytes took %d of memory", len(data), took)
		}
		checkSequence(t, data, events)
		if err != nil {
			checkLinesBefore(t, data, events)
			return
		}
		first, err := EncodeEvents(events)
		if err != nil {
			return // spelled out, the segment is longer than it may be
		}
		if again, err := DecodeEvents(first); err != nil || !reflect.DeepEqual(again, events) {
			t.Fatalf("%s\nis read as %+v, %v\nnot as     %+v", first, again, err, events)
		}
	})
}

// checkSequence: numbers rise without a hole that is not told, and nothing comes out that did not go in.
func checkSequence(t *testing.T, data []byte, events []Event) {
	t.Helper()
	output := 0
	for i, e := range events {
		output += len(e.Output())
		if e.Seq < 1 || i > 0 && (e.Seq <= events[i-1].Seq || e.Seq != events[i-1].Seq+1 && e.Type != EventGap) {
			t.Errorf("event %d is %+v", i, e)
		}
		checkTimes(t, e.Time)
	}
	if output > 3*len(data) || len(events) > bytes.Count(data, []byte("\n")) || len(data) > MaxSegment && len(events) > 0 {
		t.Errorf("%d events with %d bytes of output in %d bytes", len(events), output, len(data))
	}
}

func checkLinesBefore(t *testing.T, data []byte, events []Event) {
	t.Helper()
	if len(data) > MaxSegment {
		return
	}
	lines := bytes.SplitAfterN(data, []byte("\n"), len(events)+1)
	good, err := DecodeEvents(bytes.Join(lines[:len(events)], nil))
	if err != nil || !reflect.DeepEqual(good, events) {
		t.Errorf("the lines before the bad one hold %+v, %v and not %+v", good, err, events)
	}
	if _, err := DecodeEvents(bytes.Join(lines[:min(len(lines), len(events)+1)], nil)); err == nil && len(lines) > len(events)+1 {
		t.Errorf("line %d is bad only because of what follows it", len(events)+1)
	}
}

// FuzzEvents begins with values: each is read as it was written, byte for byte, or not written at all.
func FuzzEvents(f *testing.F) {
	f.Add(int64(1), int64(0), "stdout", "text", []byte(nil), "", "")
	f.Add(int64(1<<63-1), int64(253402300800), "gap", "", []byte{0xff, 0}, "running", "exited")
	f.Add(int64(-1), int64(-62135596801), "spawn", "\u2028\xff<&>\x00", []byte("\n"), "\xff", "No Reason")
	f.Add(int64(7), int64(1e9), "state", "", []byte(nil), "ended", "cancelled_by_operator")
	f.Fuzz(func(t *testing.T, seq, unix int64, kind, text string, raw []byte, state, reason string) {
		e := Event{Seq: seq, Time: time.Unix(unix, 1234567), Type: EventType(kind), Text: text, Base64: raw, State: State(state), Reason: Reason(reason)}
		data, err := EncodeEvents([]Event{e})
		if err != nil {
			return
		}
		if len(data) > MaxSegment || bytes.Count(data, []byte("\n")) != 1 {
			t.Fatalf("one event is %q", data)
		}
		e.Time, e.Text, e.State = wireTime(e.Time), string([]rune(text)), State([]rune(state)) // each byte of no text becomes U+FFFD
		got, err := DecodeEvents(data)
		if err != nil || len(got) != 1 || !bytes.Equal(got[0].Base64, e.Base64) {
			t.Fatalf("%s is read as %+v, %v", data, got, err)
		}
		if got[0].Base64 = e.Base64; !reflect.DeepEqual(got[0], e) {
			t.Errorf("%+v is read as %+v", e, got[0])
		}
	})
}
