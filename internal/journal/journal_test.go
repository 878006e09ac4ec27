package journal

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"torno/delegation"
	"torno/internal/approval"
	"torno/internal/boot"
	"torno/sandbox"
)

func open4test(t testing.TB, path string) *Journal {
	t.Helper()
	j, err := Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return j
}

// state is a directory as a journal wants it: t.TempDir is readable for others.
func state(t testing.TB) string {
	return filepath.Join(t.TempDir(), "state", "journal.db")
}

// queued is a run that may begin.
func queued(t testing.TB, outbox, subagent, request string) Run {
	t.Helper()
	s, err := delegation.ParseSubagentID(subagent)
	if err != nil {
		t.Fatal(err)
	}
	q, err := delegation.ParseRequestID(request)
	if err != nil {
		t.Fatal(err)
	}
	r := Run{
		Outbox: outbox, Subagent: s, Request: q, Attempt: 1, State: delegation.StateQueued,
		FileName: "request_" + subagent + ".json", Stamp: stampOf(7),
	}
	r.Key = r.RunKey().Hash()
	return r
}

func stampOf(n int64) delegation.Stamp {
	return delegation.Stamp{
		Ino: uint64(n), Size: n, ModTime: time.Unix(n, 1).UTC(), ChangeTime: time.Unix(n, 2).UTC(),
	}
}

func begin(t testing.TB, j *Journal, r Run) Run {
	t.Helper()
	existing, err := j.Begin(context.Background(), r)
	if err != nil || existing != nil {
		t.Fatalf("Begin(%s) = %v, %v", r.Key, existing, err)
	}
	return r
}

func get(t testing.TB, j *Journal, key string) Run {
	t.Helper()
	r, err := j.Get(context.Background(), key)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// full has a value in every field.
func full(t testing.TB) Run {
	r := queued(t, "main", "helper-1", "req \"1\" ü")
	exit := 3
	r.SubagentText, r.RequestText = "a\x00b\xff", "c\x00d\xfe"
	r.FileName = "request_\xff\n.json"
	r.Stamp = delegation.Stamp{Ino: 1<<64 - 1, Size: 1 << 40, ModTime: time.Unix(0, 0).UTC(), ChangeTime: time.Unix(-5, 7).UTC()}
	r.State, r.Reason = delegation.StateEnded, delegation.ReasonExited
	r.Code, r.Field, r.Hint, r.Text = delegation.CodeLaunch, "workspace", "try\x00again", "no such\x00thing"
	r.ExitCode, r.StdoutTail, r.StderrTail = &exit, "out\x00\xff", "err\x00\xfe"
	r.Warnings = []string{"one", "two\x00"}
	r.Profile, r.Launcher, r.SpecDigest, r.Workspace = "p", "docker", "sha256:1", "/w/\x00x"
	r.Handle = &sandbox.Handle{Launcher: "docker", ID: "c1", Sandbox: "a1", Slot: 4}
	r.Sandbox, r.Released = "a1", time.Unix(4, 9).UTC()
	r.ReleasedIn = boot.Moment{ID: "b1", Up: 8}
	r.Attestation = &sandbox.Attestation{Attested: true, Seen: []sandbox.Observation{{What: "ids", Value: "7"}}}
	r.Terms = &sandbox.Spec{Profile: "p", Timeout: time.Minute, Approvals: &approval.Policy{Pause: time.Hour}}
	r.Created, r.Started, r.Ended = time.Unix(1, 1).UTC(), time.Unix(2, 2).UTC(), time.Unix(3, 3).UTC()
	r.Starting, r.Made, r.AnsweredAt = time.Unix(1, 5).UTC(), time.Unix(1, 7).UTC(), time.Unix(4, 4).UTC()
	r.Ending = &Ending{Reason: delegation.ReasonDeadline, Code: delegation.CodeLaunch, Field: "f", Text: "why\x00", Hint: "h"}
	r.Timings = &delegation.Timings{Admit: 0.5, Total: 12}
	r.Usage = &delegation.Usage{PeakMemoryBytes: 5, CPUSeconds: 0.25}
	r.Answered, r.Content, r.Firm, r.Session = true, "\x00\xff", true, "session-1"
	r.Descent = Descent{Parent: "p@host", Run: "k0", Depth: 3}
	r.Artifacts = []delegation.Artifact{{Path: "a", Size: 1, SHA256: "0", Type: "t"}}
	return r
}

func TestRowKeepsEveryField(t *testing.T) {
	want := full(t)
	fields := reflect.ValueOf(want)
	for i := range fields.NumField() {
		if name := fields.Type().Field(i).Name; name != "Seq" && fields.Field(i).IsZero() {
			t.Errorf("the test gives no value to %s", name)
		}
	}
	j := open4test(t, state(t))
	begin(t, j, want)
	got := get(t, j, want.Key)
	want.Seq = 1
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the row came back as\n%+v, want\n%+v", got, want)
	}
}

