package gateway

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"torno/internal/gateway/budget"
)

// recordOf is the text of a door's record.
func (r *rig) recordOf(id string) string {
	r.Helper()
	name := filepath.Join(r.dir, ".records", id+recordSuffix)
	info, err := os.Lstat(name)
	if err != nil || info.Mode().Perm() != 0o600 {
		r.Fatalf("the record: %v, %v", info, err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		r.Fatal(err)
	}
	return string(text)
}

func linesOf(t *testing.T, text string) (all []Record) {
	t.Helper()
	for line := range strings.Lines(text) {
		var one Record
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all = append(all, one)
	}
	return all
}

// TestAConversationIsRecordedWhereItIsWanted: what the child asks and is answered, in one piece or in events, and how it ended. A gateway that
// comes back goes on in the same file. Of other doors there is none.
func TestAConversationIsRecordedWhereItIsWanted(t *testing.T) {
	r := newRig(t)
	wanted := spec("wanted")
	wanted.Record = true
	c, other := r.open(wanted), r.open(spec("other"))
	for _, stream := range []bool{false, true} {
		for _, from := range []*http.Client{c, other} {
			_, body, err := say(t, from, messages, "grüße", stream)
			if err != nil {
				t.Fatalf("%v: %s", err, body)
			}
		}
	}
	r.g.Close("wanted")
	said := map[int]string{}
	var asked, ended int
	for _, line := range linesOf(t, r.recordOf("wanted")) {
		said[line.Exchange] += line.Answer
		if strings.Contains(line.Request, "grüße") && line.Route == "claude" && line.Model == "stand-in" && line.At.After(time.Now().Add(-time.Hour)) {
			asked++
		}
		if line.Status == 200 && line.Code == "" {
			ended++
		}
	}
	if asked != 2 || ended != 2 || !strings.Contains(said[1], "You said: grüße") || !strings.Contains(said[2], "message_stop") {
		t.Errorf("%d requests, %d ends, answers %v", asked, ended, said)
	}
	before := len(linesOf(t, r.recordOf("wanted")))
	if _, body, err := say(t, r.open(wanted), messages, "again", false); err != nil {
		t.Fatal(err, body)
	}
	if lines := linesOf(t, r.recordOf("wanted")); len(lines) <= before {
		t.Errorf("%d lines after %d", len(lines), before)
	}
	if left, _ := os.ReadDir(filepath.Join(r.dir, ".records")); len(left) != 1 {
		t.Errorf("there are %v", left)
	}
}

// TestARefusedRequestFillsNoRecord: a child whose budget is used up sends on. The record keeps what it said before, and not the refused bodies.
func TestARefusedRequestFillsNoRecord(t *testing.T) {
	r := newRig(t)
	wanted := limited("poor", budget.Limits{Requests: number(1)})
	wanted.Record = true
	c := r.open(wanted)
	for _, word := range []string{"first", "second"} {
		if _, body, err := say(t, c, messages, word, false); err != nil {
			t.Fatal(err, body)
		}
	}
	r.g.Close("poor")
	text := r.recordOf("poor")
	if strings.Count(text, `"code":"budget"`) != 1 || !strings.Contains(text, "first") || strings.Contains(text, "second") {
		t.Errorf("the record is %s", text)
	}
}

// TestARecordIsBounded: it ends with a line that says so, and the conversation goes on.
func TestARecordIsBounded(t *testing.T) {
	dir := t.TempDir()
	r, err := newRecorder(dir, "run", func(string) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	r.left = 1000
	n := r.begin(Record{}, []byte(strings.Repeat("a", 600)))
	out := &answers{to: io.Discard, record: r, exchange: n}
	for range 3 {
		if _, err := out.Write([]byte(strings.Repeat("b", 300))); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "run.jsonl"))
	lines := linesOf(t, string(text))
	if err != nil || len(lines) != 2 || !lines[1].Full || lines[1].Exchange != n {
		t.Errorf("%v, %+v", err, lines)
	}
}

// TestOldRecordsMakeRoom: the oldest go, but for those of doors that are open, and nothing else that lies there.
func TestOldRecordsMakeRoom(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"oldest.jsonl", "older.jsonl", "newest.jsonl", "not-a-record"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, make([]byte, 100), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, time.Unix(int64(1000+i), 0)); err != nil {
			t.Fatal(err)
		}
	}
	if err := makeRoom(dir, 200, func(id string) bool { return id == "oldest" }); err != nil {
		t.Fatal(err)
	}
	for name, stays := range map[string]bool{"oldest.jsonl": true, "newest.jsonl": true, "older.jsonl": true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != stays {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := makeRoom(dir, 100, func(id string) bool { return id == "oldest" }); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "older.jsonl")); err == nil {
		t.Error("the oldest of those that may go is there still")
	}
	if left, _ := os.ReadDir(dir); len(left) != 3 {
		t.Errorf("there are %v", left)
	}
}

// TestACharacterIsRecordedWhole: wherever an answer is cut.
func TestACharacterIsRecordedWhole(t *testing.T) {
	const text = "a – 🦔 ü\xff.\xc3"
	for at := range len(text) {
		dir := t.TempDir()
		r, err := newRecorder(dir, "run", func(string) bool { return false })
		if err != nil {
			t.Fatal(err)
		}
		var passed strings.Builder
		out := &answers{to: &passed, record: r, exchange: r.begin(Record{}, nil)}
		for _, part := range []string{text[:at], text[at:]} {
			if _, err := out.Write([]byte(part)); err != nil {
				t.Fatal(err)
			}
		}
		out.end()
		if err := r.close(); err != nil {
			t.Fatal(err)
		}
		whole, err := os.ReadFile(filepath.Join(dir, "run.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		var said string
		for _, line := range linesOf(t, string(whole)) {
			said += line.Answer
		}
		if passed.String() != text || said != strings.ToValidUTF8(text, "\ufffd") {
			t.Errorf("cut at %d: passed %q, recorded %q", at, passed.String(), said)
		}
	}
}

// TestALargeRequestIsRecordedInParts: JSON can need six bytes for one, so one line for all would take much memory.
func TestALargeRequestIsRecordedInParts(t *testing.T) {
	dir := t.TempDir()
	r, err := newRecorder(dir, "door", func(string) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	body := []byte(strings.Repeat("<ü>", 1<<20))
	if n := r.begin(Record{Model: "m"}, body); n != 1 {
		t.Errorf("it is exchange %d", n)
	}
	if err := r.close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "door"+recordSuffix))
	if err != nil {
		t.Fatal(err)
	}
	var whole strings.Builder
	for i, line := range linesOf(t, string(text)) {
		if len(line.Request) > maxPart || line.Exchange != 1 || (line.Model == "m") != (i == 0) {
			t.Fatalf("line %d has %d bytes of exchange %d of %q", i, len(line.Request), line.Exchange, line.Model)
		}
		whole.WriteString(line.Request)
	}
	if whole.String() != string(body) {
		t.Errorf("%d bytes of %d were recorded", whole.Len(), len(body))
	}
	var none *recorder
	if n := testing.AllocsPerRun(10, func() { none.begin(Record{}, body) }); n > 0 {
		t.Errorf("where nothing is recorded, a request is copied %v times", n)
	}
}