func TestEmptyRowKeepsItsZeroes(t *testing.T) {
	j := open4test(t, state(t))
	want := Run{
		Outbox: "main", FileName: "request_.json", Stamp: stampOf(3), State: delegation.StateEnded,
		Reason: delegation.ReasonRefused, Created: time.Unix(9, 9).UTC(),
	}
	want.Key = EntryKey(want.Outbox, want.FileName, want.Stamp, want.Content)
	begin(t, j, want)
	want.Seq = 1
	if got := get(t, j, want.Key); !reflect.DeepEqual(got, want) {
		t.Errorf("the row came back as\n%+v, want\n%+v", got, want)
	}
	if want.Refusal() != nil {
		t.Error("a run without a code has a refusal")
	}
}

// TestBeginTwice: what begins again is told as what it is about to be, until it is released.
func TestBeginTwice(t *testing.T) {
	j := open4test(t, state(t))
	first := queued(t, "main", "a", "r1")
	first.Profile, first.Launcher, first.SpecDigest, first.Workspace = "first", "one", "d1", "/w1"
	begin(t, j, first)
	second := first
	second.Profile, second.Launcher, second.SpecDigest, second.Workspace = "second", "two", "d2", "/w2"
	second.Stamp = stampOf(99)
	wantBegun(t, j, second, delegation.StateQueued, second)
	must(t, j.Move(t.Context(), first.Key, delegation.StateQueued, delegation.StateStarting, Change{}))
	wantBegun(t, j, first, delegation.StateStarting, first)
	must(t, j.Release(t.Context(), first.Key, sandbox.Handle{ID: "x", Launcher: "one"}, time.Now(), sandbox.Attestation{}, sandbox.Spec{}))
	wantBegun(t, j, second, delegation.StateStarting, first)
	if _, found, err := j.ByFile(t.Context(), "main", first.FileName, stampOf(99)); err != nil || found {
		t.Errorf("ByFile of the second stamp = %v, %v: the row has another file", found, err)
	}
}

// wantBegun begins a run that is there, and wants it to be made of what another one is.
func wantBegun(t *testing.T, j *Journal, again Run, state delegation.State, of Run) {
	t.Helper()
	got, err := j.Begin(t.Context(), again)
	if err != nil || got == nil || got.State != state {
		t.Fatalf("Begin returned %+v, %v, want the run that is %s", got, err, state)
	}
	if got.Profile != of.Profile || got.Launcher != of.Launcher || got.SpecDigest != of.SpecDigest || got.Workspace != of.Workspace {
		t.Errorf("it is made of %s, %s, %s, %s", got.Profile, got.Launcher, got.SpecDigest, got.Workspace)
	}
}

func TestBeginCapsTextsThatAreNoIDs(t *testing.T) {
	j := open4test(t, state(t))
	r := Run{
		Outbox: "main", FileName: "request_x.json", SubagentText: strings.Repeat("s", 1<<20), RequestText: strings.Repeat("r", 1<<20),
		State: delegation.StateEnded, Reason: delegation.ReasonRefused,
	}
	r.Key = EntryKey(r.Outbox, r.FileName, r.Stamp, r.Content)
	begin(t, j, r)
	got := get(t, j, r.Key)
	if len(got.SubagentText) != maxIDText || len(got.RequestText) != maxIDText {
		t.Errorf("%d and %d bytes were kept, want %d", len(got.SubagentText), len(got.RequestText), maxIDText)
	}
	if got.Created.IsZero() {
		t.Error("the run has no time of its creation")
	}
}

func TestBeginRefusesMistakes(t *testing.T) {
	j := open4test(t, state(t))
	for name, spoil := range map[string]func(*Run){
		"running":           func(r *Run) { r.State = delegation.StateRunning },
		"no state":          func(r *Run) { r.State = "" },
		"reason, not ended": func(r *Run) { r.Reason = delegation.ReasonLost },
		"ended, no reason":  func(r *Run) { r.State = delegation.StateEnded },
		"no key":            func(r *Run) { r.Key = "" },
		"another's key":     func(r *Run) { r.Key = EntryKey(r.Outbox, r.FileName, r.Stamp, r.Content) },
		"another attempt":   func(r *Run) { r.Attempt = 2 },
	} {
		r := queued(t, "main", "a", "r1")
		spoil(&r)
		if _, err := j.Begin(context.Background(), r); !errors.Is(err, ErrIllegal) {
			t.Errorf("%s: Begin = %v, want ErrIllegal", name, err)
		}
	}
	if all, err := j.List(context.Background(), Query{}); err != nil || len(all) != 0 {
		t.Errorf("the journal holds %v, %v", all, err)
	}
}

// The schema holds the promises too, should a statement ever forget them.
func TestSchemaRefusesImpossibleRows(t *testing.T) {
	ctx := context.Background()
	j := open4test(t, state(t))
	r := begin(t, j, queued(t, "main", "a", "r1"))
	for _, statement := range []string{
		`UPDATE runs SET state = 'gone' WHERE key = ?`,
		`UPDATE runs SET state = 'ended' WHERE key = ?`,
		`UPDATE runs SET reason = 'lost' WHERE key = ?`,
		`UPDATE runs SET answered = 1 WHERE key = ?`,
		`UPDATE runs SET state = 'ended', reason = 'exited', exit_code = NULL WHERE key = ?`,
		`UPDATE runs SET created = 'yesterday' WHERE key = ?`,
		`INSERT INTO installation (one, id) VALUES (2, '0123456789abcdef') -- ?`,
	} {
		args := []any{r.Key}
		if strings.HasPrefix(statement, "INSERT") {
			args = nil
		}
		if _, err := j.write.ExecContext(ctx, statement, args...); err == nil {
			t.Errorf("the schema accepts %s", statement)
		}
	}
}

func TestKeysOfEntriesDiffer(t *testing.T) {
	seen := map[string]string{}
	add := func(what, key string) {
		if other, ok := seen[key]; ok {
			t.Errorf("%s and %s have the key %s", what, other, key)
		}
		seen[key] = what
	}
	for i, names := range [][2]string{{"a", "b"}, {"ab", ""}, {"", "ab"}, {"a,1:b", ""}} {
		add(fmt.Sprint("names ", i), EntryKey(names[0], names[1], stampOf(1), ""))
	}
	base := stampOf(5)
	for what, change := range map[string]func(*delegation.Stamp){
		"as it is": func(*delegation.Stamp) {},
		"ino":      func(s *delegation.Stamp) { s.Ino++ },
		"size":     func(s *delegation.Stamp) { s.Size++ },
		"mtime":    func(s *delegation.Stamp) { s.ModTime = s.ModTime.Add(1) },
		"ctime":    func(s *delegation.Stamp) { s.ChangeTime = s.ChangeTime.Add(1) },
	} {
		stamp := base
		change(&stamp)
		add(what, EntryKey("main", "request_a.json", stamp, ""))
	}
	add("content", EntryKey("main", "request_a.json", base, "one"))
	add("other content", EntryKey("main", "request_a.json", base, "two"))
	if base.Mode++; EntryKey("main", "request_a.json", base, "") != EntryKey("main", "request_a.json", stampOf(5), "") {
		t.Error("the mode is part of the key")
	}
}
